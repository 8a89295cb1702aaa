import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import {
  type CreditHold,
  createStatePlace,
  estimateTokens,
  type HeldLevel,
  type LevelSteppedBack,
} from './claims.ts';
import { createLimits, type KeyLimits } from './limits.ts';
import { createRequestCount } from './request-count.ts';

const LEVEL = { name: 'balance', value: 1_000, version: 1, ttlMs: 60_000 };
const UNREAD = {
  ...{ name: 'balance', level: 'balance', amount: 600, maxAgeMs: 60_000, graceMs: 60_000 },
  read: async () => LEVEL,
};
const TTL_MS = 600_000;

/** The sum of what is held, by an entry that holds nothing. */
async function heldIn(state: SharedState): Promise<number | undefined> {
  const look = { entry: 'look', amount: 0, ttlMs: 1, rule: 'room', limit: 1_000_000 } as const;
  const looked = await state.reserve('company-1', [{ kind: 'held', name: 'balance', ...look }]);
  return looked.outcome === 'level-unknown' ? undefined : looked.limitStates[0]?.used;
}

describe('limits of keys and addresses', () => {
  const key: KeyLimits = {
    id: 'key-1',
    companyId: 'company-1',
    requestsPerMinute: 3,
    tokensPerMinute: 1_000,
    maxCallsInFlight: null,
  };

  function given(addressRequestsPerMinute = 5, broken?: () => boolean, ownShare = 1) {
    const clock = createManualClock(1_000_000);
    const { log, entries } = createRecordingLog();
    const real = createInProcessState({ clock, log });
    const sharedState: SharedState = {
      ...real,
      reserve: async (...words) => (broken?.() ? Promise.reject(new Error('away')) : real.reserve(...words)),
    };
    const ownState = createInProcessState({ clock, log });
    const limits = createLimits({ sharedState, ownState, clock, log, ownShare, addressRequestsPerMinute });
    return { limits, clock, entries };
  }

  describe('G-39 requests of one address', () => {
    test('G-39 pass up to the limit; the next is refused for exactly the rest of the window', async () => {
      const { limits, clock } = given(5);
      for (let n = 0; n < 5; n += 1) expect(await limits.countAddress('a')).toEqual({ outcome: 'admitted' });
      await clock.advance(20_000);
      expect(await limits.countAddress('a')).toEqual({ outcome: 'refused', retryAfterMs: 40_000 });
      expect(await limits.countAddress('b')).toEqual({ outcome: 'admitted' });
      await clock.advance(39_999);
      expect((await limits.countAddress('a')).outcome).toBe('refused');
      await clock.advance(1);
      expect((await limits.countAddress('a')).outcome).toBe('admitted');
    });

    test('0 is no limit', async () => {
      const { limits } = given(0);
      for (let n = 0; n < 50; n += 1) expect((await limits.countAddress('a')).outcome).toBe('admitted');
    });
  });

  describe("G-40 a key's limits", () => {
    test('G-40 requests: refused past the limit, with its name and an exact wait; nothing else is consumed', async () => {
      const { limits, clock } = given();
      for (let n = 0; n < 3; n += 1)
        expect((await limits.reserve(key, `c${n}`, 10, [])).outcome).toBe('admitted');
      await clock.advance(10_000);
      const refused = await limits.reserve(key, 'c4', 10, []);
      expect(refused).toMatchObject({ outcome: 'refused', by: 'requests', retryAfterMs: 50_000 });
      if (refused.outcome !== 'refused') throw new Error('admitted');
      expect(refused.allowances.tokens).toEqual({ limit: 1_000, remaining: 970, resetMs: 50_000 });
    });

    test('G-40 tokens: parallel calls together cannot exceed the limit of one', async () => {
      const { limits } = given();
      const outcomes = await Promise.all([1, 2, 3].map((n) => limits.reserve(key, `c${n}`, 400, [])));
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['admitted', 'admitted', 'refused']);
      expect(outcomes[2]).toMatchObject({ by: 'tokens' });
    });

    test('G-40 a call alone in its window always passes, however large its estimate', async () => {
      const { limits } = given();
      const admitted = await limits.reserve(key, 'c1', 10_000_000, []);
      expect(admitted).toMatchObject({ outcome: 'admitted', allowances: { tokens: { remaining: 0 } } });
    });

    test('G-40 calls at the end of a minute and the beginning of the next do not pass twice the limit together', async () => {
      const { limits, clock } = given();
      const wide = { ...key, requestsPerMinute: 600 };
      const many = async (calls: number, ids: string) => {
        let passed = 0;
        for (let n = 0; n < calls; n += 1) {
          if ((await limits.reserve(wide, `${ids}${n}`, 0, [])).outcome === 'admitted') passed += 1;
        }
        return passed;
      };
      expect(await many(1, 'a')).toBe(1);
      await clock.advance(55_000);
      expect(await many(700, 'b')).toBe(599);
      await clock.advance(5_000);
      expect(await many(700, 'c')).toBe(1);
      expect(await limits.reserve(wide, 'd', 0, [])).toMatchObject({ retryAfterMs: 55_000 });
      await clock.advance(55_000);
      expect(await many(700, 'e')).toBe(599);
    });

    test('G-40 a refused call passes after exactly its wait, by whichever limit it is refused first', async () => {
      const { limits, clock } = given();
      expect((await limits.reserve(key, 'c1', 10, [])).outcome).toBe('admitted');
      await clock.advance(30_000);
      for (const id of ['c2', 'c3'])
        expect((await limits.reserve(key, id, 400, [])).outcome).toBe('admitted');
      await clock.advance(5_000);
      // A request is free in 25 s, but its tokens in 55.
      const refused = await limits.reserve(key, 'c4', 500, []);
      expect(refused).toMatchObject({ outcome: 'refused', by: 'requests', retryAfterMs: 55_000 });
      await clock.advance(54_999);
      expect(await limits.reserve(key, 'c5', 500, [])).toMatchObject({ outcome: 'refused', retryAfterMs: 1 });
      await clock.advance(1);
      expect((await limits.reserve(key, 'c6', 500, [])).outcome).toBe('admitted');
    });

    test('G-41 the time until a limit is reset is when all of it is there again', async () => {
      const { limits, clock } = given();
      await limits.reserve(key, 'c1', 10, []);
      await clock.advance(10_000);
      await limits.reserve(key, 'c2', 10, []);
      await clock.advance(10_000);
      expect((await limits.look(key)).requests).toEqual({ limit: 3, remaining: 1, resetMs: 50_000 });
      await clock.advance(49_999);
      expect((await limits.look(key)).requests).toEqual({ limit: 3, remaining: 2, resetMs: 1 });
      await clock.advance(1);
      expect((await limits.look(key)).requests).toEqual({ limit: 3, remaining: 3, resetMs: 0 });
    });

    test('G-40 real usage replaces the estimate, in the bucket of the call only', async () => {
      const { limits, clock } = given();
      const first = await limits.reserve(key, 'c1', 900, []);
      if (first.outcome !== 'admitted') throw new Error('refused');
      await first.reservation.end(100, []);
      expect((await limits.look(key)).tokens.remaining).toBe(900);
      const second = await limits.reserve(key, 'c2', 500, []);
      if (second.outcome !== 'admitted') throw new Error('refused');
      await clock.advance(60_000);
      expect((await limits.reserve(key, 'c3', 200, [])).outcome).toBe('admitted');
      await second.reservation.end(0, []);
      expect((await limits.look(key)).tokens.remaining).toBe(800);
    });

    test('G-31 unknown usage keeps the estimate', async () => {
      const { limits } = given();
      const admitted = await limits.reserve(key, 'c1', 600, []);
      if (admitted.outcome !== 'admitted') throw new Error('refused');
      await admitted.reservation.end(null, []);
      expect((await limits.look(key)).tokens.remaining).toBe(400);
    });

    test('calls in flight: a slot is free again when a call ends, or some time after its process died', async () => {
      const { limits, clock } = given();
      const narrow = { ...key, requestsPerMinute: 100, maxCallsInFlight: 1 };
      const first = await limits.reserve(narrow, 'c1', 1, []);
      if (first.outcome !== 'admitted') throw new Error('refused');
      expect(await limits.reserve(narrow, 'c2', 1, [])).toMatchObject({
        outcome: 'refused',
        by: 'calls in flight',
      });
      // A call that runs for long keeps its place.
      for (let half = 0; half < 10; half += 1) await clock.advance(45_000);
      expect((await limits.reserve(narrow, 'c2', 1, [])).outcome).toBe('refused');
      await first.reservation.end(1, []);
      expect((await limits.reserve(narrow, 'c3', 1, [])).outcome).toBe('admitted');
    });
  });

  test('while shared state is unavailable a process grants its share of the limits, at least one, and all of the credits', async () => {
    let isUnavailable = true;
    const { limits, clock, entries } = given(6, () => isUnavailable, 0.5);
    const holds = [{ ...UNREAD, amount: 900 }];
    const wide = { ...key, requestsPerMinute: 6, maxCallsInFlight: 1 };
    expect((await limits.reserve(wide, 'c1', 10, holds)).outcome).toBe('admitted');
    expect(await limits.reserve(wide, 'c2', 10, [])).toMatchObject({
      outcome: 'refused',
      by: 'calls in flight',
    });
    const open = { ...wide, maxCallsInFlight: null };
    for (const id of ['c3', 'c4']) expect((await limits.reserve(open, id, 10, [])).outcome).toBe('admitted');
    expect(await limits.reserve(open, 'c5', 10, [])).toMatchObject({ outcome: 'refused', by: 'requests' });
    for (let n = 0; n < 3; n += 1) expect((await limits.countAddress('a')).outcome).toBe('admitted');
    expect((await limits.countAddress('a')).outcome).toBe('refused');
    expect(limits.isAlone()).toBe(true);
    isUnavailable = false;
    await clock.advance(1_000);
    for (const id of ['c6', 'c7', 'c8', 'c9']) await limits.reserve(open, id, 10, []);
    expect((await limits.reserve(open, 'c10', 10, [])).outcome).toBe('admitted');
    expect(limits.isAlone()).toBe(false);
    expect(entries.map(({ message }) => message)).toContain('limits are shared by all processes again');
    isUnavailable = true;
    await limits.look(key);
    expect(entries.filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  test('G-40 a clock that is set back while shared state is unavailable does not delay the return to it', async () => {
    let isUnavailable = true;
    const { limits, clock } = given(5, () => isUnavailable);
    await limits.reserve(key, 'c1', 10, []);
    expect(limits.isAlone()).toBe(true);
    clock.step(-7_200_000);
    isUnavailable = false;
    await clock.advance(1_000);
    await limits.reserve(key, 'c2', 10, []);
    expect(limits.isAlone()).toBe(false);
  });

  test('G-29 with shared state and the database both unavailable, the levels of the last commits apply', async () => {
    let isUnavailable = false;
    const { limits } = given(0, () => isUnavailable);
    const before = await limits.reserve(key, 'c1', 10, [UNREAD]);
    if (before.outcome !== 'admitted') throw new Error(before.outcome);
    await before.reservation.end(10, [{ ...LEVEL, value: 900, version: 2 }]);
    isUnavailable = true;
    const holds = [{ ...UNREAD, read: async () => null }];
    expect((await limits.reserve(key, 'c2', 10, holds)).outcome).toBe('admitted');
    expect((await limits.reserve(key, 'c3', 10, holds)).outcome).toBe('admitted');
    expect(await limits.reserve(key, 'c4', 10, holds)).toMatchObject({ outcome: 'held', level: 900 });
    const other = { ...key, companyId: 'company-2' };
    expect((await limits.reserve(other, 'c5', 10, holds)).outcome).toBe('unknown-level');
  });

  test('the estimate is cheap: bytes divided by four plus the maximum output, for each choice', () => {
    expect(estimateTokens(400, 50, 1)).toBe(150);
    expect(estimateTokens(400, 50, 3)).toBe(250);
    expect(estimateTokens(401, null, 1)).toBe(1_101);
    expect(estimateTokens(0, 0, 0)).toBe(0);
    expect(estimateTokens(1, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).toBe(2 ** 40);
  });
});

describe('G-39 requests of an address, counted ahead', () => {
  function given(processes: number, requestsPerMinute = 600) {
    const clock = createManualClock();
    const log = createSilentLog();
    const real = createInProcessState({ clock });
    const steps = { reserve: 0, settle: 0, fails: false };
    const sharedState: SharedState = {
      ...real,
      reserve: (...words) => {
        steps.reserve += 1;
        if (steps.fails) return Promise.reject(new Error('away'));
        return real.reserve(...words);
      },
      settle: (...words) => {
        steps.settle += 1;
        return real.settle(...words);
      },
    };
    const counts = Array.from({ length: processes }, () => {
      const place = createStatePlace({ sharedState, ownState: real, clock, log });
      return createRequestCount({ place, clock, of: 'address', requestsPerMinute });
    });
    const count = async (n: number, address = 'a') => (await counts[n % processes]?.(address))?.outcome;
    return { clock, steps, count, counts };
  }

  test('G-39 one process admits exactly the limit, one by one or all at once, in few steps', async () => {
    const one = given(1);
    for (let n = 0; n < 600; n += 1) expect(await one.count(0)).toBe('admitted');
    expect(await one.count(0)).toBe('refused');
    expect(one.steps.reserve).toBeLessThan(400);
    const all = given(1);
    const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => all.count(0)));
    expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(600);
  });

  test('G-39 several processes together admit exactly the limit', async () => {
    const { count } = given(4);
    let admitted = 0;
    for (let n = 0; n < 700; n += 1) if ((await count(n)) === 'admitted') admitted += 1;
    expect(admitted).toBe(600);
  });

  test('G-39 what one process does not use is returned for the others', async () => {
    const { clock, steps, count } = given(2);
    for (let n = 0; n < 3; n += 1) await count(0);
    expect(steps.settle).toBe(0);
    await clock.advance(1_000);
    expect(steps.settle).toBe(1);
    let admitted = 3;
    for (let n = 0; n < 700; n += 1) if ((await count(1)) === 'admitted') admitted += 1;
    expect(admitted).toBe(600);
    expect(clock.pendingTimers()).toBeLessThanOrEqual(1);
  });

  test('G-39 what was used leaves the window a minute later, and each address is counted separately', async () => {
    const { clock, count } = given(1);
    for (let n = 0; n < 300; n += 1) await count(0);
    expect(await count(0, 'b')).toBe('admitted');
    await clock.advance(59_990);
    for (let n = 0; n < 300; n += 1) expect(await count(0)).toBe('admitted');
    expect(await count(0)).toBe('refused');
    // Counted ahead, so until a minute after the last of them could have been used.
    await clock.advance(2_010);
    for (let n = 0; n < 300; n += 1) expect(await count(0)).toBe('admitted');
    expect(await count(0)).toBe('refused');
  });

  test('frequent requests are counted in fewer and fewer steps, and from the third on none waits', async () => {
    const { clock, steps, count, counts } = given(1, 1_000_000);
    for (let n = 0; n < 2; n += 1) await count(0);
    for (let n = 0; n < 5_000; n += 1) {
      expect(counts[0]?.('a')).not.toBeInstanceOf(Promise);
      // The next ones come a moment later.
      if (n % 7 === 0) await clock.turn();
    }
    expect(steps.reserve).toBeLessThan(60);
  });

  test('a failed step that counts ahead fails no request', async () => {
    const { clock, steps, count, counts } = given(1, 1_000_000);
    for (let n = 0; n < 2; n += 1) await count(0);
    steps.fails = true;
    for (let n = 0; n < 15; n += 1) expect(await counts[0]?.('a')).toEqual({ outcome: 'admitted' });
    steps.fails = false;
    await clock.turn();
    expect(await count(0)).toBe('admitted');
  });
});

describe('credits that a call holds', () => {
  const key: KeyLimits = {
    id: 'key-1',
    companyId: 'company-1',
    requestsPerMinute: 1_000,
    tokensPerMinute: 1_000_000,
    maxCallsInFlight: null,
  };

  function given() {
    const clock = createManualClock(1_000_000);
    const { log, entries } = createRecordingLog();
    const outage = { shared: false, settles: false, database: false };
    const real = createInProcessState({ clock, log });
    const away = () => Promise.reject(new Error('away'));
    const sharedState: SharedState = {
      ...real,
      reserve: (...words) => (outage.shared ? away() : real.reserve(...words)),
      settle: (...words) => (outage.shared || outage.settles ? away() : real.settle(...words)),
    };
    const ownState = createInProcessState({ clock, log });
    const deferred = { asked: 0, charge: async () => false };
    const chargeDeferred = () => {
      deferred.asked += 1;
      return deferred.charge();
    };
    const steppedBack: LevelSteppedBack[] = [];
    const onSteppedBack = (back: LevelSteppedBack) => void steppedBack.push(back);
    const limits = createLimits({
      sharedState,
      ownState,
      clock,
      log,
      addressRequestsPerMinute: 0,
      onSteppedBack,
      chargeDeferred,
    });
    const account = { value: 100, version: 1, reads: 0 };
    const level = (): HeldLevel => ({
      name: 'balance',
      value: account.value,
      version: account.version,
      ttlMs: TTL_MS,
    });
    const hold = (amount: number): CreditHold => ({
      name: 'balance',
      level: 'balance',
      amount,
      maxAgeMs: 5_000,
      graceMs: TTL_MS,
      async read() {
        account.reads += 1;
        return outage.database ? null : level();
      },
    });
    let calls = 0;
    const start = (amount: number) => {
      calls += 1;
      return limits.reserve(key, `call-${calls}`, 0, [hold(amount)]);
    };
    async function begin(amount: number) {
      const started = await start(amount);
      if (started.outcome !== 'admitted') throw new Error(`refused: ${started.outcome}`);
      return started.reservation;
    }
    const charge = (amount: number) => {
      account.value -= amount;
      account.version += 1;
      return [level()];
    };
    const held = () => heldIn(real);
    const money = { account, level, start, begin, charge, steppedBack, deferred };
    return { limits, held, clock, entries, outage, ...money };
  }

  describe('G-29 holds of calls', () => {
    test('a level is read before it is set and once after, then kept current by commits', async () => {
      const { begin, charge, clock, account } = given();
      for (let n = 0; n < 5; n += 1) {
        const call = await begin(10);
        await clock.advance(4_000);
        await call.end(0, charge(1));
      }
      expect(account.reads).toBe(2);
      await clock.advance(5_001);
      await begin(10);
      expect(account.reads).toBe(3);
    });

    test('credits held by calls that have ended and are charged later reject no call: they are charged first', async () => {
      const { begin, start, charge, deferred, held } = given();
      const ended = await begin(200);
      const committed = Promise.withResolvers<readonly HeldLevel[]>();
      await ended.end(0, committed.promise);
      expect(await held()).toBe(200);
      // Nothing is deferred: it was requested once, and the call stays refused.
      expect((await start(1)).outcome).toBe('held');
      expect(deferred.asked).toBe(1);
      deferred.charge = async () => {
        committed.resolve(charge(30));
        await until(async () => (await held()) === 0);
        return true;
      };
      expect((await start(1)).outcome).toBe('admitted');
      expect(deferred.asked).toBe(2);
    });

    test('where the level alone refuses, nothing is charged first: refused calls cost no statement', async () => {
      const { start, deferred, account } = given();
      account.value = 0;
      expect((await start(1)).outcome).toBe('not-payable');
      expect(deferred.asked).toBe(0);
    });

    test('G-37 credits refuse before the key’s limits do, and consume none of them', async () => {
      const { limits, start, account } = given();
      account.value = 0;
      const refused = await start(1);
      expect(refused).toMatchObject({ outcome: 'not-payable', level: 0 });
      expect((await limits.look(key)).requests.remaining).toBe(1_000);
    });

    test('G-33 a call in the journal keeps its hold, however long, until its commit is known', async () => {
      const { begin, start, charge, held, clock } = given();
      const call = await begin(100);
      const committed = Promise.withResolvers<HeldLevel[]>();
      await call.end(0, committed.promise);
      for (let n = 0; n < 20; n += 1) await clock.advance(30_000);
      expect(await held()).toBe(100);
      expect((await start(1)).outcome).toBe('held');
      committed.resolve(charge(40));
      await clock.advance(0);
      expect(await held()).toBe(0);
      expect((await start(1)).outcome).toBe('admitted');
      expect(clock.pendingTimers()).toBe(1);
    });

    test('a hold that could not be released is released once shared state answers again', async () => {
      const { begin, charge, held, clock, outage, entries } = given();
      const call = await begin(100);
      outage.settles = true;
      await call.end(0, charge(1));
      expect(entries.some(({ level }) => level === 'warn')).toBe(true);
      outage.settles = false;
      expect(await held()).toBe(100);
      await clock.advance(5_000);
      expect(await held()).toBe(0);
    });
  });

  describe('a database that was restored or lost its last commits', () => {
    test('is used as soon as a level is read again, and no call fails for it', async () => {
      const { begin, start, charge, clock, account, steppedBack } = given();
      for (let call = 0; call < 5; call += 1) await (await begin(10)).end(0, charge(10));
      expect(account).toMatchObject({ value: 50, version: 6 });
      Object.assign(account, { value: 30, version: 2 });
      // Until the level that was known is too old it serves on.
      expect((await start(1)).outcome).toBe('admitted');
      expect(steppedBack).toEqual([]);
      await clock.advance(5_001);
      expect((await start(40)).outcome).toBe('admitted');
      expect(steppedBack).toEqual([{ tag: 'company-1', level: 'balance', knownVersion: 6, readVersion: 2 }]);
      expect(await start(1)).toMatchObject({ outcome: 'held', level: 30 });
    });

    test('whose late charges of running calls do not undo what was committed since', async () => {
      const { begin, start, charge, clock, account } = given();
      for (let call = 0; call < 5; call += 1) await (await begin(10)).end(0, charge(10));
      Object.assign(account, { value: 30, version: 2 });
      await clock.advance(5_001);
      const call = await begin(1);
      await call.end(0, charge(30));
      expect(await start(1)).toMatchObject({ outcome: 'not-payable', level: 0 });
    });
  });

  describe('when a dependency is unavailable', () => {
    test('the database: the last known balance is used during the grace period, an unknown one admits no call', async () => {
      const { begin, start, clock, outage } = given();
      outage.database = true;
      expect(await start(1)).toEqual({ outcome: 'unknown-level' });
      outage.database = false;
      await (await begin(1)).end(0, []);
      outage.database = true;
      await clock.advance(TTL_MS - 10_000);
      expect((await start(1)).outcome).toBe('admitted');
      await clock.advance(10_001);
      expect(await start(1)).toEqual({ outcome: 'unknown-level' });
    });

    test('shared state: each process holds by itself, against the level it reads, and settles where it reserved', async () => {
      const { begin, start, charge, held, clock, outage } = given();
      const before = await begin(100);
      outage.shared = true;
      const during = await begin(100);
      expect((await start(1)).outcome).toBe('held');
      await during.end(0, charge(50));
      expect((await start(1)).outcome).toBe('admitted');
      outage.shared = false;
      await clock.advance(1_000);
      expect(await held()).toBe(100);
      await before.end(0, []);
      expect(await held()).toBe(0);
    });
  });
});
