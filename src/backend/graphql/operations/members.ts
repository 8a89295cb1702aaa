import { listMembers } from '../../../domain/accounts/members.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const members: Declaration = (builder) =>
  builder.queryField('members', (t) =>
    t.field({
      type: 'MemberConnection',
      description: 'The people of the caller’s company, in the order in which they came.',
      authScopes: { member: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageWish(args);
        const wish = { limit: limit + 1, after: after === null ? null : idOf('page', after) };
        const rows = await listMembers(context.parts.database, companyId, wish);
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );
