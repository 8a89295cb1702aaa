import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { LogEntry, LogLevel } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import {
  createLiveLog,
  createLogWatchers,
  type LogFilter,
  type LogWatcher,
  type LogWatchersParts,
} from './live-log.ts';

const ENTRY: LogEntry = {
  timestamp: '2030-01-01T00:00:00.000Z',
  level: 'warn',
  message: 'slow',
  context: { ms: 9 },
};

const ALL: LogFilter = { minLevel: null, contains: null };

const messagesOf = (lines: readonly LogEntry[] | null) => lines?.map(({ message }) => message) ?? null;

describe('the live log', () => {
  function given(publish: SharedState['publish']) {
    const clock = createManualClock();
    const live = createLiveLog({ sharedState: { publish } as SharedState, clock });
    return { clock, live };
  }

  test('while shared state is slow, entries past 200 in flight are dropped and counted', async () => {
    const waiting: (() => void)[] = [];
    const { live, clock } = given(() => new Promise((resolve) => void waiting.push(resolve)));
    for (let n = 0; n < 250; n += 1) live.take(ENTRY);
    expect(waiting).toHaveLength(200);
    expect(live.droppedCount()).toBe(50);
    for (const answer of waiting.splice(0)) answer();
    await clock.advance(0);
    live.take(ENTRY);
    expect(waiting).toHaveLength(1);
  });

  test('a failure to publish is not thrown and is followed by a pause, so that logging about it ends', async () => {
    let tries = 0;
    const { live, clock } = given(async () => {
      tries += 1;
      if (tries > 50) return;
      await Promise.resolve();
      // As an adapter that logs each of its failures would do.
      live.take(ENTRY);
      throw new Error('gone');
    });
    live.take(ENTRY);
    await clock.advance(0);
    // A few: entries about a failure are logged just before it arrives here.
    const few = tries;
    expect(few).toBeLessThan(5);
    for (let n = 0; n < 100; n += 1) live.take(ENTRY);
    await clock.advance(999);
    expect(tries).toBe(few);
    clock.step(-3_600_000);
    await clock.advance(1);
    live.take(ENTRY);
    expect(tries).toBe(few + 1);
  });
});

describe('watchers of the log', () => {
  function given(changes: Partial<LogWatchersParts> = {}) {
    const clock = createManualClock();
    const state = createInProcessState({ clock });
    const watchers = createLogWatchers({ sharedState: state, clock, ...changes });
    async function watch(filter: Partial<LogFilter> = {}): Promise<LogWatcher> {
      const watching = await watchers.watch({ ...ALL, ...filter });
      if (watching.outcome !== 'watching') throw new Error(watching.outcome);
      return watching.watcher;
    }
    async function say(message: string, level: LogLevel = 'info', context: LogEntry['context'] = {}) {
      const entry: LogEntry = { timestamp: new Date(clock.now()).toISOString(), level, message, context };
      await state.publish('logs', JSON.stringify(entry));
    }
    return { clock, state, watchers, watch, say };
  }

  test('P-13 lines logged together arrive together, in order, and a waiting watcher is woken', async () => {
    const { clock, watch, say } = given();
    const watcher = await watch();
    const next = watcher.next();
    await say('one');
    await say('two');
    await clock.advance(25);
    expect(messagesOf(await next)).toEqual(['one', 'two']);
    const later = watcher.next();
    await say('three');
    await clock.advance(25);
    expect(messagesOf(await later)).toEqual(['three']);
  });

  test('P-13 a watcher that does not read keeps the newest 500 lines and receives the number dropped', async () => {
    const { clock, watch, say } = given();
    const [slow, quick] = [await watch(), await watch()];
    for (let n = 0; n < 1_200; n += 1) {
      await say(`line ${n}`);
      if (n % 300 === 299) {
        await clock.advance(25);
        expect(await quick.next()).toHaveLength(300);
      }
    }
    const lines = (await slow.next()) ?? [];
    expect(lines).toHaveLength(501);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      message: '700 lines were lost here: they came faster than they were read',
      context: { lostLines: 700 },
    });
    expect(messagesOf(lines.slice(1, 2))).toEqual(['line 700']);
    await say('after');
    await clock.advance(25);
    expect(messagesOf(await slow.next())).toEqual(['after']);
  });

  test('P-13 large lines are bounded by their length, and one alone always passes', async () => {
    const { clock, watch, say } = given();
    const watcher = await watch();
    for (let n = 0; n < 20; n += 1) await say(`${n} ${'x'.repeat(30_000)}`);
    await clock.advance(25);
    const lines = (await watcher.next()) ?? [];
    expect(lines.length).toBeLessThan(10);
    expect(lines[0]?.context.lostLines).toBe(20 - (lines.length - 1));
  });

  test('P-13 a filter without matches loses nothing', async () => {
    const { clock, watch, say } = given();
    const watcher = await watch({ minLevel: 'error', contains: 'Rare' });
    for (let n = 0; n < 600; n += 1) await say('common', 'error');
    await say('rare', 'warn');
    await say('x', 'error', { what: 'very RARE' });
    await clock.advance(25);
    expect(messagesOf(await watcher.next())).toEqual(['x']);
  });

  test('A-8 watchers see the lines of one service, request or company alone', async () => {
    const { clock, watch, say } = given();
    const watched = {
      gateway: await watch({ service: 'gateway' }),
      shared: await watch({ service: 'shared' }),
      request: await watch({ requestId: 'req_1' }),
      company: await watch({ service: 'gateway', companyId: 'c1' }),
    };
    await say('one', 'info', { service: 'gateway', requestId: 'req_1' });
    await say('two', 'info', { service: 'gateway', companyId: 'c1' });
    await say('three', 'info', { service: 'provider.example', requestId: 'req_1', companyId: 'c1' });
    await say('four', 'info');
    await clock.advance(25);
    expect(messagesOf(await watched.gateway.next())).toEqual(['one', 'two']);
    expect(messagesOf(await watched.shared.next())).toEqual(['three', 'four']);
    expect(messagesOf(await watched.request.next())).toEqual(['one', 'three']);
    expect(messagesOf(await watched.company.next())).toEqual(['two']);
  });

  test('P-13 a message that is not an entry is skipped', async () => {
    const { clock, state, watch, say } = given();
    const watcher = await watch();
    const almost = { timestamp: 'x', level: 'info', message: 'm', context: {} };
    for (const odd of ['', '{', 'null', '7', '{}', JSON.stringify(almost), '{"level":"loud"}']) {
      await state.publish('logs', odd);
    }
    await say('whole');
    await clock.advance(25);
    expect(messagesOf(await watcher.next())).toEqual(['whole']);
  });

  test('P-13 the number of watchers is bounded, one that disconnects frees its slot, and closing ends all of them', async () => {
    const { clock, watchers, watch } = given({ maxWatchers: 2 });
    const [first, second] = [await watch(), await watch()];
    expect(await watchers.watch(ALL)).toEqual({ outcome: 'too-many', most: 2 });
    const waiting = first.next();
    first.close();
    expect(await waiting).toBeNull();
    expect(await first.next()).toBeNull();
    const third = await watch();
    await watchers.close();
    expect([await second.next(), await third.next()]).toEqual([null, null]);
    expect([watchers.count(), clock.pendingTimers()]).toEqual([0, 0]);
  });

  test('P-13 a dropped subscription is reported to all watchers; one that cannot be opened admits no watcher', async () => {
    let cut: () => void = () => {};
    let isUnavailable = true;
    const subscribe: SharedState['subscribe'] = async (_topic, _onMessage, onGap) => {
      if (isUnavailable) throw new Error('away');
      cut = onGap;
      return { close: async () => {} };
    };
    const { clock, watchers, watch } = given({ sharedState: { subscribe } });
    const refused = await watchers.watch(ALL).catch((error: Error) => error.message);
    expect([refused, watchers.count()]).toEqual(['away', 0]);
    isUnavailable = false;
    const watcher = await watch({ minLevel: 'error' });
    cut();
    await clock.advance(25);
    expect(messagesOf(await watcher.next())?.[0]).toStartWith('lines may be missing here');
  });
});
