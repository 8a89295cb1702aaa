import { listTransactions } from '../../../domain/credits/list-transactions.ts';
import { member } from '../access.ts';
import { numberCursor, pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const creditTransactions: Declaration = (builder) =>
  builder.queryField('creditTransactions', (t) =>
    t.field({
      type: 'CreditTransactionConnection',
      description: 'Every change of the company’s balance, the newest first.',
      authScopes: { companyAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageWish(args);
        const wish = { first: limit + 1, after: numberCursor(after) };
        const rows = await listTransactions(context.parts.database, companyId, wish);
        return pageOf(rows, limit, ({ version }) => String(version));
      },
    }),
  );
