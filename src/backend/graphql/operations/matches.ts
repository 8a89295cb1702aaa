import { findJobs } from '../../../domain/jobs/list-jobs.ts';
import { listMatches, readMatchCursor, writeMatchCursor } from '../../../domain/matching/list-matches.ts';
import { findTalents } from '../../../domain/talents/list-talents.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const matches: Declaration = (builder) =>
  builder.queryField('matches', (t) =>
    t.field({
      type: 'MatchConnection',
      description: 'The company’s matches, the best first: all, or those of a job, of a talent, or of both.',
      authScopes: { member: true },
      args: { jobId: t.arg.id(), talentId: t.arg.id(), first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database } = context.parts;
        const jobId = args.jobId == null ? null : idOf('job', args.jobId);
        const talentId = args.talentId == null ? null : idOf('talent', args.talentId);
        // What belongs to others is not there, which is something else than having no matches.
        if (jobId !== null && (await findJobs(database, companyId, [jobId]))[0] == null)
          throw notFound('job');
        if (talentId !== null && (await findTalents(database, companyId, [talentId]))[0] == null) {
          throw notFound('talent');
        }
        const { limit, after: cursor } = pageWish(args);
        const after = cursor === null ? null : readMatchCursor(cursor);
        if (cursor !== null && after === null) {
          throw badInput('after', 'this is no cursor: give the endCursor of a page');
        }
        const rows = await listMatches(database, companyId, { limit: limit + 1, after, jobId, talentId });
        return pageOf(rows, limit, writeMatchCursor);
      },
    }),
  );
