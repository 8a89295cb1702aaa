import { expect, test } from 'bun:test';
import type { Claim } from '../../src/ports/shared-state.ts';
import { HOUR, heldClaim, outcomes, SLACK, standingsOf, usedBy, windowClaim } from './claim-probes.ts';
import type { SharedStateUnderTest } from './shared-state.contract.ts';

type Given = () => SharedStateUnderTest;

export function claimsContract(given: Given): void {
  windowsCount(given);
  claimsAreTakenTogether(given);
  windowsAreSettled(given);
  amountsStayExact(given);
}

function windowsCount(given: Given): void {
  test('a window admits up to its limit, and again exactly when it says', async () => {
    const { state, advance } = given();
    const two = windowClaim('rpm', { amount: 2 });
    const first = standingsOf(await state.reserve('window', [two]))[0];
    expect(first).toMatchObject({ limit: 3, used: 2, resetMs: HOUR });
    const refused = await state.reserve('window', [two]);
    if (refused.outcome !== 'refused') throw new Error('3 admitted 4');
    expect(refused).toMatchObject({ refusedBy: 0, standings: [{ limit: 3, used: 2 }] });
    expect(refused.standings[0]?.windowStart).toBe(first?.windowStart);
    expect(refused.standings[0]?.resetMs).toBe(refused.retryAfterMs as number);
    expect(refused.retryAfterMs).toBeGreaterThan(HOUR - SLACK);

    advance((refused.retryAfterMs ?? 0) - SLACK);
    const early = await state.reserve('window', [two]);
    if (early.outcome !== 'refused') throw new Error('admitted before the wait was over');
    advance(early.retryAfterMs ?? 0);
    const anew = standingsOf(await state.reserve('window', [two]))[0];
    expect(anew).toMatchObject({ used: 2, resetMs: HOUR });
    expect(anew?.windowStart).toBeGreaterThanOrEqual((first?.windowStart ?? 0) + HOUR);
  });

  test('a window begins with its first claim, not by the clock', async () => {
    const { state, advance } = given();
    await state.reserve('begin', [windowClaim('rpm')]);
    advance(HOUR + HOUR / 2);
    expect(standingsOf(await state.reserve('begin', [windowClaim('rpm')]))[0]).toMatchObject({
      used: 1,
      resetMs: HOUR,
    });
  });

  test('more than the whole limit is refused for good: no wait is named', async () => {
    const { state } = given();
    const refused = await state.reserve('too much', [windowClaim('tpm', { amount: 4 })]);
    expect(refused).toEqual({
      outcome: 'refused',
      refusedBy: 0,
      retryAfterMs: null,
      standings: [{ limit: 3, used: 0, windowStart: 0, resetMs: 0 }],
    });
    expect(await outcomes(state, 'too much', [windowClaim('tpm', { amount: 0, limit: -1 })])).toBe('refused');
  });
}

function claimsAreTakenTogether(given: Given): void {
  test('a refusal takes nothing, and the first claim that does not fit is the one that refuses', async () => {
    const { state } = given();
    const claims = [
      windowClaim('fits'),
      heldClaim('full', 'a', { amount: 4 }),
      windowClaim('full too', { amount: 4 }),
      heldClaim('fits as well', 'a'),
    ];
    expect(await state.reserve('together', claims)).toMatchObject({
      outcome: 'refused',
      refusedBy: 1,
      retryAfterMs: null,
      standings: [{ used: 0 }, { used: 0 }, { used: 0 }, { used: 0 }],
    });
    for (const claim of claims) expect(await usedBy(state, 'together', claim)).toBe(0);
    const fitting = claims.map((claim): Claim => ({ ...claim, amount: 2 }));
    expect(await state.reserve('together', fitting)).toMatchObject({
      outcome: 'reserved',
      standings: [{ used: 2 }, { used: 2 }, { used: 2 }, { used: 2 }],
    });
  });

  test('names live apart by tag and by kind, whatever is in them', async () => {
    const { state } = given();
    const names = ['plain', 'a:b', 'a b', '{x}', 'é😀', 'window:plain', '\n', '%d'];
    for (const tag of ['one', 'two:', 'é']) {
      for (const name of names) {
        const both = [windowClaim(name), heldClaim(name, name)];
        const standings = standingsOf(await state.reserve(tag, both));
        expect(standings.map(({ used }) => used)).toEqual([1, 1]);
      }
    }
  });

  test('no claims are reserved, no settlements settled', async () => {
    const { state } = given();
    expect(await state.reserve('empty', [])).toEqual({ outcome: 'reserved', standings: [] });
    await state.settle('empty', []);
    await state.check();
  });
}

function windowsAreSettled(given: Given): void {
  test('a running window is corrected both ways, never below 0', async () => {
    const { state } = given();
    const claim = windowClaim('tpm', { amount: 2 });
    const windowStart = standingsOf(await state.reserve('settle', [claim]))[0]?.windowStart ?? 0;
    const settle = (delta: number) =>
      state.settle('settle', [{ kind: 'window', name: 'tpm', windowStart, delta }]);
    await settle(5);
    expect(await usedBy(state, 'settle', claim)).toBe(7);
    expect(await outcomes(state, 'settle', [windowClaim('tpm', { amount: 0 })])).toBe('refused');
    await settle(-4);
    expect(await usedBy(state, 'settle', claim)).toBe(3);
    await settle(-100);
    expect(await usedBy(state, 'settle', claim)).toBe(0);
    await settle(1);
    expect(await usedBy(state, 'settle', claim)).toBe(1);
  });

  test('a window that ended is left alone, and so is its follower', async () => {
    const { state, advance } = given();
    const claim = windowClaim('tpm');
    const windowStart = standingsOf(await state.reserve('late', [claim]))[0]?.windowStart ?? 0;
    const late = { kind: 'window', name: 'tpm', windowStart, delta: 2 } as const;
    advance(HOUR);
    await state.settle('late', [late]);
    expect(await outcomes(state, 'late', [claim])).toBe('reserved');
    await state.settle('late', [late, { ...late, name: 'never begun' }]);
    expect(await usedBy(state, 'late', claim)).toBe(1);
    expect(await usedBy(state, 'late', windowClaim('never begun'))).toBe(0);
  });

  test('a call settles all it names, each kind, in one go', async () => {
    const { state } = given();
    const reserved = await state.reserve('all', [
      windowClaim('tpm'),
      heldClaim('h', 'a'),
      heldClaim('g', 'a'),
    ]);
    const windowStart = standingsOf(reserved)[0]?.windowStart ?? 0;
    await state.settle('all', [
      { kind: 'release', name: 'h', entry: 'a' },
      { kind: 'window', name: 'tpm', windowStart, delta: 1 },
      { kind: 'level', name: 'l', value: 4, version: 1, ttlMs: HOUR },
      { kind: 'renew', name: 'g', entry: 'a', ttlMs: HOUR },
    ]);
    const asked = [heldClaim('h', 'b'), windowClaim('tpm'), heldClaim('g', 'b')];
    const levelled = heldClaim('i', 'b', { limit: { level: 'l', maxAgeMs: HOUR } });
    const standings = standingsOf(await state.reserve('all', [...asked, levelled]));
    expect(standings.map(({ used, limit }) => [used, limit])).toEqual([
      [1, 3],
      [3, 3],
      [2, 3],
      [1, 4],
    ]);
  });
}

function amountsStayExact(given: Given): void {
  const MOST = Number.MAX_SAFE_INTEGER;

  test('amounts are exact up to 2^53 - 1, and no sum goes past it', async () => {
    const { state } = given();
    const window = windowClaim('w', { amount: MOST - 1, limit: MOST });
    const big = heldClaim('h', 'a', { amount: MOST - 1, limit: MOST, rule: 'room' });
    const standings = standingsOf(await state.reserve('exact', [window, big]));
    expect(standings.map(({ used, limit }) => [used, limit])).toEqual([
      [MOST - 1, MOST],
      [MOST - 1, MOST],
    ]);
    expect(await outcomes(state, 'exact', [{ ...window, amount: 2 }])).toBe('refused');
    expect(await outcomes(state, 'exact', [{ ...big, entry: 'b', amount: 2 }])).toBe('refused');
    expect(await outcomes(state, 'exact', [{ ...big, entry: 'b', amount: 1 }])).toBe('reserved');
    await state.settle('exact', [{ kind: 'release', name: 'h', entry: 'a' }]);
    expect(await usedBy(state, 'exact', big)).toBe(1);
    const windowStart = standings[0]?.windowStart ?? 0;
    await state.settle('exact', [{ kind: 'window', name: 'w', windowStart, delta: MOST }]);
    expect(await usedBy(state, 'exact', window)).toBe(MOST);
    await state.settle('exact', [{ kind: 'level', name: 'l', value: -MOST, version: MOST, ttlMs: 1_000 }]);
    const levelled = { ...big, entry: 'c', limit: { level: 'l', maxAgeMs: HOUR } };
    expect(standingsOf(await state.reserve('exact', [levelled]))[0]?.limit).toBe(-MOST);
  });
}
