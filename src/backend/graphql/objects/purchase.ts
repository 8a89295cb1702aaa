import { type CreditPack, findCreditPacks } from '../../../domain/catalog/credit-pack.ts';
import { creditsFrom } from '../credits.ts';
import { amountFrom } from '../money.ts';
import { defineConnection } from '../paging.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const purchaseObjects: Declaration = (builder) => {
  builder.enumType('PurchaseStatus', { values: ['PENDING', 'COMPLETED', 'CANCELED'] as const });
  builder.objectType('CreditPackPurchase', {
    fields: (t) => ({
      id: t.exposeID('id'),
      status: t.expose('status', { type: 'PurchaseStatus' }),
      creditPack: t.loadable({
        type: 'CreditPackOutput',
        load: loadCreditPacks,
        resolve: ({ creditPackId }) => creditPackId,
      }),
      credits: t.float({
        description: 'As agreed when it was begun, as the amount.',
        resolve: ({ creditsMicro }) => creditsFrom(creditsMicro),
      }),
      amount: t.float({ resolve: ({ amountMinor, currency }) => amountFrom(amountMinor, currency) }),
      currency: t.exposeString('currency'),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      completedAt: t.expose('completedAt', { type: 'DateTime', nullable: true }),
    }),
  });
  defineConnection(builder, 'CreditPackPurchase');
  builder.objectType('CheckoutSession', {
    description: 'A page of the payment provider on which something is bought.',
    fields: (t) => ({
      url: t.exposeString('url'),
      purchaseId: t.exposeID('purchaseId', { nullable: true, description: 'Of a credit pack.' }),
      providerSessionId: t.exposeString('providerSessionId'),
    }),
  });
  builder.objectType('BillingPortalSession', {
    description: 'A page of the payment provider on which a company changes its card or its plan.',
    fields: (t) => ({ url: t.exposeString('url') }),
  });
};

/** One statement for all purchases of an answer. */
async function loadCreditPacks(ids: string[], { parts }: RequestContext): Promise<(CreditPack | Error)[]> {
  const found = await findCreditPacks(parts.database, ids);
  const byId = new Map(found.map((pack) => [pack.id, pack]));
  return ids.map((id) => byId.get(id) ?? new Error(`credit pack ${id} has disappeared`));
}
