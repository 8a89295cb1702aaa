import { beforeAll, describe, expect, test } from 'bun:test';
import { openBackend } from '../backend/backend-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { addJob, addTalent, openMatchingWorld } from './matching-world.ts';

let jobId: string;
let foreignJobId: string;
const talentIds: string[] = [];

const backend = useResource(() => openBackend());
beforeAll(async () => {
  const { database, companies } = backend;
  const world = await openMatchingWorld(database, { clock: backend.clock });
  jobId = await addJob(database, companies.acme, { mustHave: ['Python', 'SQL'], niceToHave: ['Docker'] });
  for (const skills of [['Python'], ['Python', 'SQL', 'Docker'], ['Cooking'], ['Python', 'SQL']]) {
    talentIds.push(await addTalent(database, companies.acme, { skills }));
  }
  foreignJobId = await addJob(database, companies.other, {});
  await addTalent(database, companies.other, {});
  await world.workOff();
});

interface Matches {
  readonly matches: {
    readonly nodes: readonly { id: string; score: number; job: { id: string }; talent: { id: string } }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}
const MATCHES = `query($jobId: ID, $talentId: ID, $first: Int, $after: ID) {
  matches(jobId: $jobId, talentId: $talentId, first: $first, after: $after) {
    nodes { id score jobToTalent talentToJob engine reasons missing updatedAt job { id title } talent { id }
      parts { name score weight found missing } }
    pageInfo { hasNextPage endCursor } } }`;

describe('P-15 matches', () => {
  test('P-15 of a job, the best first, with parts and reasons', async () => {
    const { matches } = await backend.people.member.ask<Matches>(MATCHES, { jobId });
    expect(matches.nodes.map(({ talent }) => talent.id)).toEqual(
      [1, 3, 0, 2].map((at) => talentIds[at] as string),
    );
    expect(matches.nodes[0]).toMatchObject({
      job: { id: jobId, title: 'Software Engineer' },
      engine: 'embedded',
      reasons: expect.arrayContaining(['Meets 2 of 2 must-haves.', 'Has Python, SQL, Docker.']),
    });
    expect(matches.nodes[2]).toMatchObject({ missing: ['SQL (must have)', 'Docker'] });
  });

  test('P-15 page by page, each once', async () => {
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const { matches }: Matches = await backend.people.member.ask<Matches>(MATCHES, {
        jobId,
        first: 1,
        after,
      });
      seen.push(...matches.nodes.map(({ id }) => id));
      after = matches.pageInfo.hasNextPage ? matches.pageInfo.endCursor : null;
    } while (after !== null);
    expect(new Set(seen).size).toBe(4);
    const { extensions } = await backend.people.member.refusal(MATCHES, { after: '12:nonsense' });
    expect(extensions.code).toBe('BAD_USER_INPUT');
  });

  test('P-15 of a talent; and never of another company', async () => {
    const { member, otherAdmin } = backend.people;
    const own = await member.ask<Matches>(MATCHES, { talentId: talentIds[1] });
    expect(own.matches.nodes).toHaveLength(1);
    const all = await member.ask<Matches>(MATCHES);
    expect(all.matches.nodes).toHaveLength(4);
    expect(await otherAdmin.ask<Matches>(MATCHES)).toMatchObject({
      matches: { nodes: [{ job: { id: foreignJobId } }] },
    });
    for (const foreign of [{ jobId: foreignJobId }, { jobId: 'x' }, { talentId: foreignJobId }]) {
      expect((await member.refusal(MATCHES, foreign)).extensions.code).toBe('NOT_FOUND');
    }
  });

  test('P-15 a company’s weights are separate, validated, and recorded', async () => {
    const { admin, otherAdmin } = backend.people;
    const set =
      'mutation($weights: [MatchWeightInput!]!) { setMatchWeights(weights: $weights) { part weight } }';
    const read = '{ matchWeights { part weight } }';
    const before = await otherAdmin.ask(read);
    const changed = await admin.ask<{ setMatchWeights: { part: string; weight: number }[] }>(set, {
      weights: [{ part: 'skills', weight: 90 }],
    });
    expect(changed.setMatchWeights[0]).toEqual({ part: 'skills', weight: 90 });
    expect(await admin.ask(read)).toEqual({ matchWeights: changed.setMatchWeights });
    expect(await otherAdmin.ask(read)).toEqual(before);
    for (const wrong of [
      { part: 'age', weight: 5 },
      { part: 'skills', weight: -1 },
      { part: 'skills', weight: 101 },
    ]) {
      expect((await admin.refusal(set, { weights: [wrong] })).extensions.code).toBe('BAD_USER_INPUT');
    }
    const log = await admin.ask<{ auditLog: { nodes: { action: string }[] } }>(
      '{ auditLog { nodes { action } } }',
    );
    expect(log.auditLog.nodes[0]?.action).toBe('match-weights.set');
  });

  test('A-10 a super admin stops and starts the generator, and repeating it changes nothing', async () => {
    const { superAdmin } = backend.people;
    const stop = 'mutation { stopMatchGenerator { state desiredState queueSize } }';
    expect(await superAdmin.ask(stop)).toMatchObject({ stopMatchGenerator: { desiredState: 'stopped' } });
    expect(await superAdmin.ask(stop)).toMatchObject({ stopMatchGenerator: { desiredState: 'stopped' } });
    const started = await superAdmin.ask(
      'mutation { startMatchGenerator { desiredState processes totalProcessed } }',
    );
    expect(started).toEqual({
      startMatchGenerator: { desiredState: 'running', processes: 0, totalProcessed: 0 },
    });
    const entries = await backend.database.query(
      `select action from audit_log where object_kind = 'match-generator' order by id`,
    );
    expect(entries).toEqual([{ action: 'match-generator.stopped' }, { action: 'match-generator.started' }]);
  });
});
