import { expect, test } from 'bun:test';
import { createInProcessState } from '../../../src/adapters/shared-state/in-process.ts';
import type { Claim, Settlement, SharedState } from '../../../src/ports/shared-state.ts';
import { createSeededRandom, type SeededRandom as Random } from '../../doubles/seeded-random.ts';
import { stoppedClock } from '../../doubles/stopped-clock.ts';
import { describeRedis, useRedis } from '../../setup/use-redis.ts';

/**
 * The same random sequence on both adapters must give the same answers. Redis's time runs on by itself, so time
 * is moved in whole hours while everything lasts some hours and a half: half an hour, and half a minute of a bucket, is the
 * room in which a slow machine decides nothing, and times are compared in whole hours.
 */

const HOUR = 3_600_000;
const SEQUENCES = 12;
const STEPS = 150;

type Step = (state: SharedState, starts: ReadonlyMap<string, number>) => Promise<unknown>;

function duration(random: Random): number {
  return random.below(5) * HOUR + HOUR / 2;
}

/** Of each name one, and longer than the steps of time by which it is tried. */
const WINDOW_MS: Readonly<Record<string, number>> = { a: 2.5 * HOUR, b: 40.5 * HOUR };

function randomClaims(random: Random): Claim[] {
  const claims: Claim[] = [];
  for (const name of ['a', 'b']) {
    if (random.below(2)) {
      const [amount, limit] = [random.below(6), random.below(12)];
      const aheadMs = random.below(4) === 0 ? HOUR : 0;
      claims.push({ kind: 'window', name, amount, limit, windowMs: WINDOW_MS[name] ?? HOUR, aheadMs });
    }
    if (random.below(2)) {
      const limit = random.below(2)
        ? random.below(14)
        : { level: random.pick(['x', 'y']), maxAgeMs: duration(random) };
      const entry = random.pick(['1', '2', '3', '4']);
      const rule = random.pick(['fits', 'room'] as const);
      claims.push({
        kind: 'held',
        name,
        entry,
        amount: random.below(6),
        ttlMs: duration(random),
        rule,
        limit,
      });
    }
  }
  return random.below(2) ? claims : claims.reverse();
}

function randomSettlement(random: Random, starts: ReadonlyMap<string, number>): Settlement {
  const name = random.pick(['a', 'b']);
  const entry = random.pick(['1', '2', '3', '4']);
  switch (random.below(20) === 0 ? 5 : random.below(5)) {
    case 5:
      return { kind: 'clear', name };
    case 0:
      return { kind: 'window', name, bucket: starts.get(name) ?? 0, delta: random.below(12) - 6 };
    case 1:
      return { kind: 'renew', name, entry, amount: random.below(6), ttlMs: duration(random) };
    case 2:
      return { kind: 'release', name, entry };
    case 3:
      return { kind: 'while', name: random.pick(['k', 'l']), value: `${random.below(8)}` };
    default: {
      const [value, version] = [random.below(20) - 4, random.below(8)];
      const replaces = random.pick([undefined, null, random.below(8)]);
      const level = {
        kind: 'level',
        name: random.pick(['x', 'y']),
        value,
        version,
        ttlMs: duration(random),
      } as const;
      return replaces === undefined ? level : { ...level, replaces };
    }
  }
}

function randomStep(random: Random): Step {
  const kind = random.below(10);
  const [key, text] = [random.pick(['k', 'l']), `${random.below(8)}`];
  if (kind < 5) {
    const claims = randomClaims(random);
    return (state) => state.reserve('t', claims);
  }
  if (kind < 8) {
    const seeds = Array.from({ length: 1 + random.below(3) }, () => random.below(1_000_000));
    return (state, starts) =>
      state.settle(
        't',
        seeds.map((seed) => randomSettlement(createSeededRandom(seed), starts)),
      );
  }
  const ttlMs = duration(random);
  if (random.below(3) === 0) return (state) => state.setIfAbsent(key, text, ttlMs);
  if (random.below(4) === 0) return (state) => state.set(key, text, ttlMs);
  if (random.below(6) === 0) return (state) => state.delete(key);
  return (state) => state.get(key);
}

/** Runs the steps, and gives each answer with its times in whole hours since the beginning. */
async function play(seed: number, state: SharedState & { advance(ms: number): void }): Promise<string[]> {
  const random = createSeededRandom(seed);
  const begun = await state.reserve('begin', [
    { kind: 'window', name: 'w', amount: 1, limit: 1, windowMs: HOUR },
  ]);
  const origin = (begun.outcome === 'reserved' && begun.limitStates[0]?.bucket) || 0;
  const inHours = (name: string, value: unknown): unknown => {
    if (name === 'bucket' && value) return Math.floor((Number(value) - origin) / HOUR);
    if (name === 'resetMs' || (name === 'retryAfterMs' && value !== null))
      return Math.ceil(Number(value) / HOUR);
    return value;
  };
  const starts = new Map<string, number>();
  const answers: string[] = [];
  for (let count = 0; count < STEPS; count += 1) {
    if (random.below(3) === 0) state.advance(random.below(3) * HOUR);
    const step = randomStep(random);
    const answer = await step(state, starts);
    answers.push(JSON.stringify(answer, inHours) ?? 'nothing');
    if (random.below(2)) await noteStarts(state, starts);
  }
  return answers;
}

async function noteStarts(state: SharedState, starts: Map<string, number>): Promise<void> {
  for (const name of ['a', 'b']) {
    // Refused on purpose: a refusal reports the state and reserves nothing.
    const asked = await state.reserve('t', [
      { kind: 'window', name, amount: 1, limit: 0, windowMs: WINDOW_MS[name] ?? HOUR },
    ]);
    if (asked.outcome === 'refused') starts.set(name, asked.limitStates[0]?.bucket ?? 0);
  }
}

describeRedis('in process and Redis (skipped where TEST_REDIS_URL is not set)', () => {
  const server = useRedis();
  for (let seed = 1; seed <= SEQUENCES; seed += 1) {
    test(`give the same answers to the same random sequence (seed ${seed})`, async () => {
      const redis = await server.open();
      const inProcess = createInProcessState({ clock: stoppedClock });
      const expected = await play(seed, inProcess);
      expect(await play(seed, redis)).toEqual(expected);
      // A sequence in which nothing ever happens would prove nothing.
      for (const outcome of ['"reserved"', '"refused"', '"level-unknown"', 'nothing']) {
        expect(expected.filter((answer) => answer.includes(outcome)).length).toBeGreaterThan(2);
      }
      await redis.close();
    });
  }
});
