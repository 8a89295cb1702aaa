import { findJobs, type Job } from '../../../domain/jobs/job.ts';
import {
  listMatches,
  type Match,
  readMatchCursor,
  writeMatchCursor,
} from '../../../domain/matching/list-matches.ts';
import type { MatchPart } from '../../../domain/matching/scoring/explain-pair.ts';
import {
  findWeights,
  PARTS,
  readWeights,
  setWeights,
  type Weights,
} from '../../../domain/matching/weights.ts';
import { findTalents, type Talent } from '../../../domain/talents/talent.ts';
import { member } from '../access.ts';
import { badInput, notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf, wrongCursor } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Match: Match;
    MatchConnection: Page<Match>;
    MatchPart: MatchPart;
    MatchWeight: { readonly part: string; readonly weight: number };
  }
}

const matchObjects: Declaration = (builder) => {
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
      jobToTalent: t.exposeFloat('jobToTalent', {
        description: 'How well the talent fits the job, 0 to 100.',
      }),
      talentToJob: t.exposeFloat('talentToJob', {
        description: 'How well the job fits the talent, 0 to 100.',
      }),
      parts: t.field({
        type: ['MatchPart'],
        extensions: { maxRows: 10 } satisfies FieldSize,
        resolve: ({ parts }) => [...parts],
      }),
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

/**
 * One statement for all matches of a response. A job that was deleted in the meantime is an error of its match only.
 */
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

const matches: Declaration = (builder) =>
  builder.queryField('matches', (t) =>
    t.field({
      type: 'MatchConnection',
      description: 'The company’s matches, best first: all, or those of a job, a talent, or both.',
      authScopes: { member: true },
      args: { jobId: t.arg.id(), talentId: t.arg.id(), first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database } = context.parts;
        const jobId = args.jobId == null ? null : idOf('job', args.jobId);
        const talentId = args.talentId == null ? null : idOf('talent', args.talentId);
        // A job of another company is NOT_FOUND, not an empty list.
        if (jobId !== null && (await findJobs(database, companyId, [jobId]))[0] == null)
          throw notFound('job');
        if (talentId !== null && (await findTalents(database, companyId, [talentId]))[0] == null) {
          throw notFound('talent');
        }
        const { limit, after: cursor } = pageArgs(args);
        const after = cursor === null ? null : readMatchCursor(cursor);
        if (cursor !== null && after === null) throw wrongCursor();
        const rows = await listMatches(database, companyId, { limit: limit + 1, after, jobId, talentId });
        return pageOf(rows, limit, writeMatchCursor);
      },
    }),
  );

const matchWeights: Declaration = (builder) =>
  builder.queryField('matchWeights', (t) =>
    t.field({
      type: ['MatchWeight'],
      description: 'How much each part of a score counts for the company.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return listed((await findWeights(context.parts.database, companyId)).weights);
      },
    }),
  );

const setMatchWeights: Declaration = (builder) => {
  const input = builder.inputType('MatchWeightInput', {
    fields: (t) => ({ part: t.string({ required: true }), weight: t.float({ required: true }) }),
  });
  builder.mutationField('setMatchWeights', (t) =>
    t.field({
      type: ['MatchWeight'],
      description:
        'Sets the weight of each part, 0 to 100. Omitted parts are reset to their default. All matches of the company are scored again in the background.',
      authScopes: { companyAdmin: true },
      args: { weights: t.arg({ type: [input], required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        if (args.weights.length > PARTS.length) throw badInput('weights', 'each part may be named once');
        const named = args.weights.map(
          ({ part, weight }) => [bounded('line', 'weights.part', part), weight] as const,
        );
        const read = readWeights(Object.fromEntries(named));
        if (read.outcome === 'refused') throw badInput('weights', `${read.part}: ${read.problem}`);
        return await recordedChange(context, async ({ transaction, record }) => {
          const changedAt = new Date(context.parts.clock.now());
          const { weights } = await setWeights(transaction, companyId, read.weights, changedAt);
          const object = { objectKind: 'company', objectId: companyId };
          await record({ action: 'match-weights.set', ...object, details: { ...weights } });
          return listed(weights);
        });
      },
    }),
  );
};

function listed(weights: Weights) {
  return PARTS.map((part) => ({ part, weight: weights[part] }));
}

export const matchDeclarations: readonly Declaration[] = [
  matchObjects,
  matches,
  matchWeights,
  setMatchWeights,
];
