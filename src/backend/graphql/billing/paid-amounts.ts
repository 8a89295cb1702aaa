import { type PaidAmount, paidForInvoices, paidForPurchases } from '../../../domain/payments/paid-amounts.ts';
import { amountFrom, creditsOrNull } from '../amounts.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    PaidAmount: PaidAmount;
  }
}

const DESCRIPTION =
  'What was paid for it, and what is left of that after refunds, lost disputes and credit notes.';

const paidAmounts: Declaration = (builder) => {
  builder.objectType('PaidAmount', {
    fields: (t) => ({
      gross: t.float({
        description: 'Taxes included. Zero until it is paid.',
        resolve: ({ grossMinor, currency }) => amountFrom(grossMinor, currency),
      }),
      refunded: t.float({
        description: 'By refunds, lost disputes and credit notes.',
        resolve: ({ returnedMinor, currency }) => amountFrom(returnedMinor, currency),
      }),
      net: t.float({
        resolve: ({ grossMinor, returnedMinor, currency }) =>
          amountFrom(grossMinor - returnedMinor, currency),
      }),
      creditsLeft: t.float({
        nullable: true,
        description: 'The credits that it granted, less those that were taken back. Null for usage.',
        resolve: ({ creditsLeftMicro }) => creditsOrNull(creditsLeftMicro),
      }),
    }),
  });
  builder.objectFields('CreditPackPurchase', (t) => ({
    paid: t.loadable({
      type: 'PaidAmount',
      description: DESCRIPTION,
      load: async (ids: string[], { parts }: RequestContext) =>
        inOrder(ids, await paidForPurchases(parts.database, ids)),
      resolve: ({ id }) => id,
    }),
  }));
  builder.objectFields('Invoice', (t) => ({
    paid: t.loadable({
      type: 'PaidAmount',
      description: DESCRIPTION,
      load: async (ids: string[], { parts }: RequestContext) =>
        inOrder(ids, await paidForInvoices(parts.database, ids)),
      resolve: ({ id }) => id,
    }),
  }));
};

function inOrder(ids: readonly string[], found: ReadonlyMap<string, PaidAmount>): (PaidAmount | Error)[] {
  return ids.map((id) => found.get(id) ?? new Error(`what was paid for ${id} is not there`));
}

export const paidAmountDeclarations: readonly Declaration[] = [paidAmounts];
