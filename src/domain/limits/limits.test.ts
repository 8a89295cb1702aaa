import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { estimateTokens } from './claims.ts';
import { createLimits, type KeyLimits } from './limits.ts';

const key: KeyLimits = {
  id: 'key-1',
  companyId: 'company-1',
  requestsPerMinute: 3,
  tokensPerMinute: 1_000,
  maxCallsInFlight: null,
};

const LEVEL = { name: 'balance', value: 1_000, version: 1, ttlMs: 60_000 };

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
  test('G-39 pass up to the limit; the next is refused for exactly as long as the window lasts', async () => {
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
  test('G-40 requests: past the limit refused, naming it, with an exact time; nothing else is consumed', async () => {
    const { limits, clock } = given();
    for (let n = 0; n < 3; n += 1)
      expect((await limits.reserve(key, `c${n}`, 10, [])).outcome).toBe('admitted');
    await clock.advance(10_000);
    const refused = await limits.reserve(key, 'c4', 10, []);
    expect(refused).toMatchObject({ outcome: 'refused', by: 'requests', retryAfterMs: 50_000 });
    if (refused.outcome !== 'refused') throw new Error('admitted');
    expect(refused.allowances.tokens).toEqual({ limit: 1_000, remaining: 970, resetMs: 50_000 });
  });

  test('G-40 tokens: parallel calls cannot pass together what one alone may not', async () => {
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

  test('G-40 real usage takes the place of the estimate, in the same window only', async () => {
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

  test('calls in flight: a place is free again when a call ends, or a while after its process died', async () => {
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

test('while shared state is away each process limits by itself, says so once, and returns', async () => {
  let isAway = true;
  const { limits, clock, entries } = given(5, () => isAway);
  for (let n = 0; n < 3; n += 1)
    expect((await limits.reserve(key, `c${n}`, 10, [])).outcome).toBe('admitted');
  expect((await limits.reserve(key, 'c4', 10, [])).outcome).toBe('refused');
  await clock.advance(5_000);
  await limits.look(key);
  expect(entries.filter(({ level }) => level === 'error')).toHaveLength(1);
  isAway = false;
  await clock.advance(1_000);
  expect((await limits.reserve(key, 'c5', 10, [])).outcome).toBe('admitted');
  isAway = true;
  await limits.look(key);
  expect(entries.filter(({ level }) => level === 'error')).toHaveLength(2);
});

test('while shared state is away a process grants its share of the limits, at least one, and all of the credits', async () => {
  let isAway = true;
  const { limits, clock, entries } = given(6, () => isAway, 0.5);
  const holds = [{ name: 'balance', amount: 900, maxAgeMs: 1_000, graceMs: 1_000, read: async () => LEVEL }];
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
  isAway = false;
  await clock.advance(1_000);
  for (const id of ['c6', 'c7', 'c8', 'c9']) await limits.reserve(open, id, 10, []);
  expect((await limits.reserve(open, 'c10', 10, [])).outcome).toBe('admitted');
  expect(limits.isAlone()).toBe(false);
  expect(entries.map(({ message }) => message)).toContain('limits are kept by all processes together again');
});

test('G-29 with shared state and the database both away, what the last commits left is held against', async () => {
  let isAway = false;
  const { limits } = given(0, () => isAway);
  const unread = { name: 'balance', amount: 600, maxAgeMs: 60_000, graceMs: 60_000, read: async () => LEVEL };
  const before = await limits.reserve(key, 'c1', 10, [unread]);
  if (before.outcome !== 'admitted') throw new Error(before.outcome);
  await before.reservation.end(10, [{ ...LEVEL, value: 900, version: 2 }]);
  isAway = true;
  const holds = [{ ...unread, read: async () => null }];
  expect((await limits.reserve(key, 'c2', 10, holds)).outcome).toBe('admitted');
  expect((await limits.reserve(key, 'c3', 10, holds)).outcome).toBe('admitted');
  expect(await limits.reserve(key, 'c4', 10, holds)).toMatchObject({ outcome: 'not-payable', level: 900 });
  const other = { ...key, companyId: 'company-2' };
  expect((await limits.reserve(other, 'c5', 10, holds)).outcome).toBe('unknown-level');
});

test('the estimate is cheap: bytes by four and what may be answered, for each choice', () => {
  expect(estimateTokens(400, 50, 1)).toBe(150);
  expect(estimateTokens(400, 50, 3)).toBe(250);
  expect(estimateTokens(401, null, 1)).toBe(1_101);
  expect(estimateTokens(0, 0, 0)).toBe(0);
  expect(estimateTokens(1, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).toBe(2 ** 40);
});
