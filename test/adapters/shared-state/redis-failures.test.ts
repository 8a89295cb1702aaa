import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { Socket } from 'bun';
import { createSystemClock } from '../../../src/adapters/clock/system-clock.ts';
import { openRedisState } from '../../../src/adapters/shared-state/redis.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { Log } from '../../../src/ports/log.ts';
import type { SharedState } from '../../../src/ports/shared-state.ts';
import { failureOf, ignore } from '../../contracts/shared-state.contract.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { until } from '../../doubles/until.ts';
import { type PausableRedis, startPausableRedis } from './pausable-redis.ts';

const TIMEOUT_MS = 300;
const log = createSilentLog();
const isInstalled = Bun.which('redis-server') !== null;
if (!isInstalled && process.env.CI)
  throw new Error('these tests need redis-server on the PATH: install Redis');

describe.skipIf(!isInstalled)('Redis down, silent or restarted (skipped without redis-server)', () => {
  let server: PausableRedis;
  const opened: SharedState[] = [];
  beforeAll(async () => {
    server = await startPausableRedis();
  });
  afterEach(async () => {
    server.resume();
    for (const state of opened.splice(0)) await state.close();
  });
  afterAll(() => server.remove());

  async function open(changes: { log?: Log; clock?: Pick<Clock, 'now' | 'after'> } = {}) {
    const state = await openRedisState({ url: server.url, log, timeoutMs: TIMEOUT_MS, ...changes });
    opened.push(state);
    return state;
  }

  const claim = { kind: 'window', name: 'rpm', amount: 1, limit: 1_000, windowMs: 3_600_000 } as const;
  const works = (state: SharedState) =>
    state.check().then(
      () => true,
      () => false,
    );
  async function usedIn(state: SharedState, tag: string): Promise<number | undefined> {
    const asked = await state.reserve(tag, [{ ...claim, amount: 0 }]);
    return asked.outcome === 'reserved' ? asked.limitStates[0]?.used : undefined;
  }
  const killConnections = () => server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

  test('a connection that was closed while idle is reopened without a failed call', async () => {
    let losses = 0;
    const state = await open({ log: { ...log, warn: () => (losses += 1) } });
    await state.reserve('cut', [claim]);
    await killConnections();
    await until(() => losses === 1);
    expect(await state.reserve('cut', [claim])).toMatchObject({ limitStates: [{ used: 2 }] });
  });

  test('a claim in progress when the connection is closed fails and is not sent again', async () => {
    const state = await open();
    await state.reserve('under way', [claim]);
    await server.command('CLIENT', 'PAUSE', '60000', 'WRITE');
    const failing = failureOf(state.reserve('under way', [claim]));
    const blocked = async () => String(await server.command('INFO', 'clients')).includes('blocked_clients:1');
    await until(blocked);
    await killConnections();
    expect(await failing).toMatchObject({ reason: 'unavailable' });
    await server.command('CLIENT', 'UNPAUSE');
    expect(await usedIn(state, 'under way')).toBe(1);
  });

  test('an unresponsive server fails every call in time, then at once, and is used again when it answers', async () => {
    const state = await open();
    await state.reserve('silent', [claim]);
    server.pause();
    const begun = performance.now();
    const calls = [state.reserve('silent', [claim]), state.get('k'), state.publish('t', 'm'), state.check()];
    const failures = await Promise.all(calls.map((call) => failureOf(call)));
    expect(failures.map(({ reason }) => reason)).toEqual(['time-out', 'time-out', 'time-out', 'time-out']);
    expect(failures[0]?.message).toContain(`127.0.0.1:${server.port} did not answer within ${TIMEOUT_MS} ms`);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(TIMEOUT_MS);
    // Calls wait for the first attempt to reconnect, and not after it.
    expect((await failureOf(state.check())).reason).toBe('unavailable');
    for (let count = 0; count < 100; count += 1) {
      expect((await failureOf(state.check())).reason).toBe('unavailable');
    }
    server.resume();
    await until(() => works(state));
    // The server may have run the one it had received already, and nothing else.
    expect([1, 2]).toContain((await usedIn(state, 'silent')) ?? 0);
  });

  test('an unresponsive server is detected by an idle subscriber too, which gets a gap', async () => {
    let losses = 0;
    const state = await open({ log: { ...log, warn: () => (losses += 1) } });
    const heard: string[] = [];
    let gaps = 0;
    await state.subscribe(
      'news',
      (message) => heard.push(message),
      () => (gaps += 1),
    );
    server.pause();
    // No commands are sent: the subscriber's connection and the other one detect the failure by themselves.
    await until(() => losses === 2);
    server.resume();
    await until(async () => gaps === 1 && (await works(state)));
    await state.publish('news', 'after');
    await until(() => heard.length === 1);
    expect(heard).toEqual(['after']);
  });

  test('a server that restarts empty is used again, subscriptions too', async () => {
    const state = await open();
    await state.reserve('away', [claim]);
    let gaps = 0;
    const heard: string[] = [];
    await state.subscribe(
      'news',
      (message) => heard.push(message),
      () => (gaps += 1),
    );
    await server.kill();
    const failures = new Set<string>();
    for (let count = 0; count < 20; count += 1)
      failures.add((await failureOf(state.reserve('away', [claim]))).reason);
    expect([...failures]).toEqual(['unavailable']);
    expect((await failureOf(state.subscribe('more', ignore, ignore))).reason).toBe('unavailable');
    await server.start();
    await until(async () => (await works(state)) && gaps === 1);
    expect(await usedIn(state, 'away')).toBe(0);
    await state.publish('news', 'm');
    await until(() => heard.length === 1);
    expect(gaps).toBe(1);
  });

  test('a reply to another command fails those in progress, and the connection is reopened', async () => {
    const proxy = startInjectingProxy(Number(new URL(server.url).port));
    try {
      const state = await openRedisState({ url: proxy.url, log, timeoutMs: TIMEOUT_MS });
      opened.push(state);
      await state.reserve('out of step', [claim]);
      proxy.injectOnce('+PONG\r\n');
      const both = [state.reserve('out of step', [claim]), state.reserve('out of step', [claim])];
      for (const failing of both) {
        expect(await failureOf(failing)).toMatchObject({
          reason: 'unavailable',
          message: expect.stringContaining('the reply of another command'),
        });
      }
      // Both were counted: what is in doubt is not sent again.
      expect(await usedIn(state, 'out of step')).toBe(3);
    } finally {
      proxy.close();
    }
  });

  test('replies that arrived while our own process was busy do not count as a time-out', async () => {
    let losses = 0;
    const state = await open({ log: { ...log, warn: () => (losses += 1) } });
    const claiming = state.reserve('busy', [claim]);
    Bun.sleepSync(TIMEOUT_MS * 2);
    expect((await claiming).outcome).toBe('reserved');
    for (let turn = 0; turn < 5; turn += 1) {
      Bun.sleepSync(30);
      await state.check();
    }
    expect(losses).toBe(0);
  });

  test('pauses between attempts grow to 2 s, and closing leaves no timer', async () => {
    const clock = createHurriedClock({ leaveAlone: [TIMEOUT_MS, 5 * TIMEOUT_MS], most: 8 });
    const state = await open({ clock });
    await server.kill();
    await until(() => clock.hurried.length === 8);
    expect(clock.hurried).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
    expect(clock.pending.size).toBeGreaterThan(0);
    await state.close();
    expect(clock.pending.size).toBe(0);
    await server.start();
  });
});

/** Real time for the delays named; the others are noted and run at once, until there were enough of them. */
function createHurriedClock({ leaveAlone, most }: { leaveAlone: number[]; most: number }) {
  const system = createSystemClock();
  const hurried: number[] = [];
  const pending = new Set<object>();
  return {
    hurried,
    pending,
    now: system.uptimeMs,
    after(delayMs: number, work: () => void) {
      const isHurried = !leaveAlone.includes(delayMs);
      if (isHurried) hurried.push(delayMs);
      const entry = {};
      pending.add(entry);
      const run = () => {
        if (pending.delete(entry)) work();
      };
      if (!isHurried) system.after(delayMs, run);
      else if (hurried.length < most) setImmediate(run);
      return { cancel: () => void pending.delete(entry) };
    },
  };
}

/** Passes everything on, and before the server's next reply what is to be injected. */
function startInjectingProxy(port: number) {
  interface Side {
    peer: Socket<Side> | null;
    readonly early: Uint8Array[];
    readonly isServer: boolean;
  }
  let injected = '';
  const handlers = {
    data({ data }: Socket<Side>, bytes: Uint8Array) {
      if (data.peer === null) return void data.early.push(bytes.slice());
      if (data.isServer && injected !== '') {
        data.peer.write(injected);
        injected = '';
      }
      data.peer.write(bytes);
    },
    close: ({ data }: Socket<Side>) => void data.peer?.end(),
    error() {},
  };
  const listener = Bun.listen<Side>({
    ...{ hostname: '127.0.0.1', port: 0 },
    socket: {
      ...handlers,
      async open(socket) {
        socket.data = { peer: null, early: [], isServer: false };
        const data: Side = { peer: socket, early: [], isServer: true };
        const target = { hostname: '127.0.0.1', port, data, socket: handlers };
        const peer = await Bun.connect<Side>(target).catch(() => null);
        if (peer === null) return void socket.terminate();
        for (const bytes of socket.data.early.splice(0)) peer.write(bytes);
        socket.data.peer = peer;
      },
    },
  });
  return {
    url: `redis://127.0.0.1:${listener.port}`,
    injectOnce(text: string) {
      injected = text;
    },
    close: () => listener.stop(true),
  };
}
