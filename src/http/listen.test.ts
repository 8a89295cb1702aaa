import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { createRecordingLog } from '../../test/doubles/recording-log.ts';
import { createSystemClock } from '../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { type ListenOptions, listen } from './listen.ts';

function open(fetch: ListenOptions['fetch'], changes: Partial<ListenOptions> = {}) {
  const { log, entries } = createRecordingLog();
  const base = { name: 'test', hostname: '127.0.0.1', port: 0, reusePort: false };
  const listening = listen({
    ...base,
    ...{ fetch, clock: createSystemClock(), secrets: createSystemSecrets(), log },
    ...changes,
  });
  return { listening, entries };
}

/** One kept connection, as a client with keep-alive has it. */
function keptConnection(url: string) {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  let received = '';
  let wake = () => {};
  socket.on('data', (data) => {
    received += data.toString();
    wake();
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  return {
    closed,
    send: (text: string) => void socket.write(text),
    async until(part: string): Promise<string> {
      while (!received.includes(part)) await new Promise<void>((resolve) => (wake = resolve));
      return received;
    },
  };
}

describe('a listening service', () => {
  test('closes connections with their answers while the process lacks descriptors', async () => {
    let isShort = false;
    const { listening } = open(() => new Response('hi'), { isShort: () => isShort });
    const connection = () => fetch(listening.url).then(({ headers }) => headers.get('connection'));
    expect(await connection()).not.toBe('close');
    isShort = true;
    expect(await connection()).toBe('close');
    await listening.drain(0);
  });

  test('lets a running stream finish on drain, accepts no new ones, and then ends', async () => {
    const release = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const { listening } = open(async () => {
      entered.resolve();
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue('first ');
          await release.promise;
          controller.enqueue('last');
          controller.close();
        },
      });
      return new Response(body);
    });
    const running = fetch(listening.url);
    await entered.promise;
    const drained = listening.drain(10_000);
    expect(await fetch(listening.url, { keepalive: false }).catch(() => 'refused')).toBe('refused');
    release.resolve();
    expect(await (await running).text()).toBe('first last');
    await drained;
    expect(await fetch(listening.url).catch(() => 'refused')).toBe('refused');
  });

  test('a connection from before the drain accepts no new call: an idle one closes, a busy one gets 503', async () => {
    const release = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const served: string[] = [];
    const { listening } = open(async (request) => {
      served.push(new URL(request.url).pathname);
      if (!request.url.endsWith('/slow')) return new Response('fine');
      entered.resolve();
      await release.promise;
      return new Response('slow but whole');
    });
    const idle = keptConnection(listening.url);
    idle.send('GET /quick HTTP/1.1\r\nhost: x\r\n\r\n');
    await idle.until('fine');
    const busy = keptConnection(listening.url);
    busy.send('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n');
    await entered.promise;
    const drained = listening.drain(10_000);
    idle.send('GET /idle-again HTTP/1.1\r\nhost: x\r\n\r\n');
    busy.send('GET /busy-again HTTP/1.1\r\nhost: x\r\n\r\n');
    release.resolve();
    expect(await busy.until('slow but whole')).toContain('200');
    await drained;
    await idle.closed;
    await busy.closed;
    expect(served).toEqual(['/quick', '/slow']);
  });

  test('retiring: no new connections, one more response on each open one, which then closes', async () => {
    const { listening } = open(() => new Response('fine'), { reusePort: true });
    const kept = keptConnection(listening.url);
    kept.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await kept.until('fine');
    const retired = listening.retire();
    expect(await (await fetch(listening.url).catch(() => new Response('refused'))).text()).toBe('refused');
    kept.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const answers = await kept.until('Connection: close');
    expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    await kept.closed;
    await retired;
    await listening.drain(0);
  });

  test('a call that does not end is aborted at the deadline, and this is logged', async () => {
    const entered = Promise.withResolvers<void>();
    const { listening, entries } = open(() => {
      entered.resolve();
      return new Promise<Response>(() => {});
    });
    const running = fetch(listening.url).catch(() => 'cut');
    await entered.promise;
    await listening.drain(50);
    expect(await running).toBe('cut');
    expect(entries.some((entry) => entry.message === 'calls were cut at the deadline')).toBe(true);
  });

  test('an error outside the service is a bare 500, and the next call is not affected', async () => {
    let calls = 0;
    const { listening, entries } = open(() => {
      calls += 1;
      if (calls === 1) throw new Error('secret detail');
      return new Response('fine');
    });
    const failed = await fetch(listening.url);
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toContain('secret detail');
    expect(await (await fetch(listening.url)).text()).toBe('fine');
    expect(entries[0]?.level).toBe('error');
    await listening.drain(0);
  });
});
