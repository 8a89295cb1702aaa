import { describe, expect, test } from 'bun:test';
import { createManualClock, type ManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { Claim, SharedState } from '../../ports/shared-state.ts';
import type { CreditHold } from './claims.ts';
import { createLimits, type KeyLimits } from './limits.ts';

const MINUTE_MS = 60_000;
const PROCESSES = 3;
/** Longer than a lease is kept: some arrive too late to be used. */
const LONGEST_REPLY_MS = 300;
const KEY: KeyLimits = {
  id: 'k',
  companyId: 'c',
  requestsPerMinute: 600,
  tokensPerMinute: 24_000,
  maxCallsInFlight: null,
};
const HOLD: CreditHold = {
  ...{ name: 'balance', level: 'balance', amount: 1, maxAgeMs: 3_600_000, graceMs: 3_600_000 },
  read: async () => ({ name: 'balance', value: 1_000_000_000, version: 1, ttlMs: 3_600_000 }),
};

interface Use {
  readonly atMs: number;
  readonly amount: number;
}

/** Several processes on one state, whose replies to what is counted ahead take a random time. */
function given(seed: number) {
  const random = createSeededRandom(seed);
  const clock = createManualClock(1_000_000);
  const real = createInProcessState({ clock });
  const isAhead = (claims: readonly Claim[]) => claims.some((one) => one.kind === 'window' && one.aheadMs);
  const sharedState: SharedState = {
    ...real,
    async reserve(tag, claims) {
      const reservation = await real.reserve(tag, claims);
      if (isAhead(claims)) {
        await new Promise<void>((resolve) => clock.after(random.below(LONGEST_REPLY_MS), resolve));
      }
      return reservation;
    },
  };
  const log = createSilentLog();
  const parts = { sharedState, ownState: real, clock, log, addressRequestsPerMinute: 600, countsAhead: true };
  const processes = Array.from({ length: PROCESSES }, () => createLimits(parts));
  return { random, clock, anyProcess: () => random.pick(processes) };
}

/** Demand in waves: above the limit, below it, and none for a while. */
async function arrive(
  { random, clock }: { random: ReturnType<typeof createSeededRandom>; clock: ManualClock },
  call: () => void,
) {
  for (let wave = 0; wave < 24; wave += 1) {
    const longestPauseMs = random.pick([4, 30, 120, 900]);
    const endMs = clock.uptimeMs() + random.below(20_000);
    while (clock.uptimeMs() < endMs) {
      for (let more = random.below(3); more >= 0; more -= 1) call();
      await clock.advance(1 + random.below(longestPauseMs));
    }
    if (random.below(4) === 0) await clock.advance(random.below(70_000));
  }
}

/** The most of any 60 seconds. */
function mostInAMinute(uses: readonly Use[]): number {
  let [most, sum, first] = [0, 0, 0];
  for (const { atMs, amount } of uses) {
    sum += amount;
    for (; (uses[first] as Use).atMs <= atMs - MINUTE_MS; first += 1) sum -= (uses[first] as Use).amount;
    most = Math.max(most, sum);
  }
  return most;
}

describe('G-40 any 60 seconds admit at most the limit, in however many processes', () => {
  test.each([1, 2, 3])('of the requests and tokens of a key (seed %d)', async (seed) => {
    const { random, clock, anyProcess } = given(seed);
    const requests: Use[] = [];
    const tokens: Use[] = [];
    let refused = 0;
    let calls = 0;
    const call = async () => {
      const estimate = 20 + random.below(40);
      calls += 1;
      const outcome = await anyProcess().reserve(KEY, `call-${calls}`, estimate, [HOLD]);
      if (outcome.outcome !== 'admitted') {
        refused += 1;
        return;
      }
      const atMs = clock.uptimeMs();
      const used = random.below(estimate);
      requests.push({ atMs, amount: 1 });
      tokens.push({ atMs, amount: used });
      clock.after(random.below(5_000), () => void outcome.reservation.end(used, []));
    };
    await arrive({ random, clock }, () => void call());
    expect(mostInAMinute(requests)).toBeLessThanOrEqual(600);
    expect(mostInAMinute(tokens)).toBeLessThanOrEqual(24_000);
    // Where nothing is refused, or little passes, nothing is shown.
    expect(refused).toBeGreaterThan(100);
    expect(mostInAMinute(requests)).toBeGreaterThan(560);

    // A refused call passes after exactly the time it was given, if it is alone.
    for (let n = 0; n < 700; n += 1) await call();
    await clock.advance(LONGEST_REPLY_MS);
    const limits = anyProcess();
    const last = await limits.reserve(KEY, 'last', 24_000, [HOLD]);
    if (last.outcome !== 'refused') throw new Error('700 calls were admitted at once');
    await clock.advance(last.retryAfterMs);
    expect((await limits.reserve(KEY, 'retried', 24_000, [HOLD])).outcome).toBe('admitted');
  });

  test.each([1, 2, 3])('G-39 of the requests of an address (seed %d)', async (seed) => {
    const { random, clock, anyProcess } = given(seed);
    const admitted: Use[] = [];
    let refused = 0;
    const call = async () => {
      const counted = await anyProcess().countAddress('a');
      if (counted.outcome === 'admitted') admitted.push({ atMs: clock.uptimeMs(), amount: 1 });
      else refused += 1;
    };
    await arrive({ random, clock }, () => void call());
    expect(mostInAMinute(admitted)).toBeLessThanOrEqual(600);
    expect(refused).toBeGreaterThan(100);
    expect(mostInAMinute(admitted)).toBeGreaterThan(560);
  });
});
