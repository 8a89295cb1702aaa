import { amountFrom } from '../money.ts';
import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const invoiceObjects: Declaration = (builder) => {
  builder.enumType('InvoiceStatus', {
    values: ['DRAFT', 'OPEN', 'PAID', 'VOID', 'UNCOLLECTIBLE'] as const,
  });
  builder.enumType('InvoiceKind', {
    values: {
      POSTPAID: { description: 'A month’s usage.' },
      SUBSCRIPTION: { description: 'A period of a plan.' },
      PACK: { description: 'A credit pack.' },
      MANUAL: { description: 'Made by hand at the payment provider.' },
    },
  });
  builder.objectType('Invoice', {
    fields: (t) => ({
      id: t.exposeID('id'),
      status: t.expose('status', { type: 'InvoiceStatus' }),
      kind: t.expose('kind', { type: 'InvoiceKind' }),
      amount: t.float({ resolve: ({ amountMinor, currency }) => amountFrom(amountMinor, currency) }),
      currency: t.exposeString('currency'),
      number: t.exposeString('number', { nullable: true }),
      periodStart: t.expose('periodStart', { type: 'DateTime', nullable: true }),
      periodEnd: t.expose('periodEnd', { type: 'DateTime', nullable: true }),
      dueDate: t.expose('dueAt', {
        type: 'DateTime',
        nullable: true,
        description: 'Past it an open invoice blocks the keys of a POSTPAID company.',
      }),
      paidAt: t.expose('paidAt', { type: 'DateTime', nullable: true }),
      url: t.exposeString('hostedUrl', {
        nullable: true,
        description: 'Where it can be seen and paid at the payment provider.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Invoice');
};
