import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type Given,
  HOUR,
  limitStatesOf,
  outcomes,
  type SharedStateUnderTest,
  SLACK,
  usedBy,
  windowClaim,
} from './shared-state.contract.ts';

/** How windows count, slide and are settled, on one adapter. */
export function windowsContract(name: string, open: () => Promise<SharedStateUnderTest>): void {
  describe(`shared-state windows: ${name}`, () => {
    let under: SharedStateUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(() => under.close());

    windowsCount(() => under);
    windowsAreSettled(() => under);
  });
}

function windowsCount(given: Given): void {
  test('a window admits up to its limit, and again exactly at the reported time', async () => {
    const { state, advance } = given();
    const two = windowClaim('rpm', { amount: 2 });
    const first = limitStatesOf(await state.reserve('window', [two]))[0];
    expect(first).toMatchObject({ limit: 3, used: 2, resetMs: HOUR });
    const refused = await state.reserve('window', [two]);
    if (refused.outcome !== 'refused') throw new Error('3 admitted 4');
    expect(refused).toMatchObject({ refusedBy: 0, limitStates: [{ limit: 3, used: 2 }] });
    expect(refused.limitStates[0]?.bucket).toBe(first?.bucket);
    expect(refused.limitStates[0]?.resetMs).toBe(refused.retryAfterMs as number);
    expect(refused.retryAfterMs).toBeGreaterThan(HOUR - SLACK);

    advance((refused.retryAfterMs ?? 0) - SLACK);
    const early = await state.reserve('window', [two]);
    if (early.outcome !== 'refused') throw new Error('admitted before the wait was over');
    advance(early.retryAfterMs ?? 0);
    const anew = limitStatesOf(await state.reserve('window', [two]))[0];
    expect(anew).toMatchObject({ used: 2, resetMs: HOUR });
    expect(anew?.bucket).toBeGreaterThanOrEqual((first?.bucket ?? 0) + HOUR);
  });

  test('a window slides: what was counted leaves it bucket by bucket, each a whole length after its last use', async () => {
    const { state, advance } = given();
    const claim = (amount: number) => windowClaim('slides', { amount });
    const wait = async (amount: number) => {
      const refused = await state.reserve('window', [claim(amount)]);
      if (refused.outcome !== 'refused') throw new Error('admitted');
      return refused.retryAfterMs ?? 0;
    };
    const isNear = (actual: number | undefined, expected: number) => {
      expect(Math.abs((actual ?? 0) - expected)).toBeLessThan(SLACK / 2);
    };
    await state.reserve('window', [claim(2)]);
    advance(HOUR / 2);
    const second = limitStatesOf(await state.reserve('window', [claim(1)]))[0];
    isNear(second?.resetMs, HOUR);
    advance(HOUR / 4);
    isNear(await wait(1), HOUR / 4);
    isNear(await wait(2), HOUR / 4);
    isNear(await wait(3), (3 * HOUR) / 4);
    advance(await wait(2));
    expect(await usedBy(state, 'window', claim(0))).toBe(1);
    expect(await outcomes(state, 'window', [claim(3), claim(2), claim(1)])).toBe('refused reserved refused');
    isNear(await wait(1), HOUR / 2);
    advance(await wait(1));
    expect(await outcomes(state, 'window', [claim(2), claim(1)])).toBe('refused reserved');
  });

  test('a window has a bounded number of buckets, and their sum is right however many have left', async () => {
    const { state, advance } = given();
    const claim = windowClaim('for long', { limit: 1_000 });
    const apart = (3 * HOUR) / 60;
    for (let n = 1; n <= 250; n += 1) {
      const used = limitStatesOf(await state.reserve('window', [claim]))[0]?.used;
      // The oldest may have left already: the time of a server goes on.
      const most = Math.min(n, 20);
      expect(used === most || (n > 20 && used === most + 1)).toBe(true);
      advance(apart);
    }
  });

  test('the wait of a refusal is until every window of the call has room', async () => {
    const { state, advance } = given();
    const both = (amount: number) => [windowClaim('requests'), windowClaim('tokens', { amount })];
    await state.reserve('two windows', [windowClaim('requests', { amount: 2 })]);
    advance(HOUR / 2);
    await state.reserve('two windows', both(3));
    const refused = await state.reserve('two windows', both(2));
    if (refused.outcome !== 'refused') throw new Error('admitted');
    expect(refused.refusedBy).toBe(0);
    expect(refused.retryAfterMs).toBeGreaterThan(HOUR - SLACK);
    advance(refused.retryAfterMs ?? 0);
    expect((await state.reserve('two windows', both(2))).outcome).toBe('reserved');
  });

  test('what is claimed ahead is counted until a whole length after its last use, and delays nothing else', async () => {
    const { state, advance } = given();
    const single = windowClaim('ahead', { limit: 10 });
    const ahead = (amount: number) => ({ ...single, amount, aheadMs: HOUR / 60 });
    const first = limitStatesOf(await state.reserve('ahead', [single]))[0];
    const lease = limitStatesOf(await state.reserve('ahead', [ahead(4)]))[0];
    expect(lease).toMatchObject({ used: 5, resetMs: HOUR + (2 * HOUR) / 60 });
    expect(lease?.bucket).toBeGreaterThan(first?.bucket ?? 0);
    // A single one is counted with it while it is the newest, and so is the next one that is claimed ahead.
    expect(limitStatesOf(await state.reserve('ahead', [single]))[0]?.bucket).toBe(lease?.bucket ?? 0);
    expect(limitStatesOf(await state.reserve('ahead', [ahead(2)]))[0]?.bucket).toBe(lease?.bucket ?? 0);
    const back = { kind: 'window', name: 'ahead', bucket: lease?.bucket ?? 0 } as const;
    advance(HOUR - SLACK / 2);
    expect(await usedBy(state, 'ahead', single)).toBe(8);
    advance(SLACK / 2);
    expect(await usedBy(state, 'ahead', single)).toBe(7);
    await state.settle('ahead', [{ ...back, delta: -5 }]);
    expect(await usedBy(state, 'ahead', single)).toBe(2);
    advance(HOUR / 60);
    expect(await usedBy(state, 'ahead', single)).toBe(2);
    advance(HOUR / 60);
    expect(await usedBy(state, 'ahead', single)).toBe(0);
  });

  test('after the last of it was returned, a window that was claimed ahead is reported as unused when the others leave', async () => {
    const { state } = given();
    const single = windowClaim('returned', { limit: 10 });
    await state.reserve('ahead', [single]);
    const lease = limitStatesOf(
      await state.reserve('ahead', [{ ...single, amount: 4, aheadMs: HOUR / 60 }]),
    )[0];
    await state.settle('ahead', [
      { kind: 'window', name: 'returned', bucket: lease?.bucket ?? 0, delta: -4 },
    ]);
    const looked = limitStatesOf(await state.reserve('ahead', [{ ...single, amount: 0 }]))[0];
    expect(looked?.used).toBe(1);
    expect(looked?.resetMs).toBeLessThanOrEqual(HOUR);
    expect(looked?.resetMs).toBeGreaterThan(HOUR - SLACK);
  });

  test('a claim above the whole limit is refused permanently: no wait is returned', async () => {
    const { state } = given();
    const refused = await state.reserve('too much', [windowClaim('tpm', { amount: 4 })]);
    expect(refused).toEqual({
      outcome: 'refused',
      refusedBy: 0,
      retryAfterMs: null,
      limitStates: [{ limit: 3, used: 0, bucket: 0, resetMs: 0 }],
    });
    expect(await outcomes(state, 'too much', [windowClaim('tpm', { amount: 0, limit: -1 })])).toBe('refused');
  });
}

function windowsAreSettled(given: Given): void {
  test('a running window is corrected in both directions, never below 0', async () => {
    const { state } = given();
    const claim = windowClaim('tpm', { amount: 2 });
    const bucket = limitStatesOf(await state.reserve('settle', [claim]))[0]?.bucket ?? 0;
    const settle = (delta: number) =>
      state.settle('settle', [{ kind: 'window', name: 'tpm', bucket, delta }]);
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

  test('only the bucket in which it was claimed is corrected, and none that has left', async () => {
    const { state, advance } = given();
    const claim = windowClaim('buckets', { limit: 100, amount: 5 });
    const buckets: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      buckets.push(limitStatesOf(await state.reserve('buckets', [claim]))[0]?.bucket ?? 0);
      advance(HOUR / 4);
    }
    const settle = (at: number, delta: number) =>
      state.settle('buckets', [{ kind: 'window', name: 'buckets', bucket: buckets[at] ?? 0, delta }]);
    await settle(1, -100);
    expect(await usedBy(state, 'buckets', claim)).toBe(10);
    await settle(0, 2);
    await settle(2, 1);
    expect(await usedBy(state, 'buckets', claim)).toBe(13);
    advance(HOUR / 4);
    await settle(0, 50);
    expect(await usedBy(state, 'buckets', claim)).toBe(6);
    advance(HOUR / 4);
    expect(await usedBy(state, 'buckets', claim)).toBe(6);
  });

  test('a cleared window is empty, others are not', async () => {
    const { state } = given();
    const [one, other] = [windowClaim('one', { amount: 3 }), windowClaim('other', { amount: 3 })];
    await state.reserve('clear', [one, other]);
    await state.settle('clear', [{ kind: 'clear', name: 'one' }]);
    expect(await usedBy(state, 'clear', one)).toBe(0);
    expect(await usedBy(state, 'clear', other)).toBe(3);
    expect(await outcomes(state, 'clear', [one])).toBe('reserved');
  });

  test('an ended window is not changed, and neither is the next one', async () => {
    const { state, advance } = given();
    const claim = windowClaim('tpm');
    const bucket = limitStatesOf(await state.reserve('late', [claim]))[0]?.bucket ?? 0;
    const late = { kind: 'window', name: 'tpm', bucket, delta: 2 } as const;
    advance(HOUR);
    await state.settle('late', [late]);
    expect(await outcomes(state, 'late', [claim])).toBe('reserved');
    await state.settle('late', [late, { ...late, name: 'never begun' }]);
    expect(await usedBy(state, 'late', claim)).toBe(1);
    expect(await usedBy(state, 'late', windowClaim('never begun'))).toBe(0);
  });
}
