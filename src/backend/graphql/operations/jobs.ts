import { listJobs, searchWords } from '../../../domain/jobs/list-jobs.ts';
import { member } from '../access.ts';
import { boundedOrNull } from '../bounded-input.ts';
import { idCursor, pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const jobs: Declaration = (builder) =>
  builder.queryField('jobs', (t) =>
    t.field({
      type: 'JobConnection',
      description: 'The company’s jobs, the newest first.',
      authScopes: { member: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        status: t.arg({ type: 'JobStatus' }),
        updatedSince: t.arg({ type: 'DateTime' }),
        search: t.arg.string({ description: 'Words that must all stand in the job.' }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageWish(args);
        const search = boundedOrNull('line', 'search', args.search);
        const rows = await listJobs(context.parts.database, companyId, {
          limit: limit + 1,
          after: idCursor(after),
          status: args.status ?? null,
          updatedSince: args.updatedSince ?? null,
          words: search === null ? [] : searchWords(search),
        });
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );
