import { expect, test } from 'bun:test';
import { HOUR, heldClaim, outcomes, SLACK, standingsOf, usedBy, windowClaim } from './claim-probes.ts';
import type { SharedStateUnderTest } from './shared-state.contract.ts';

type Given = () => SharedStateUnderTest;

export function heldContract(given: Given): void {
  heldEntriesSumUp(given);
  manyEntriesAtOnce(given);
  heldEntriesEnd(given);
  levelsLimit(given);
}

function heldEntriesSumUp(given: Given): void {
  test('held entries fit up to the limit, and one that is released makes room', async () => {
    const { state } = given();
    const [a, b] = [heldClaim('calls', 'a', { amount: 2 }), heldClaim('calls', 'b', { amount: 2 })];
    expect(await outcomes(state, 'held', [a, b])).toBe('reserved refused');
    await state.settle('held', [
      { kind: 'release', name: 'calls', entry: 'nobody' },
      { kind: 'release', name: 'calls', entry: 'a' },
      { kind: 'release', name: 'calls', entry: 'a' },
    ]);
    expect(await state.reserve('held', [b])).toEqual({
      outcome: 'reserved',
      standings: [{ limit: 3, used: 2, windowStart: 0, resetMs: 0 }],
    });
  });

  test('"room" admits while there is any, and may go over', async () => {
    const { state } = given();
    const claim = (entry: string) => heldClaim('hold', entry, { amount: 2, rule: 'room' });
    expect(await outcomes(state, 'room', [claim('a'), claim('b'), claim('c')])).toBe(
      'reserved reserved refused',
    );
    expect(await usedBy(state, 'room', claim('a'))).toBe(4);
    await state.settle('room', [{ kind: 'release', name: 'hold', entry: 'a' }]);
    expect(await outcomes(state, 'room', [claim('c')])).toBe('reserved');
  });

  test('an entry claimed again counts once; it may shrink freely and grow where it fits', async () => {
    const { state } = given();
    const claim = (entry: string, amount: number, rule: 'fits' | 'room' = 'fits') =>
      heldClaim('again', entry, { amount, rule });
    expect(await outcomes(state, 'again', [claim('a', 2), claim('a', 2), claim('b', 1)])).toBe(
      'reserved reserved reserved',
    );
    expect(await usedBy(state, 'again', claim('a', 0))).toBe(3);
    expect(await outcomes(state, 'again', [claim('a', 3), claim('a', 1), claim('b', 2)])).toBe(
      'refused reserved reserved',
    );
    expect(await usedBy(state, 'again', claim('a', 0))).toBe(3);
    // Others leave no room, but the entry has its place already.
    expect(await outcomes(state, 'again', [claim('b', 9, 'room'), claim('a', 1, 'room')])).toBe(
      'reserved reserved',
    );
    expect(await usedBy(state, 'again', claim('a', 0))).toBe(10);
  });
}

function manyEntriesAtOnce(given: Given): void {
  const many = (entry: string, count: number, changes: object = {}) =>
    ({
      kind: 'held-many',
      name: 'many',
      entry,
      count,
      amount: 2,
      limit: 10,
      ttlMs: HOUR,
      ...changes,
    }) as const;

  test('many entries are taken all or none, end one by one, and one that is gone is not counted', async () => {
    const { state } = given();
    expect(await state.reserve('many', [many('a', 3)])).toEqual({
      outcome: 'reserved',
      standings: [{ limit: 10, used: 6, windowStart: 0, resetMs: 0 }],
    });
    expect(await outcomes(state, 'many', [many('b', 3), many('b', 2)])).toBe('refused reserved');
    const release = (entry: string) => ({ kind: 'release', name: 'many', entry }) as const;
    await state.settle('many', [release('a-1'), release('a-1'), release('b-2'), release('a')]);
    expect(await usedBy(state, 'many', heldClaim('many', 'x'))).toBe(8);
    // A single one among them is judged by the same sum.
    const single = (amount: number) => heldClaim('many', 'single', { amount, limit: 10 });
    expect(await outcomes(state, 'many', [single(3), single(2)])).toBe('refused reserved');
    await state.settle('many', [
      release('a-0'),
      release('a-2'),
      release('b-0'),
      release('b-1'),
      release('single'),
    ]);
    expect(await usedBy(state, 'many', heldClaim('many', 'x'))).toBe(0);
  });

  test('many entries are held against a level as one is, and end by themselves', async () => {
    const { state, advance } = given();
    const against = (count: number, changes: object = {}) =>
      many('l', count, { limit: { level: 'money', maxAgeMs: HOUR }, ...changes });
    expect(await state.reserve('many-level', [against(1)])).toEqual({
      outcome: 'level-unknown',
      level: 'money',
    });
    await state.settle('many-level', [{ kind: 'level', name: 'money', value: 7, version: 1, ttlMs: HOUR }]);
    expect(await outcomes(state, 'many-level', [against(4), against(3)])).toBe('refused reserved');
    await advance(HOUR + SLACK);
    await state.settle('many-level', [{ kind: 'level', name: 'money', value: 7, version: 2, ttlMs: HOUR }]);
    expect(await outcomes(state, 'many-level', [against(3)])).toBe('reserved');
  });

  test('none, too many or a broken number of entries is refused before anything is touched', async () => {
    const { state } = given();
    for (const count of [0, 101, 1.5, Number.NaN]) {
      const failure = await state.reserve('many', [many('z', count)]).catch((error) => error);
      expect(failure).toMatchObject({ name: 'SharedStateFailure', reason: 'refused' });
    }
    const twice = await state.reserve('many', [many('z', 1), heldClaim('many', 'z')]).catch((error) => error);
    expect(twice).toMatchObject({ name: 'SharedStateFailure', reason: 'refused' });
  });
}

function heldEntriesEnd(given: Given): void {
  test('each held entry ends by itself after its own time, and leaves the sum', async () => {
    const { state, advance } = given();
    await state.reserve('end', [heldClaim('hold', 'short', { ttlMs: HOUR })]);
    await state.reserve('end', [heldClaim('hold', 'long', { ttlMs: 2 * HOUR, amount: 2 })]);
    const asked = heldClaim('hold', 'x');
    advance(HOUR - SLACK);
    expect(await usedBy(state, 'end', asked)).toBe(3);
    advance(SLACK);
    expect(await usedBy(state, 'end', asked)).toBe(2);
    advance(HOUR);
    expect(await usedBy(state, 'end', asked)).toBe(0);
  });

  test('renewing counts from now, by settling or by claiming again, and does not wake the dead', async () => {
    const { state, advance } = given();
    const [a, b] = [heldClaim('renew', 'a'), heldClaim('renew', 'b')];
    await outcomes(state, 'renew', [a, b, heldClaim('renew', 'c')]);
    advance(HOUR / 2);
    await state.settle('renew', [{ kind: 'renew', name: 'renew', entry: 'a', ttlMs: HOUR }]);
    await state.reserve('renew', [b]);
    advance(HOUR / 2);
    expect(await usedBy(state, 'renew', a)).toBe(2);
    advance(HOUR / 2);
    await state.settle('renew', [{ kind: 'renew', name: 'renew', entry: 'a', ttlMs: HOUR }]);
    expect(await usedBy(state, 'renew', a)).toBe(0);
  });

  test('renewing may shorten too', async () => {
    const { state, advance } = given();
    await state.reserve('shorten', [heldClaim('h', 'a')]);
    await state.settle('shorten', [{ kind: 'renew', name: 'h', entry: 'a', ttlMs: SLACK }]);
    advance(SLACK);
    expect(await usedBy(state, 'shorten', heldClaim('h', 'a'))).toBe(0);
  });
}

function levelsLimit(given: Given): void {
  const limit = { level: 'balance', maxAgeMs: HOUR };
  const level = (value: number, version: number, ttlMs = 24 * HOUR) =>
    ({ kind: 'level', name: 'balance', value, version, ttlMs }) as const;

  test('a level that nobody set is unknown, and nothing is taken, whoever else would refuse', async () => {
    const { state } = given();
    const claims = [windowClaim('rpm', { amount: 9 }), windowClaim('tpm'), heldClaim('hold', 'a', { limit })];
    const unknown = await state.reserve('unknown', claims);
    expect(unknown).toEqual({ outcome: 'level-unknown', level: 'balance' });
    expect(await usedBy(state, 'unknown', windowClaim('tpm'))).toBe(0);
  });

  test('a level limits until it is too old, and an equal version makes it young again', async () => {
    const { state, advance } = given();
    const claim = (entry: string) => heldClaim('hold', entry, { amount: 6, limit });
    await state.settle('level', [level(10, 1)]);
    expect(await state.reserve('level', [claim('a')])).toEqual({
      outcome: 'reserved',
      standings: [{ limit: 10, used: 6, windowStart: 0, resetMs: 0 }],
    });
    expect(await outcomes(state, 'level', [claim('b')])).toBe('refused');
    advance(HOUR - SLACK);
    await state.settle('level', [level(10, 1)]);
    advance(HOUR - SLACK);
    expect(await outcomes(state, 'level', [claim('b')])).toBe('reserved');
    advance(2 * SLACK);
    expect(await outcomes(state, 'level', [claim('c')])).toBe('level-unknown');
  });

  test('a level is kept only over a lower version, negative ones too', async () => {
    const { state } = given();
    const room = (entry: string) => heldClaim('hold', entry, { rule: 'room', limit });
    const limitNow = async () => standingsOf(await state.reserve('versions', [room('a')]))[0]?.limit;
    await state.settle('versions', [level(5, 2), level(9, 1)]);
    expect(await limitNow()).toBe(5);
    await state.settle('versions', [level(7, 2)]);
    expect(await limitNow()).toBe(5);
    await state.settle('versions', [level(-3, 3)]);
    expect(await outcomes(state, 'versions', [room('b')])).toBe('refused');
    expect(await limitNow()).toBe(-3);
  });

  test('a level that has ended is unknown, and then any version begins anew', async () => {
    const { state, advance } = given();
    const old = heldClaim('hold', 'a', { limit: { level: 'balance', maxAgeMs: 100 * HOUR } });
    await state.settle('ended', [level(5, 9, HOUR)]);
    advance(HOUR);
    expect(await outcomes(state, 'ended', [old])).toBe('level-unknown');
    await state.settle('ended', [level(4, 1, HOUR)]);
    expect(standingsOf(await state.reserve('ended', [old]))[0]?.limit).toBe(4);
  });
}
