import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { CreditHold } from './claims.ts';
import { createLimits, type KeyLimits, type Limits } from './limits.ts';

const key: KeyLimits = {
  id: 'key-1',
  companyId: 'company-1',
  requestsPerMinute: 1_000_000,
  tokensPerMinute: 1_000_000_000,
  maxCallsInFlight: 1_000,
};
const BALANCE = 100;
const hold: CreditHold = {
  name: 'balance',
  level: 'balance',
  amount: 10,
  maxAgeMs: 5_000,
  graceMs: 600_000,
  read: async () => ({ name: 'balance', value: BALANCE, version: 1, ttlMs: 600_000 }),
};

/** That each process subscribes to. */
const TOPICS = 2;

/** A state that forgets everything at once, as by FLUSHALL; messages still arrive. */
function flushableState(clock: ReturnType<typeof createManualClock>) {
  let content = createInProcessState({ clock });
  const messages = createInProcessState({ clock });
  const away = { is: false };
  const gaps: (() => void)[] = [];
  /** Messages to the process that was opened last, while it receives none; null while it does. */
  const late: { messages: (() => void)[] | null } = { messages: null };
  const orUnavailable = <Result>(work: () => Promise<Result>) =>
    away.is ? Promise.reject(new Error('away')) : work();
  const state: SharedState = {
    ...messages,
    get: (key) => orUnavailable(() => content.get(key)),
    setIfAbsent: (key, value, ttlMs) => orUnavailable(() => content.setIfAbsent(key, value, ttlMs)),
    reserve: (tag, claims) => orUnavailable(() => content.reserve(tag, claims)),
    settle: (tag, settlements) => orUnavailable(() => content.settle(tag, settlements)),
    subscribe(topic, onMessage, onGap) {
      gaps.push(onGap);
      const at = gaps.length;
      const heard = (message: string) => {
        const isLast = at > gaps.length - TOPICS;
        if (late.messages === null || !isLast) onMessage(message);
        else late.messages.push(() => onMessage(message));
      };
      return messages.subscribe(topic, heard, onGap);
    },
  };
  return {
    state,
    away,
    late,
    flush() {
      content = createInProcessState({ clock });
    },
    reconnect() {
      for (const onGap of gaps) onGap();
    },
  };
}

async function given(processes: number) {
  const clock = createManualClock(1_000_000);
  const shared = flushableState(clock);
  const all: Limits[] = [];
  for (let made = 0; made < processes; made += 1) {
    const ownState = createInProcessState({ clock });
    const parts = { sharedState: shared.state, ownState, clock, log: createSilentLog() };
    const limits = createLimits({ ...parts, addressRequestsPerMinute: 0 });
    await limits.listen(`process-${made}`);
    all.push(limits);
  }
  let calls = 0;
  function start(at: number) {
    calls += 1;
    return (all[at] as Limits).reserve(key, `call-${calls}`, 0, [hold]);
  }
  async function begin(at: number) {
    const started = await start(at);
    if (started.outcome !== 'admitted') throw new Error(`refused: ${started.outcome}`);
    return started.reservation;
  }
  async function held(name: string) {
    const look = { entry: 'look', amount: 0, ttlMs: 1, rule: 'room', limit: 1_000_000 } as const;
    const looked = await shared.state.reserve(key.companyId, [{ kind: 'held', name, ...look }]);
    return looked.outcome === 'level-unknown' ? undefined : looked.limitStates[0]?.used;
  }
  return { ...shared, clock, all, start, begin, held };
}

describe('G-29 shared state that has lost the holds', () => {
  test('the first call after the loss waits until every process has stored its holds again', async () => {
    const { begin, start, flush, held, all, clock } = await given(3);
    for (let call = 0; call < 10; call += 1) await begin(call % 3);
    flush();
    const next = start(0);
    await clock.advance(100);
    expect(await next).toMatchObject({ outcome: 'held', level: BALANCE });
    expect(await held('balance')).toBe(100);
    expect(await held('calls key-1')).toBe(10);
    expect(all.map((limits) => limits.restoredHolds())).toEqual([8, 6, 6]);
  });

  test('a process that is notified late is waited for', async () => {
    const { begin, start, flush, held, clock, late } = await given(3);
    for (let call = 0; call < 10; call += 1) await begin(call % 3);
    late.messages = [];
    flush();
    const next = start(0);
    await clock.advance(1_900);
    expect(await held('balance')).toBe(70);
    const [messages, isStill] = [late.messages, Symbol()];
    late.messages = null;
    expect(await Promise.race([next, Promise.resolve(isStill)])).toBe(isStill);
    for (const deliver of messages) deliver();
    await clock.advance(0);
    expect(await next).toMatchObject({ outcome: 'held', level: BALANCE });
    expect(await held('balance')).toBe(100);
  });

  test('another loss while the first one is restored is waited for as well', async () => {
    const { begin, start, flush, held, clock } = await given(3);
    for (let call = 0; call < 10; call += 1) await begin(call % 3);
    flush();
    const first = start(1);
    await clock.advance(50);
    flush();
    const second = start(0);
    await clock.advance(100);
    await clock.advance(100);
    expect(await first).toMatchObject({ outcome: 'held', level: BALANCE });
    expect(await second).toMatchObject({ outcome: 'held', level: BALANCE });
    expect(await held('balance')).toBe(100);
  });

  test('no level is stored where holds were lost after they were found complete', async () => {
    const { begin, all, flush, clock } = await given(2);
    for (let call = 0; call < 10; call += 1) await begin(call % 2);
    flush();
    const losses = [flush];
    const read = () => {
      losses.pop()?.();
      return hold.read();
    };
    const started = all[0]?.reserve(key, 'call', 0, [{ ...hold, read }]);
    await clock.advance(100);
    await clock.advance(100);
    expect(await started).toMatchObject({ outcome: 'held', level: BALANCE });
  });

  test('a process that never answers is waited for during two seconds', async () => {
    const { begin, start, flush, clock, late } = await given(2);
    for (let call = 0; call < 10; call += 1) await begin(call % 2);
    late.messages = [];
    flush();
    const next = start(0);
    await clock.advance(2_000);
    expect((await next).outcome).toBe('admitted');
  });

  test('a commit between reading a level and setting it counts', async () => {
    const { all, flush, clock, state } = await given(1);
    const committed = { value: BALANCE, version: 1 };
    const level = () => ({ name: 'balance', ...committed, ttlMs: 600_000 });
    const settle = state.settle.bind(state);
    // Another process commits after the read: the level that its commit leaves is not stored yet, and nothing is changed by it.
    state.settle = async (tag, settlements) => {
      if (committed.version === 1) Object.assign(committed, { value: 0, version: 2 });
      await settle(tag, settlements);
    };
    flush();
    const started = all[0]?.reserve(key, 'call', 0, [{ ...hold, read: async () => level() }]);
    await clock.advance(100);
    expect(await started).toMatchObject({ outcome: 'not-payable', level: 0 });
  });

  test('a call that ends after the loss sets no level that others could be admitted on', async () => {
    const { begin, start, flush, held, clock } = await given(2);
    const calls = [];
    for (let call = 0; call < 10; call += 1) calls.push(await begin(call % 2));
    flush();
    await calls[0]?.end(0, [{ name: 'balance', value: BALANCE, version: 2, ttlMs: 600_000 }]);
    const next = start(1);
    await clock.advance(100);
    expect((await next).outcome).toBe('admitted');
    expect(await held('balance')).toBe(100);
    expect((await start(0)).outcome).toBe('held');
  });

  test('a level that is missing for other reasons causes no wait', async () => {
    const { begin, clock, all } = await given(2);
    await begin(0);
    await clock.advance(20 * 60_000);
    await begin(1);
    expect(all.map((limits) => limits.restoredHolds())).toEqual([0, 0]);
  });

  test('a lost connection restores them, and so does the renewal of each call', async () => {
    const { begin, flush, reconnect, held, clock } = await given(2);
    await Promise.all([begin(0), begin(1), begin(1)]);
    flush();
    reconnect();
    await clock.advance(0);
    expect(await held('balance')).toBe(30);
    flush();
    expect(await held('balance')).toBe(0);
    await clock.advance(30_000);
    expect(await held('balance')).toBe(30);
  });

  test('an ended call is not held again, nor its slot in flight while its commit is pending', async () => {
    const { begin, reconnect, held, clock } = await given(1);
    const [ended, journaled] = [await begin(0), await begin(0)];
    const committed = Promise.withResolvers<[]>();
    await ended.end(0, []);
    await journaled.end(0, committed.promise);
    reconnect();
    await clock.advance(30_000);
    expect([await held('balance'), await held('calls key-1')]).toEqual([10, 0]);
    committed.resolve([]);
    await clock.advance(0);
    reconnect();
    await clock.advance(30_000);
    expect([await held('balance'), await held('calls key-1')]).toEqual([0, 0]);
  });

  test('calls admitted while it was unavailable are held in it once it answers', async () => {
    const { begin, away, reconnect, held, clock } = await given(1);
    away.is = true;
    const call = await begin(0);
    away.is = false;
    await clock.advance(1_000);
    expect(await held('balance')).toBe(0);
    reconnect();
    await clock.advance(0);
    expect(await held('balance')).toBe(10);
    await call.end(0, []);
    await clock.advance(0);
    expect([await held('balance'), await held('calls key-1')]).toEqual([0, 0]);
  });

  test('hundreds of running calls are restored in steps of a size that shared state accepts', async () => {
    const { flush, reconnect, held, clock, all } = await given(1);
    const cheap = { ...hold, amount: 0 };
    for (let call = 0; call < 450; call += 1) {
      const started = await all[0]?.reserve(key, `many-${call}`, 0, [cheap]);
      expect(started?.outcome).toBe('admitted');
    }
    flush();
    reconnect();
    await clock.advance(0);
    expect(await held('calls key-1')).toBe(450);
  });
});
