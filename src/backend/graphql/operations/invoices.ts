import { listInvoices } from '../../../domain/credits/invoice.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const invoices: Declaration = (builder) =>
  builder.queryField('invoices', (t) =>
    t.field({
      type: 'InvoiceConnection',
      description: 'The company’s invoices, the newest first.',
      authScopes: { companyAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageWish(args);
        const wish = { limit: limit + 1, ...(after === null ? {} : { after: idOf('page', after) }) };
        return pageOf(await listInvoices(context.parts.database, companyId, wish), limit, ({ id }) => id);
      },
    }),
  );
