import { creditsFrom } from '../credits.ts';
import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const creditObjects: Declaration = (builder) => {
  builder.objectType('CreditBalance', {
    fields: (t) => ({
      credits: t.float({
        description: 'What the books hold; below zero is a debt.',
        resolve: ({ balanceMicro }) => creditsFrom(balanceMicro),
      }),
      held: t.float({
        description: 'What calls in flight hold against it.',
        resolve: async ({ companyId }, _args, { parts }) =>
          creditsFrom((await parts.heldCredits(companyId)) ?? 0n),
      }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
  builder.enumType('CreditTransactionType', {
    values: [
      'PACK_PURCHASE',
      'REFUND',
      'USAGE',
      'SUBSCRIPTION_GRANT',
      'INVOICE_PAYMENT',
      'ADJUSTMENT',
      'EXPIRY',
    ] as const,
  });
  builder.objectType('CreditTransaction', {
    fields: (t) => ({
      id: t.id({ resolve: ({ accountId, version }) => `${accountId}.${version}` }),
      type: t.expose('type', { type: 'CreditTransactionType' }),
      credits: t.float({
        description: 'To the company; below zero it was taken.',
        resolve: ({ amountMicro }) => creditsFrom(amountMicro),
      }),
      balanceAfter: t.float({ resolve: ({ balanceAfterMicro }) => creditsFrom(balanceAfterMicro) }),
      source: t.string({
        description: 'What it came from: one source is posted once.',
        resolve: ({ sourceKind, sourceId }) => `${sourceKind}:${sourceId}`,
      }),
      reason: t.exposeString('reason', { nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'CreditTransaction');
};
