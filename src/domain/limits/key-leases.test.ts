import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { CreditHold } from './claims.ts';
import { createLimits, type KeyLimits } from './limits.ts';

const KEY: KeyLimits = {
  id: 'k',
  companyId: 'c',
  requestsPerMinute: 100_000,
  tokensPerMinute: 10_000_000,
  maxCallsInFlight: 1_000,
};
const BALANCE = 1_000_000;

/** Several processes on one state whose steps are counted. */
function given(processes = 1, level = BALANCE) {
  const clock = createManualClock(1_000_000);
  const real = createInProcessState({ clock });
  let steps = 0;
  let singles = 0;
  const settling = { isHeldUp: false, begun: 0 };
  const sharedState = {
    ...real,
    settle: (...words: Parameters<typeof real.settle>) => {
      settling.begun += 1;
      return settling.isHeldUp ? new Promise<void>(() => {}) : real.settle(...words);
    },
    reserve: (...words: Parameters<typeof real.reserve>) => {
      steps += 1;
      if (words[1].every(({ kind }) => kind !== 'held-many')) singles += 1;
      return real.reserve(...words);
    },
  };
  const hold = (amount: number): CreditHold => ({
    name: 'balance',
    level: 'balance',
    amount,
    maxAgeMs: 3_600_000,
    graceMs: 3_600_000,
    read: async () => ({ name: 'balance', value: level, version: 1, ttlMs: 3_600_000 }),
  });
  const log = createSilentLog();
  const all = Array.from({ length: processes }, () =>
    createLimits({ sharedState, ownState: real, clock, log, addressRequestsPerMinute: 0, countsAhead: true }),
  );
  let calls = 0;
  async function call(limits = all[0], key = KEY, tokens = 100, amount = 10) {
    calls += 1;
    const outcome = await limits?.reserve(key, `call-${calls}`, tokens, [hold(amount)]);
    // What is counted ahead comes a moment later.
    await clock.turn();
    return outcome;
  }
  /** What is used and held, without taking anything. */
  async function usage(key = KEY) {
    const asked = { amount: 0, limit: Number.MAX_SAFE_INTEGER };
    const entry = { entry: 'asking', ttlMs: 1, rule: 'fits' as const };
    const reservation = await real.reserve('c', [
      { kind: 'window', name: `rpm ${key.id}`, windowMs: 60_000, ...asked },
      { kind: 'window', name: `tpm ${key.id}`, windowMs: 60_000, ...asked },
      { kind: 'held', name: `calls ${key.id}`, ...asked, ...entry },
      { kind: 'held', name: 'balance', ...asked, ...entry },
    ]);
    if (reservation.outcome !== 'reserved') throw new Error(reservation.outcome);
    const [requests, tokens, inFlight, credits] = reservation.limitStates.map(({ used }) => used);
    return { requests, tokens, inFlight, credits };
  }
  return { all, clock, call, usage, settling, steps: () => steps, singles: () => singles };
}

describe('calls that come fast are counted ahead', () => {
  test('in few steps, with the same result as if each had been counted singly', async () => {
    const { call, clock, usage, steps } = given();
    for (let n = 0; n < 2_000; n += 1) {
      const outcome = await call();
      if (outcome?.outcome !== 'admitted') throw new Error('refused');
      await outcome.reservation.end(n % 10 === 0 ? null : 7, []);
    }
    expect(steps()).toBeLessThan(200);
    await clock.advance(200);
    expect(await usage()).toEqual({
      requests: 2_000,
      tokens: 200 * 100 + 1_800 * 7,
      inFlight: 0,
      credits: 0,
    });
  });

  test('the end of a call that was counted ahead waits for no step, that of a single one does', async () => {
    const { call, clock, settling } = given();
    const first = await call();
    for (let n = 0; n < 3; n += 1) await call();
    const ahead = await call();
    if (first?.outcome !== 'admitted' || ahead?.outcome !== 'admitted') throw new Error('refused');
    Object.assign(settling, { isHeldUp: true, begun: 0 });
    await ahead.reservation.end(7, []);
    await clock.turn();
    expect(settling.begun).toBe(1);
    let isOver = false;
    void first.reservation.end(7, []).then(() => {
      isOver = true;
    });
    await clock.turn();
    expect([settling.begun, isOver]).toEqual([2, false]);
  });

  test('G-41 the remaining limit is exact, call by call, where a single process uses the key', async () => {
    const { call } = given();
    let used = 0;
    for (let n = 1; n <= 500; n += 1) {
      const outcome = await call(undefined, KEY, 60 + (n % 50));
      if (outcome?.outcome !== 'admitted') throw new Error('refused');
      const { requests, tokens } = outcome.allowances;
      // What is counted ahead may be used a second later, and its bucket takes more for another second.
      const resetMs = n <= 2 ? 60_000 : 62_000;
      expect(requests).toEqual({ limit: 100_000, remaining: 100_000 - n, resetMs });
      expect(tokens.remaining).toBe(10_000_000 - used - (60 + (n % 50)));
      const real = n % 7 === 0 ? null : n % 13;
      await outcome.reservation.end(real, []);
      used += real ?? 60 + (n % 50);
    }
  });

  test('from the second call within a second no call waits for its own step', async () => {
    const { call, clock, usage, singles } = given();
    await call();
    await clock.advance(400);
    await call();
    // The first of all reads the level and is counted again.
    expect(singles()).toBe(3);
    for (let n = 0; n < 20; n += 1) {
      await clock.advance(400);
      await call();
    }
    expect(singles()).toBe(3);
    await clock.advance(1_000);
    expect(await usage()).toMatchObject({ requests: 22, inFlight: 22 });
  });

  test('a busy key takes the next lease before the current one is used up', async () => {
    const { call, clock, singles, steps } = given();
    for (let n = 0; n < 100; n += 1) await call();
    const [before, stepsBefore] = [singles(), steps()];
    for (let n = 0; n < 1_000; n += 1) {
      const outcome = await call();
      if (outcome?.outcome === 'admitted') await outcome.reservation.end(100, []);
      if (n % 10 === 0) await clock.advance(1);
    }
    expect(singles()).toBe(before);
    expect(steps() - stepsBefore).toBeLessThan(60);
  });

  test('unused capacity is returned within 200 ms, and what was used leaves the window a minute later', async () => {
    const { call, clock, usage } = given();
    for (let n = 0; n < 30; n += 1) await call();
    const before = await usage();
    expect(before.requests).toBeGreaterThan(30);
    await clock.advance(200);
    expect(await usage()).toEqual({
      requests: 30,
      tokens: expect.any(Number),
      inFlight: 30,
      credits: expect.any(Number),
    });
    await clock.advance(61_800);
    expect(await usage()).toMatchObject({ requests: 0, tokens: 0 });
    expect(await call()).toMatchObject({ allowances: { requests: { remaining: 99_999, resetMs: 60_000 } } });
  });

  test('slow calls, larger ones, changed limits and the counters of a single process use no lease', async () => {
    const { call, clock, steps } = given();
    for (let n = 0; n < 20; n += 1) {
      await call();
      await clock.advance(2_000);
    }
    expect(steps()).toBe(21);
    for (let n = 0; n < 40; n += 1) await call();
    const before = steps();
    await call(undefined, KEY, 1_000);
    await call(undefined, KEY, 100, 1_000);
    await call(undefined, { ...KEY, requestsPerMinute: 99_999 });
    expect(steps()).toBe(before + 3);
  });
});

describe('near a limit every call is counted singly', () => {
  test.each([
    ['requests', { requestsPerMinute: 100 }, 100],
    ['tokens', { tokensPerMinute: 10_000 }, 100],
    ['calls in flight', { maxCallsInFlight: 100 }, 100],
  ] as const)('of %s exactly as many pass as there are', async (_, change, passing) => {
    const { call } = given();
    const key = { ...KEY, ...change };
    let passed = 0;
    for (let n = 0; n < 150; n += 1) if ((await call(undefined, key))?.outcome === 'admitted') passed += 1;
    expect(passed).toBe(passing);
  });

  test('G-29 with a balance worth fifty calls, fifty pass', async () => {
    const { call } = given(1, 500);
    let passed = 0;
    for (let n = 0; n < 150; n += 1) if ((await call())?.outcome === 'admitted') passed += 1;
    expect(passed).toBe(50);
  });

  test.each([1, 2, 3])(
    'several processes never pass more than a limit together, and use it up (seed %d)',
    async (seed) => {
      const random = createSeededRandom(seed);
      const { all, call, clock, usage } = given(3);
      const key = { ...KEY, requestsPerMinute: 600, maxCallsInFlight: 200 };
      const running: { end(): Promise<void> }[] = [];
      let passed = 0;
      for (let n = 0; n < 3_000 && passed < 600; n += 1) {
        const outcome = await call(all[random.below(3)], key, 50 + random.below(100), 5 + random.below(10));
        if (outcome?.outcome === 'admitted') {
          passed += 1;
          running.push({ end: () => outcome.reservation.end(10, []) });
        }
        while (running.length > random.below(150))
          await running.splice(random.below(running.length), 1)[0]?.end();
        expect(running.length).toBeLessThanOrEqual(200);
        if (random.below(20) === 0) await clock.advance(random.below(40));
      }
      expect(passed).toBe(600);
      for (const one of running) await one.end();
      await clock.advance(200);
      expect((await call(all[0], key))?.outcome).toBe('refused');
      expect(await usage(key)).toEqual({ requests: 600, tokens: 6_000, inFlight: 0, credits: 0 });
    },
  );
});
