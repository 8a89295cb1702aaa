import type { Job } from '../../../domain/jobs/job.ts';
import { findJobs } from '../../../domain/jobs/list-jobs.ts';
import { PARTS } from '../../../domain/matching/weights.ts';
import { findTalents } from '../../../domain/talents/list-talents.ts';
import type { Talent } from '../../../domain/talents/talent.ts';
import { member } from '../access.ts';
import { defineConnection } from '../paging.ts';
import { notFound } from '../refusals.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const matchObjects: Declaration = (builder) => {
  builder.objectType('MatchPart', {
    description: `One of ${PARTS.join(', ')}.`,
    fields: (t) => ({
      name: t.exposeString('name'),
      score: t.exposeFloat('score', { description: '0 to 100.' }),
      weight: t.exposeFloat('weight', { description: 'Its share of the whole; all of them add up to 1.' }),
      found: t.stringList({ resolve: ({ found }) => [...found] }),
      missing: t.stringList({ resolve: ({ missing }) => [...missing] }),
    }),
  });
  builder.objectType('Match', {
    description: 'How well a talent and a job fit. Nothing about name, age, sex, origin or photo enters it.',
    fields: (t) => ({
      id: t.exposeID('id'),
      job: t.loadable({ type: 'Job', load: loadJobs, resolve: ({ jobId }) => jobId }),
      talent: t.loadable({ type: 'Talent', load: loadTalents, resolve: ({ talentId }) => talentId }),
      score: t.exposeFloat('score', { description: '0 to 100, both directions combined.' }),
      jobToTalent: t.exposeFloat('jobToTalent', { description: 'How far the talent fulfils the job.' }),
      talentToJob: t.exposeFloat('talentToJob', { description: 'How far the job is for the talent.' }),
      parts: t.field({ type: ['MatchPart'], resolve: ({ parts }) => [...parts] }),
      reasons: t.stringList({ resolve: ({ reasons }) => [...reasons] }),
      missing: t.stringList({ resolve: ({ missing }) => [...missing] }),
      engine: t.exposeString('engine', {
        description: 'embedded, or model where a model worded the reasons and ordered the best ones.',
      }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Match');
  builder.objectType('MatchWeight', {
    description: 'How much a part of a score counts, 0 to 100. Only their relation matters.',
    fields: (t) => ({ part: t.exposeString('part'), weight: t.exposeFloat('weight') }),
  });
};

/** One statement for all of an answer. One that was taken away at this very moment is an error of its own match. */
async function loadJobs(ids: string[], context: RequestContext): Promise<(Job | Error)[]> {
  const { companyId } = await member(context);
  const found = await findJobs(context.parts.database, companyId, ids);
  return found.map((job) => job ?? notFound('job'));
}

async function loadTalents(ids: string[], context: RequestContext): Promise<(Talent | Error)[]> {
  const { companyId } = await member(context);
  const found = await findTalents(context.parts.database, companyId, ids);
  return found.map((talent) => talent ?? notFound('talent'));
}
