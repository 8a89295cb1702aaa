import { listPurchases } from '../../../domain/payments/purchase.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const creditPackPurchases: Declaration = (builder) =>
  builder.queryField('creditPackPurchases', (t) =>
    t.field({
      type: 'CreditPackPurchaseConnection',
      description: 'What the company has bought, or begun to, the newest first.',
      authScopes: { companyAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageWish(args);
        const wish = { limit: limit + 1, ...(after === null ? {} : { after: idOf('page', after) }) };
        return pageOf(await listPurchases(context.parts.database, companyId, wish), limit, ({ id }) => id);
      },
    }),
  );
