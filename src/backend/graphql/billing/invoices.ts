import {
  type Invoice,
  type InvoiceKind,
  type InvoiceStatus,
  listInvoices,
} from '../../../domain/credits/invoices/invoice.ts';
import { member } from '../access.ts';
import { amountFrom } from '../amounts.ts';
import { idOf, searchArg } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Invoice: Invoice;
    InvoiceConnection: Page<Invoice>;
  }
  interface SchemaScalars {
    InvoiceStatus: InvoiceStatus;
    InvoiceKind: InvoiceKind;
  }
}

const invoiceObjects: Declaration = (builder) => {
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
        description: 'An open invoice past this date blocks the keys of a POSTPAID company.',
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

const invoices: Declaration = (builder) =>
  builder.queryField('invoices', (t) =>
    t.field({
      type: 'InvoiceConnection',
      description: 'The company’s invoices, newest first.',
      authScopes: { companyAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        search: t.arg.string({ description: 'Words that must all be in the number.' }),
        status: t.arg({ type: 'InvoiceStatus' }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageArgs(args);
        const page = {
          limit: limit + 1,
          ...(after === null ? {} : { after: idOf('page', after) }),
          status: args.status ?? undefined,
          words: searchArg(args.search),
        };
        return pageOf(await listInvoices(context.parts.database, companyId, page), limit, ({ id }) => id);
      },
    }),
  );

export const invoiceDeclarations: readonly Declaration[] = [invoiceObjects, invoices];
