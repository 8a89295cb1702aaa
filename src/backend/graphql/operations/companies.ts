import { listCompanies } from '../../../domain/accounts/company.ts';
import { idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const companies: Declaration = (builder) =>
  builder.queryField('companies', (t) =>
    t.field({
      type: 'CompanyConnection',
      description: 'All companies, in the order of their ids.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageWish(args);
        const wish = { limit: limit + 1, after: after === null ? undefined : idOf('page', after) };
        return pageOf(await listCompanies(parts.database, wish), limit, ({ id }) => id);
      },
    }),
  );
