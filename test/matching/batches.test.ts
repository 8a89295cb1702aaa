import { describe, expect, test } from 'bun:test';
import { meanVector, vectorFrom } from '../../src/domain/matching/facts/facts.ts';
import { sweep } from '../../src/domain/matching/generator/generator.ts';
import { NO_MODEL_CALLS, type PlatformModelCalls } from '../../src/domain/matching/generator/model-calls.ts';
import { workOffChanges } from '../../src/domain/matching/generator/process-changes.ts';
import { workOffPairs } from '../../src/domain/matching/generator/process-pairs.ts';
import { claimChanges, lastServed } from '../../src/domain/matching/generator/work-queue.ts';
import { scorePair } from '../../src/domain/matching/scoring/score-pair.ts';
import { DEFAULT_WEIGHTS, setWeights } from '../../src/domain/matching/weights.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';
import { letterVectors, openMatchingWorld, scoresOf } from './matching-world.ts';

const database = useMemoryDatabase();

const rowsOf = async (table: string, id: string) => {
  const rows = await database.query<{ count: bigint }>(
    `select count(*) from ${table} as t where to_jsonb(t)::text like '%' || $1 || '%'`,
    [id],
  );
  return Number(rows[0]?.count ?? 0n);
};

describe('A-12 matches', () => {
  test('A-12 every talent of a company is scored against every open job, with parts and reasons', async () => {
    const world = await openMatchingWorld(database);
    const job = await world.addJob({ mustHave: ['Python', 'Kubernetes'], title: 'Python Developer' });
    const good = await world.addTalent({ skills: ['Python', 'Kubernetes'], title: 'Python Engineer' });
    const poor = await world.addTalent({ skills: ['Cooking'], title: 'Chef' });
    await world.addJob({ status: 'DRAFT' });
    expect(await world.workOff()).toEqual({ processed: 2, failed: 0 });
    const scores = await scoresOf(database, world.companyId);
    expect(scores.map(({ talentId, jobId }) => [talentId, jobId])).toEqual([
      [good, job],
      [poor, job],
    ]);
    const [best, worst] = scores;
    expect(best?.score).toBeGreaterThan(80);
    expect(worst?.score).toBeLessThan(36);
    expect(best?.reasons).toContain('Meets 2 of 2 must-haves.');
    expect(best?.reasons).toContain('Has Python, Kubernetes.');
    expect(worst?.missing.slice(0, 2)).toEqual(['Python (must have)', 'Kubernetes (must have)']);
    const weights = best?.parts.reduce((sum, { weight }) => sum + weight, 0);
    expect(weights).toBeCloseTo(1, 2);
  });

  test('A-12 a CV with few parsed values is compared by the words of its text', async () => {
    const world = await openMatchingWorld(database);
    await world.addJob({ mustHave: [], title: 'Turbine fitter', niceToHave: ['commissioning of turbines'] });
    const nothing = { work: [], skills: [], basics: {}, total_months_experience: null };
    const [bare, withText] = [
      await world.addTalent({ profile: nothing }),
      await world.addTalent({ profile: nothing }),
    ];
    const text = 'Ada Person\nborn 1980, married\nfitter for turbines: commissioning and repair';
    await database.query(
      `insert into talent_files (id, talent_id, company_id, name, sha256, bytes, text, created_at)
       values ($1, $1, $2, 'cv.txt', sha256($3::bytea), $3, $4, now())`,
      [withText, world.companyId, new TextEncoder().encode(text), text],
    );
    await world.workOff();
    const scores = await scoresOf(database, world.companyId);
    expect(scores.map(({ talentId }) => talentId)).toEqual([withText, bare]);
    expect(scores[0]?.score).toBeGreaterThan(50);
    const rows = await database.query<{ facts: unknown }>(
      'select facts from match_subjects where subject_id = $1',
      [withText],
    );
    expect(JSON.stringify(rows[0]?.facts)).not.toMatch(/ada|person|1980|married/);
  });

  test('A-12 a pair is scored once for its versions, and again only when one of the two changes', async () => {
    const asked: string[] = [];
    const world = await openMatchingWorld(database, {
      score(talent, job, weights) {
        asked.push(`${talent.id} ${talent.version} ${job.id} ${job.version}`);
        return scorePair(talent, job, weights);
      },
    });
    const jobs = [await world.addJob(), await world.addJob()];
    const talents = [await world.addTalent(), await world.addTalent(), await world.addTalent()];
    await world.workOff();
    await world.workOff();
    expect(new Set(asked).size).toBe(6);
    expect(asked).toHaveLength(6);
    await database.query('update jobs set version = 2, title = $2 where id = $1', [jobs[0] ?? '', 'Chef']);
    await world.workOff();
    expect(asked.slice(6).every((pair) => pair.endsWith(`${jobs[0]} 2`))).toBe(true);
    expect(asked).toHaveLength(9);
    await database.query(`update talents set updated_at = now() where id = $1`, [talents[0] ?? '']);
    await world.workOff();
    expect(asked).toHaveLength(9);
  });

  test('A-12 companies take turns: one with many talents delays the others by a batch', async () => {
    const large = await openMatchingWorld(database);
    await large.addJob();
    for (let count = 0; count < 30; count += 1) await large.addTalent();
    const small = [await openMatchingWorld(database), await openMatchingWorld(database)];
    for (const one of small) {
      await one.addJob();
      await one.addTalent();
    }
    const signal = new AbortController().signal;
    let after: string | undefined;
    const changes: number[] = [];
    while (changes.at(-1) !== 0) {
      const worked = await workOffChanges(large.parts, { ...large.claim(6), after }, signal);
      after = worked.lastServed;
      changes.push(await rowsOf('match_changes', small[0]?.companyId ?? ''));
    }
    // Of a batch of six each has two.
    expect(changes).toEqual([0]);
    await workOffChanges(large.parts, large.claim(), signal);
    after = undefined;
    for (let batch = 0; batch < 3; batch += 1) {
      const worked = await workOffPairs(large.parts, { ...large.claim(5), after });
      expect(worked.claimed).toBe(5);
      after = worked.lastServed;
    }
    for (const { companyId } of small) expect(await scoresOf(database, companyId)).toHaveLength(1);
    expect((await scoresOf(database, large.companyId)).length).toBe(13);
    await large.workOff();
  });

  test('A-12 every waiting company has its turn, in whatever order their ids are', async () => {
    const worlds = await Promise.all(Array.from({ length: 20 }, () => openMatchingWorld(database)));
    for (const world of worlds) for (let count = 0; count < 3; count += 1) await world.addTalent();
    const served: string[] = [];
    let after: string | undefined;
    for (let batch = 0; batch < 10; batch += 1) {
      const claim = { ...(worlds[0] as (typeof worlds)[number]).claim(2), after };
      const claimed = await claimChanges(database, claim);
      served.push(...claimed.map(({ companyId }) => companyId));
      after = lastServed(claimed, after);
    }
    expect(new Set(served)).toEqual(new Set(worlds.map(({ companyId }) => companyId)));
    await database.query('delete from match_changes');
  });

  test('A-12 a failing pair does not block its batch, is retried, and finally given up', async () => {
    const clock = createManualClock();
    let bad = '';
    const world = await openMatchingWorld(database, {
      clock,
      score(talent, job, weights) {
        if (talent.id === bad) throw new Error('poisoned');
        return scorePair(talent, job, weights);
      },
    });
    await world.addJob();
    bad = await world.addTalent();
    await world.addTalent();
    expect(await world.workOff()).toEqual({ processed: 1, failed: 1 });
    let failed = 1;
    for (let round = 0; round < 10; round += 1) {
      await clock.advance(600_000);
      failed += (await world.workOff()).failed;
    }
    expect(failed).toBe(5);
    const rows = await database.query('select error from match_pairs where talent_id = $1', [bad]);
    expect(rows).toEqual([{ error: 'poisoned' }]);
    expect(world.entries.filter(({ message }) => message === 'a pair cannot be scored')).toHaveLength(5);
  });

  test('A-12 a pair requested in versions that do not exist is put back, and is not retried for ever', async () => {
    const world = await openMatchingWorld(database);
    await world.addJob();
    const talent = await world.addTalent();
    await workOffChanges(world.parts, world.claim(), new AbortController().signal);
    await database.query('update match_pairs set talent_version = 9 where talent_id = $1', [talent]);
    expect(await world.workOff()).toEqual({ processed: 0, failed: 1 });
    await database.query('delete from match_pairs where talent_id = $1', [talent]);
  });

  test('A-12 a closed job and an erased talent leave no score, no facts and nothing in the queue', async () => {
    const world = await openMatchingWorld(database);
    const job = await world.addJob();
    const other = await world.addJob();
    const talent = await world.addTalent();
    await world.workOff();
    expect(await scoresOf(database, world.companyId)).toHaveLength(2);
    await database.query(`update jobs set status = 'CLOSED', version = version + 1 where id = $1`, [job]);
    await world.workOff();
    const left = await scoresOf(database, world.companyId);
    expect(left.map(({ jobId }) => jobId)).toEqual([other]);
    await database.query(`update jobs set version = version + 1 where id = $1`, [other]);
    await database.query('delete from talents where id = $1', [talent]);
    for (const table of ['match_scores', 'match_pairs', 'match_changes']) {
      expect([table, await rowsOf(table, talent)]).toEqual([table, 0]);
    }
    const facts = await database.query(
      'select facts, vector, is_live from match_subjects where subject_id = $1',
      [talent],
    );
    expect(facts).toEqual([{ facts: null, vector: null, is_live: false }]);
    expect(await world.workOff()).toEqual({ processed: 0, failed: 0 });
    await sweep(database, Date.UTC(2100, 0, 1), null);
    expect(await rowsOf('match_subjects', talent)).toBe(0);
  });

  test('A-12 changed weights score all of the company’s pairs again, and none of another company’s', async () => {
    const world = await openMatchingWorld(database);
    const stranger = await openMatchingWorld(database);
    for (const one of [world, stranger]) {
      await one.addJob({ mustHave: ['Python'], niceToHave: ['Go'] });
      await one.addTalent();
    }
    await world.workOff();
    const before = await scoresOf(database, world.companyId);
    const weights = { ...DEFAULT_WEIGHTS, skills: 0, closeness: 0 };
    await setWeights(database, world.companyId, weights, new Date(0));
    expect(await world.workOff()).toEqual({ processed: 1, failed: 0 });
    const after = await scoresOf(database, world.companyId);
    expect(after[0]?.score).not.toBe(before[0]?.score as number);
    expect(after[0]?.parts.find(({ name }) => name === 'skills')?.weight).toBe(0);
  });

  test('A-12 without vectors scores use facts alone; once there are vectors they are computed again', async () => {
    const clock = createManualClock();
    let calls = NO_MODEL_CALLS;
    const modelCalls: PlatformModelCalls = { ...NO_MODEL_CALLS, embed: (call) => calls.embed(call) };
    const world = await openMatchingWorld(database, { clock, modelCalls });
    await world.addJob();
    await world.addTalent();
    expect(await world.workOff()).toEqual({ processed: 1, failed: 0 });
    calls = letterVectors;
    await clock.advance(700_000);
    await sweep(database, clock.now(), 'letters');
    expect((await world.workOff()).processed).toBe(1);
    expect(await sweep(database, clock.now(), 'letters')).toBe(0);
  });

  test('A-12 each pair of a batch has the vector of its own texts, whether one or two', async () => {
    const asked: string[][] = [];
    const modelCalls: PlatformModelCalls = {
      ...letterVectors,
      embed(call) {
        asked.push([...call.texts]);
        return letterVectors.embed(call);
      },
    };
    const world = await openMatchingWorld(database, { modelCalls });
    const [first, second] = [{ work: [{ position: 'Cook' }] }, { work: [{ position: 'Nurse' }] }];
    const trained = { certificates: [{ name: 'Hygiene' }] };
    const ids: string[] = [];
    for (const profile of [{ ...first, ...trained }, { ...trained, work: [] }, second]) {
      ids.push(await world.addTalent({ skills: [], profile }));
    }
    await workOffChanges(world.parts, world.claim(), new AbortController().signal);
    expect(asked.map((texts) => texts.toSorted())).toEqual([['Cook', 'Cook. Hygiene', 'Hygiene', 'Nurse']]);
    const rows = await database.query<{ id: string; vector: Uint8Array }>(
      'select subject_id as id, vector from match_subjects where subject_id = any($1::uuid[])',
      [ids],
    );
    for (const [at, texts] of [['Cook. Hygiene', 'Cook'], ['Hygiene'], ['Nurse']].entries()) {
      const embedded = await letterVectors.embed({ companyId: '', texts, signal: AbortSignal.abort() });
      const expected = embedded.outcome === 'embedded' ? meanVector('letters', embedded.vectors) : null;
      const stored = rows.find(({ id }) => id === ids[at]);
      expect(vectorFrom('letters', stored?.vector ?? null)).toEqual(expected);
    }
  });

  test('A-12 after a change of the encoder stored vectors are computed again, and the scores with them', async () => {
    const clock = createManualClock();
    let model = 'letters';
    const modelCalls: PlatformModelCalls = {
      ...letterVectors,
      embedModel: () => model,
      async embed(call) {
        const embedded = await letterVectors.embed(call);
        return embedded.outcome === 'embedded' ? { ...embedded, model } : embedded;
      },
    };
    const world = await openMatchingWorld(database, { clock, modelCalls });
    await world.addJob();
    await world.addTalent();
    await world.workOff();
    const stored = async () => {
      const rows = await database.query<{ model: string }>(
        'select embed_model as model from match_subjects where company_id = $1 and is_live',
        [world.companyId],
      );
      return rows.map((row) => row.model);
    };
    expect(await stored()).toEqual(['letters', 'letters']);
    model = 'letters-2';
    await clock.advance(700_000);
    expect(await sweep(database, clock.now(), model)).toBeGreaterThanOrEqual(2);
    expect((await world.workOff()).processed).toBeGreaterThanOrEqual(1);
    expect(await stored()).toEqual(['letters-2', 'letters-2']);
    await clock.advance(700_000);
    await sweep(database, clock.now(), model);
    expect(await rowsOf('match_changes', world.companyId)).toBe(0);
  });
});
