import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type {
  Claim,
  LimitState,
  Reservation,
  SharedState,
  SharedStateFailure,
} from '../../src/ports/shared-state.ts';
import { until } from '../doubles/until.ts';

export interface SharedStateUnderTest {
  state: SharedState;
  /** Moves the state's time on. */
  advance(ms: number): void;
  close(): Promise<void>;
}

export type Given = () => SharedStateUnderTest;

type WindowClaim = Extract<Claim, { kind: 'window' }>;
type HeldClaim = Extract<Claim, { kind: 'held' }>;

/** Long, so that the seconds a busy machine may take between two calls decide nothing. */
export const HOUR = 3_600_000;
export const SLACK = 60_000;

/** The contract of every shared state adapter. `open` returns an empty one that is used by the test alone. */
export function sharedStateContract(name: string, open: () => Promise<SharedStateUnderTest>): void {
  describe(`shared-state contract: ${name}`, () => {
    let under: SharedStateUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(() => under.close());

    claimsContract(() => under);
    heldContract(() => under);
    valuesExpire(() => under);
    messagesArrive(() => under.state);
    inputContract(() => under.state);

    test('a closed state rejects every operation and can be closed twice', async () => {
      const { state, close } = await open();
      await close();
      await close();
      const calls: Promise<unknown>[] = [
        state.reserve('t', []),
        state.settle('t', []),
        state.get('k'),
        state.set('k', 'v', 1),
        state.setIfAbsent('k', 'v', 1),
        state.delete('k'),
        state.publish('t', 'm'),
        state.subscribe('t', ignore, ignore),
        state.check(),
      ];
      for (const failure of await Promise.all(calls.map(failureOf))) {
        expect(failure).toMatchObject({ reason: 'unavailable', message: expect.stringContaining('closed') });
      }
    });
  });
}

export async function failureOf(work: Promise<unknown>): Promise<SharedStateFailure> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'SharedStateFailure' });
  return error as SharedStateFailure;
}

export function ignore(): void {}

function valuesExpire(given: () => SharedStateUnderTest): void {
  const texts = ['', ' 7 leading', '12', 'é€😀', 'a\u0000b\r\n$3\r\n', 'x'.repeat(100_000)];

  test('every text is returned as it was set', async () => {
    const { state } = given();
    for (const text of texts) {
      await state.set('text', text, 60_000);
      expect(await state.get('text')).toBe(text);
    }
    await state.delete('text');
    expect(await state.get('text')).toBeNull();
    expect(await state.get('never set')).toBeNull();
  });

  test('a value expires after its time to live, and setting it again restarts that', async () => {
    const { state, advance } = given();
    await state.set('short', 'a', 60_000);
    advance(30_000);
    expect(await state.get('short')).toBe('a');
    await state.set('short', 'b', 60_000);
    advance(45_000);
    expect(await state.get('short')).toBe('b');
    advance(15_000);
    expect(await state.get('short')).toBeNull();
  });

  test('setIfAbsent keeps a live value and replaces an expired one', async () => {
    const { state, advance } = given();
    expect(await state.setIfAbsent('once', '1', 60_000)).toBe(true);
    expect(await state.setIfAbsent('once', '2', 600_000)).toBe(false);
    expect(await state.get('once')).toBe('1');
    advance(60_000);
    expect(await state.setIfAbsent('once', '3', 60_000)).toBe(true);
    expect(await state.get('once')).toBe('3');
    await state.delete('once');
    expect(await state.setIfAbsent('once', '4', 60_000)).toBe(true);
  });
}

function messagesArrive(given: () => SharedState): void {
  test('messages reach every listener of their topic, in order, and no other', async () => {
    const state = given();
    const [first, second, other]: string[][] = [[], [], []];
    const open = [
      await state.subscribe('news', (message) => first?.push(message), ignore),
      await state.subscribe('news', (message) => second?.push(message), ignore),
      await state.subscribe('news of others', (message) => other?.push(message), ignore),
    ];
    const sent = ['a', '', 'é€😀\u0000\r\n', 'x'.repeat(256 * 1024)];
    for (const message of sent) await state.publish('news', message);
    await state.publish('without-listeners', 'x');
    await until(() => first?.length === 4 && second?.length === 4);
    expect(first).toEqual(sent);
    expect(second).toEqual(sent);
    expect(other).toEqual([]);
    for (const subscription of open) await subscription.close();
  });

  test('a listener gets no message from the moment it closes, not even one in transit', async () => {
    const state = given();
    const heard: string[] = [];
    const witness: string[] = [];
    const leaving = await state.subscribe('leaving', (message) => heard.push(message), ignore);
    const staying = await state.subscribe('leaving', (message) => witness.push(message), ignore);
    const publishing = state.publish('leaving', 'm');
    const closing = leaving.close();
    await Promise.all([publishing, closing, until(() => witness.length === 1)]);
    expect(heard).toEqual([]);
    await staying.close();
  });

  test('a handler that throws affects neither other handlers nor the publisher, and gets the next message', async () => {
    const state = given();
    const heard: string[] = [];
    let thrown = 0;
    const throwing = await state.subscribe('loud', fail, ignore);
    function fail(): void {
      thrown += 1;
      throw new Error('a handler failed on purpose');
    }
    const calm = await state.subscribe('loud', (message) => heard.push(message), ignore);
    await state.publish('loud', '1');
    await state.publish('loud', '2');
    await until(() => heard.length === 2 && thrown === 2);
    await throwing.close();
    await calm.close();
  });

  test('a message of more than 256 KiB is refused, counted in bytes', async () => {
    const tooLong = await failureOf(given().publish('big', '€'.repeat(90_000)));
    expect(tooLong.reason).toBe('refused');
    expect(tooLong.message).toContain('270000 bytes');
  });
}

function claimsContract(given: Given): void {
  claimsAreTakenTogether(given);
  amountsStayExact(given);
}

function claimsAreTakenTogether(given: Given): void {
  test('a refusal reserves nothing, and the first claim that does not fit is reported', async () => {
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
      limitStates: [{ used: 0 }, { used: 0 }, { used: 0 }, { used: 0 }],
    });
    for (const claim of claims) expect(await usedBy(state, 'together', claim)).toBe(0);
    const fitting = claims.map((claim): Claim => ({ ...claim, amount: 2 }));
    expect(await state.reserve('together', fitting)).toMatchObject({
      outcome: 'reserved',
      limitStates: [{ used: 2 }, { used: 2 }, { used: 2 }, { used: 2 }],
    });
  });

  test('names are separate by tag and by kind, with any characters', async () => {
    const { state } = given();
    const names = ['plain', 'a:b', 'a b', '{x}', 'é😀', 'window:plain', '\n', '%d'];
    for (const tag of ['one', 'two:', 'é']) {
      for (const name of names) {
        const both = [windowClaim(name), heldClaim(name, name)];
        const limitStates = limitStatesOf(await state.reserve(tag, both));
        expect(limitStates.map(({ used }) => used)).toEqual([1, 1]);
      }
    }
  });
}

function amountsStayExact(given: Given): void {
  const MOST = Number.MAX_SAFE_INTEGER;

  test('amounts are exact up to 2^53 - 1, and no sum goes past it', async () => {
    const { state } = given();
    const window = windowClaim('w', { amount: MOST - 1, limit: MOST });
    const big = heldClaim('h', 'a', { amount: MOST - 1, limit: MOST, rule: 'room' });
    const limitStates = limitStatesOf(await state.reserve('exact', [window, big]));
    expect(limitStates.map(({ used, limit }) => [used, limit])).toEqual([
      [MOST - 1, MOST],
      [MOST - 1, MOST],
    ]);
    expect(await outcomes(state, 'exact', [{ ...window, amount: 2 }])).toBe('refused');
    expect(await outcomes(state, 'exact', [{ ...big, entry: 'b', amount: 2 }])).toBe('refused');
    expect(await outcomes(state, 'exact', [{ ...big, entry: 'b', amount: 1 }])).toBe('reserved');
    await state.settle('exact', [{ kind: 'release', name: 'h', entry: 'a' }]);
    expect(await usedBy(state, 'exact', big)).toBe(1);
    const bucket = limitStates[0]?.bucket ?? 0;
    await state.settle('exact', [{ kind: 'window', name: 'w', bucket, delta: MOST }]);
    expect(await usedBy(state, 'exact', window)).toBe(MOST);
    const level = { kind: 'level', name: 'l', value: -MOST, version: MOST, ttlMs: 1_000 } as const;
    await state.settle('exact', [{ ...level, replaces: null }]);
    const levelled = { ...big, entry: 'c', limit: { level: 'l', maxAgeMs: HOUR } };
    expect(limitStatesOf(await state.reserve('exact', [levelled]))[0]?.limit).toBe(-MOST);
  });
}

function heldContract(given: Given): void {
  heldEntriesSumUp(given);
  manyEntriesAtOnce(given);
  heldEntriesEnd(given);
  levelsLimit(given);
}

function heldEntriesSumUp(given: Given): void {
  test('"room" admits while any is left, and may exceed the limit', async () => {
    const { state } = given();
    const claim = (entry: string) => heldClaim('hold', entry, { amount: 2, rule: 'room' });
    expect(await outcomes(state, 'room', [claim('a'), claim('b'), claim('c')])).toBe(
      'reserved reserved refused',
    );
    expect(await usedBy(state, 'room', claim('a'))).toBe(4);
    await state.settle('room', [{ kind: 'release', name: 'hold', entry: 'a' }]);
    expect(await outcomes(state, 'room', [claim('c')])).toBe('reserved');
  });

  test('an entry claimed again counts once; it may always shrink, and grow where it fits', async () => {
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

  test('several entries are taken all or none, end one by one, and an expired one is not counted', async () => {
    const { state } = given();
    expect(await state.reserve('many', [many('a', 3)])).toEqual({
      outcome: 'reserved',
      limitStates: [{ limit: 10, used: 6, bucket: 0, resetMs: 0 }],
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

  test('zero, too many or an invalid number of entries is refused before anything is changed', async () => {
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
  test('each held entry expires after its own time, and is subtracted from the sum', async () => {
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

  test('renewing counts from now, by settling or by claiming again, and restores a missing entry', async () => {
    const { state, advance } = given();
    const [a, b] = [heldClaim('renew', 'a'), heldClaim('renew', 'b')];
    await outcomes(state, 'renew', [a, b, heldClaim('renew', 'c')]);
    const renewed = { kind: 'renew', name: 'renew', entry: 'a', amount: 7, ttlMs: HOUR } as const;
    advance(HOUR / 2);
    // The amount of a living entry stays.
    await state.settle('renew', [renewed]);
    await state.reserve('renew', [b]);
    advance(HOUR / 2);
    expect(await usedBy(state, 'renew', a)).toBe(2);
    advance(HOUR / 2);
    await state.settle('renew', [renewed, { ...renewed, entry: 'never-held', amount: 3 }, renewed]);
    expect(await usedBy(state, 'renew', a)).toBe(10);
  });
}

function levelsLimit(given: Given): void {
  const limit = { level: 'balance', maxAgeMs: HOUR };
  const level = (value: number, version: number, ttlMs = 24 * HOUR) =>
    ({ kind: 'level', name: 'balance', value, version, ttlMs, replaces: null }) as const;

  test('a level that was never set is unknown, and nothing is reserved, even where another claim would be refused', async () => {
    const { state } = given();
    const claims = [windowClaim('rpm', { amount: 9 }), windowClaim('tpm'), heldClaim('hold', 'a', { limit })];
    const unknown = await state.reserve('unknown', claims);
    expect(unknown).toEqual({ outcome: 'level-unknown', level: 'balance', version: null });
    expect(await usedBy(state, 'unknown', windowClaim('tpm'))).toBe(0);
  });

  test('a level limits until it is too old, and an equal version refreshes it', async () => {
    const { state, advance } = given();
    const claim = (entry: string) => heldClaim('hold', entry, { amount: 6, limit });
    await state.settle('level', [level(10, 1)]);
    expect(await state.reserve('level', [claim('a')])).toEqual({
      outcome: 'reserved',
      limitStates: [{ limit: 10, used: 6, bucket: 0, resetMs: 0 }],
    });
    expect(await outcomes(state, 'level', [claim('b')])).toBe('refused');
    advance(HOUR - SLACK);
    await state.settle('level', [level(10, 1)]);
    advance(HOUR - SLACK);
    expect(await outcomes(state, 'level', [claim('b')])).toBe('reserved');
    advance(2 * SLACK);
    expect(await outcomes(state, 'level', [claim('c')])).toBe('level-unknown');
  });

  test('a level only replaces a lower version, negative ones too', async () => {
    const { state } = given();
    const room = (entry: string) => heldClaim('hold', entry, { rule: 'room', limit });
    const limitNow = async () => limitStatesOf(await state.reserve('versions', [room('a')]))[0]?.limit;
    await state.settle('versions', [level(5, 2), level(9, 1)]);
    expect(await limitNow()).toBe(5);
    await state.settle('versions', [level(7, 2)]);
    expect(await limitNow()).toBe(5);
    await state.settle('versions', [level(-3, 3)]);
    expect(await outcomes(state, 'versions', [room('b')])).toBe('refused');
    expect(await limitNow()).toBe(-3);
  });
}

function inputContract(given: () => SharedState): void {
  const window = { kind: 'window', name: 'w', amount: 1, limit: 5, windowMs: 1_000 } as const;
  const held = {
    kind: 'held',
    name: 'h',
    entry: 'e',
    amount: 1,
    limit: 5,
    ttlMs: 1_000,
    rule: 'fits',
  } as const;
  const wrong = [
    ...[Number.NaN, 0.5, -1, 2 ** 53, Number.POSITIVE_INFINITY, '1' as unknown as number].flatMap((bad) => [
      { ...window, amount: bad },
      { ...held, amount: bad },
      { ...window, windowMs: bad },
      { ...window, aheadMs: bad },
      { ...held, ttlMs: bad },
      { ...held, limit: { level: 'l', maxAgeMs: bad } },
    ]),
    ...[Number.NaN, 0.5, Number.POSITIVE_INFINITY].flatMap((bad) => [
      { ...window, limit: bad },
      { ...held, limit: bad },
    ]),
    { ...window, windowMs: 0 },
    { ...window, aheadMs: 1_001 },
    { ...window, name: '' },
    { ...held, entry: '' },
    // More than a day.
    { ...held, ttlMs: 86_400_001 },
    { ...held, limit: { level: '', maxAgeMs: 1 } },
  ];

  test('a claim with an invalid number or name is refused, and so are the claims with it', async () => {
    for (const claim of wrong) {
      const failure = await failureOf(given().reserve('wrong', [{ ...window, name: 'neighbour' }, claim]));
      expect(failure.reason).toBe('refused');
    }
    const untouched = await given().reserve('wrong', [{ ...window, name: 'neighbour' }]);
    expect(untouched.outcome === 'reserved' && untouched.limitStates[0]?.used).toBe(1);
  });

  test('one counter claimed twice in a call, too many claims and a tag with braces are refused', async () => {
    const many = Array.from({ length: 33 }, (_, index) => ({ ...window, name: `${index}` }));
    for (const claims of [[window, window], [held, { ...held, entry: 'other' }], many]) {
      expect((await failureOf(given().reserve('wrong', claims))).reason).toBe('refused');
    }
    for (const tag of ['', 'a}b', '{']) {
      expect((await failureOf(given().reserve(tag, [window]))).reason).toBe('refused');
      expect((await failureOf(given().settle(tag, []))).reason).toBe('refused');
    }
  });

  test('an invalid settlement, value or topic is refused', async () => {
    const state = given();
    const calls: Promise<unknown>[] = [
      state.settle('wrong', [{ kind: 'window', name: 'w', bucket: 1, delta: Number.NaN }]),
      state.settle('wrong', [{ kind: 'window', name: 'w', bucket: -1, delta: 1 }]),
      state.settle('wrong', [{ kind: 'renew', name: 'h', entry: 'e', amount: 1, ttlMs: 0 }]),
      state.settle('wrong', [{ kind: 'renew', name: 'h', entry: 'e', amount: 1, ttlMs: 86_400_001 }]),
      state.settle('wrong', [{ kind: 'release', name: 'h', entry: '' }]),
      state.settle('wrong', [{ kind: 'level', name: 'l', value: 0.5, version: 1, ttlMs: 1 }]),
      state.settle('wrong', [{ kind: 'level', name: 'l', value: 1, version: Number.NaN, ttlMs: 1 }]),
      state.settle('wrong', [{ kind: 'level', name: 'l', value: 1, version: 1, ttlMs: 1, replaces: 0.5 }]),
      state.set('v', 'text', Number.NaN),
      state.set('', 'text', 1),
      state.set('v', 7 as unknown as string, 1),
      state.setIfAbsent('v', 'text', -1),
      state.get(''),
      state.publish('', 'm'),
      state.publish('t', 7 as unknown as string),
      state.subscribe('', ignore, ignore),
    ];
    for (const failure of await Promise.all(calls.map(failureOf))) expect(failure.reason).toBe('refused');
  });
}

export function windowClaim(name: string, changes: Partial<WindowClaim> = {}): WindowClaim {
  return { kind: 'window', name, amount: 1, limit: 3, windowMs: HOUR, ...changes };
}

function heldClaim(name: string, entry: string, changes: Partial<HeldClaim> = {}): HeldClaim {
  return { kind: 'held', name, entry, amount: 1, limit: 3, ttlMs: HOUR, rule: 'fits', ...changes };
}

export async function outcomes(state: SharedState, tag: string, claims: readonly Claim[]): Promise<string> {
  const made: string[] = [];
  for (const claim of claims) made.push((await state.reserve(tag, [claim])).outcome);
  return made.join(' ');
}

export function limitStatesOf(reservation: Reservation): readonly LimitState[] {
  if (reservation.outcome === 'level-unknown') throw new Error(`the level ${reservation.level} is unknown`);
  return reservation.limitStates;
}

/** What is used, without taking anything: a claim of nothing is always admitted below an endless limit. */
export async function usedBy(state: SharedState, tag: string, claim: Claim): Promise<number | undefined> {
  const asking =
    claim.kind === 'window'
      ? { ...claim, amount: 0, limit: Number.MAX_SAFE_INTEGER }
      : { ...claim, entry: 'asking', amount: 0, limit: Number.MAX_SAFE_INTEGER };
  const limitStates = limitStatesOf(await state.reserve(tag, [asking]));
  if (claim.kind === 'held')
    await state.settle(tag, [{ kind: 'release', name: claim.name, entry: 'asking' }]);
  return limitStates[0]?.used;
}
