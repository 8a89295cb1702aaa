import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type Generator, startGenerator } from '../../src/domain/matching/generator/generator.ts';
import { readMetrics, readStatus } from '../../src/domain/matching/generator/generator-status.ts';
import { scorePair } from '../../src/domain/matching/scoring/score-pair.ts';
import type { Database } from '../../src/ports/database.ts';
import { createManualClock, type ManualClock } from '../doubles/manual-clock.ts';
import { until } from '../doubles/until.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';
import { letterVectors, openMatchingWorld, scoresOf } from './matching-world.ts';

const database = useMemoryDatabase();
let clock: ManualClock;
const started: Generator[] = [];
beforeEach(async () => {
  clock = createManualClock();
  await database.script(`truncate match_changes, match_pairs, match_processes;
    update match_generator set wish = 'running'`);
});
afterEach(async () => {
  for (const generator of started.splice(0)) await generator.close(1_000);
});

async function start(parts: Parameters<typeof startGenerator>[0]): Promise<Generator> {
  const generator = await startGenerator(parts);
  started.push(generator);
  return generator;
}

/** Moves time in small steps until it holds. */
async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => {
    if (await holds()) return true;
    await clock.advance(100);
    return false;
  });
}

const statusOf = (generator: Generator) => readStatus(database, clock.now(), generator.own());

describe('A-9 the generator', () => {
  test('A-9 runs on the first start, and reports the queue', async () => {
    const world = await openMatchingWorld(database, { clock });
    const generator = await start(world.parts);
    await eventually(async () => (await statusOf(generator)).state === 'running');
    await world.addJob();
    await world.addTalent();
    await eventually(async () => (await scoresOf(database, world.companyId)).length === 1);
    await eventually(async () => (await statusOf(generator)).state === 'running');
    const status = await statusOf(generator);
    expect(status).toMatchObject({ state: 'running', desiredState: 'running', queueSize: 0 });
    expect(status.currentBatch).toBeGreaterThan(0);
    await clock.advance(90_000);
    expect((await statusOf(generator)).uptimeSeconds).toBeGreaterThanOrEqual(90);
  });

  test('A-9 its heartbeats continue after the clock is set back', async () => {
    const world = await openMatchingWorld(database, { clock });
    const generator = await start(world.parts);
    await eventually(() => generator.own().state === 'running');
    clock.step(-3_600_000);
    const isSeenNow = async () => {
      const [row] = await database.query<{ seenAt: Date }>('select seen_at as "seenAt" from match_processes');
      return row !== undefined && Math.abs(clock.now() - row.seenAt.getTime()) < 10_000;
    };
    await clock.advance(6_000);
    await eventually(isSeenNow);
  });

  test('A-10 stop takes effect after the batch: it is processing until then, and its results are stored', async () => {
    const gate = Promise.withResolvers<void>();
    const modelCalls = {
      ...letterVectors,
      async embed(call: Parameters<typeof letterVectors.embed>[0]) {
        await gate.promise;
        return await letterVectors.embed(call);
      },
    };
    const world = await openMatchingWorld(database, { clock, modelCalls });
    await world.addJob();
    await world.addTalent();
    const generator = await start(world.parts);
    await eventually(async () => (await statusOf(generator)).state === 'processing');
    expect(await generator.setDesiredState('stopped')).toBe(true);
    expect(await generator.setDesiredState('stopped')).toBe(false);
    expect((await statusOf(generator)).state).toBe('processing');
    gate.resolve();
    await eventually(async () => (await statusOf(generator)).state === 'stopped');
    expect(await scoresOf(database, world.companyId)).toHaveLength(1);
    expect(await statusOf(generator)).toMatchObject({ uptimeSeconds: 0, desiredState: 'stopped' });
    await world.addTalent();
    await clock.advance(60_000);
    expect(await statusOf(generator)).toMatchObject({ state: 'stopped', queueSize: 1 });
    expect(await generator.setDesiredState('running')).toBe(true);
    expect(await generator.setDesiredState('running')).toBe(false);
    await eventually(async () => (await scoresOf(database, world.companyId)).length === 2);
  });

  test('A-10 the desired state survives a restart, and reaches every process', async () => {
    const world = await openMatchingWorld(database, { clock });
    const first = await start(world.parts);
    await first.setDesiredState('stopped');
    const [second] = [await start(world.parts)];
    await eventually(() => [first, second].every((one) => one.own().state === 'stopped'));
    await world.addJob();
    await world.addTalent();
    await clock.advance(10_000);
    expect(await scoresOf(database, world.companyId)).toEqual([]);
    await second.setDesiredState('running');
    await eventually(() => [first, second].every((one) => one.own().state !== 'stopped'));
    await eventually(async () => (await scoresOf(database, world.companyId)).length === 1);
  });

  test('A-11 metrics, field by field, of each process and summed', async () => {
    let bad = '';
    const world = await openMatchingWorld(database, {
      clock,
      score(talent, job, weights) {
        if (talent.id === bad) throw new Error('poisoned');
        return scorePair(talent, job, weights);
      },
    });
    const metrics = (own: Generator | null) =>
      readMetrics(database, { nowMs: clock.now(), own: own?.own() ?? null, breakerState: 'half-open' });
    expect(await metrics(null)).toMatchObject({ total_processed: 0, error_rate: 0, last_processed_at: null });
    await world.addJob();
    bad = await world.addTalent();
    for (let n = 0; n < 3; n += 1) await world.addTalent();
    const generator = await start(world.parts);
    await eventually(() => generator.own().counts.totalProcessed === 3);
    const beganAtMs = clock.now();
    const now = await metrics(generator);
    expect(now).toMatchObject({
      total_processed: 3,
      total_errors: 1,
      throughput_per_minute: 3,
      error_rate: 25,
      queue_depth: 1,
      circuit_breaker_state: 'HALF-OPEN',
    });
    expect(Date.parse(now.last_processed_at ?? '')).toBeLessThanOrEqual(beganAtMs);
    expect(now.processes).toMatchObject([{ id: generator.own().id, total_processed: 3, status: 'running' }]);
    const another = await start(world.parts);
    await eventually(async () => (await metrics(null)).processes.length === 2);
    await eventually(async () => (await metrics(another)).total_processed === 3);
    await clock.advance(61_000);
    expect(await metrics(generator)).toMatchObject({ total_processed: 3, throughput_per_minute: 0 });
    await another.close(1_000);
    expect((await metrics(generator)).processes).toHaveLength(1);
  });

  test('A-12 a temporary failure of the database does not end it', async () => {
    const world = await openMatchingWorld(database, { clock });
    let isUnavailable = false;
    const failing: Database = {
      ...database,
      query: (text, values) =>
        isUnavailable ? Promise.reject(new Error('away')) : database.query(text, values),
    };
    const generator = await start({ ...world.parts, database: failing });
    await eventually(() => generator.own().state === 'running');
    isUnavailable = true;
    await clock.advance(30_000);
    isUnavailable = false;
    await world.addJob();
    await world.addTalent();
    await eventually(async () => (await scoresOf(database, world.companyId)).length === 1);
    const said = world.entries.filter(({ level }) => level === 'error');
    expect(said).toHaveLength(1);
  });
});
