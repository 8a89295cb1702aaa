import { listTalents } from '../../../domain/talents/list-talents.ts';
import { member } from '../access.ts';
import { idCursor, pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const talents: Declaration = (builder) =>
  builder.queryField('talents', (t) =>
    t.field({
      type: 'TalentConnection',
      description: 'The company’s talents, the newest first.',
      authScopes: { member: true },
      args: { first: t.arg.int(), after: t.arg.id(), status: t.arg({ type: 'TalentStatus' }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageWish(args);
        const wish = { limit: limit + 1, after: idCursor(after), status: args.status ?? null };
        const rows = await listTalents(context.parts.database, companyId, wish);
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );
