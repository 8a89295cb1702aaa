import { afterEach, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { until } from '../doubles/until.ts';
import { createRawUpstreams, failed, failureOf, textOf } from './http-upstream-calls.ts';
import { type RawUpstream, STREAM_HEAD } from './raw-upstream.ts';

const { setUp, stopAll } = createRawUpstreams();
afterEach(stopAll);

describe('a body', () => {
  test('is not held to the time of the first byte', async () => {
    const sockets: { write(text: string): unknown }[] = [];
    const { clock, send } = setUp((socket) => {
      sockets.push(socket);
      socket.write(STREAM_HEAD);
    });
    const { body } = await send();
    await clock.advance(600_000);
    sockets[0]?.write('0\r\n\r\n');
    expect(await textOf(body)).toBe('hello');
  });

  test.each([
    ['in the middle of chunks', STREAM_HEAD],
    ['before its announced length', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello'],
  ])('that breaks off %s errors, and is never whole', async (_, head) => {
    const { send } = setUp((socket) => {
      socket.write(head);
      setImmediate(() => socket.end());
    });
    const { status, body } = await send();
    expect(status).toBe(200);
    expect(await textOf(body).catch(() => 'errored')).toBe('errored');
  });

  test('the runtime prints nothing about bodies that break off', async () => {
    const script = `${import.meta.dir}/broken-body-process.ts`;
    const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'pipe' });
    const printed = await Promise.all([child.stdout, child.stderr].map((output) => textOf(output)));
    expect(printed).toEqual(['errored\n', '']);
  });
});

describe('ending a call', () => {
  const soon = async (provider: RawUpstream, from: number) =>
    expect((await provider.closedAt) - from).toBeLessThan(100);

  test('before the answer: the provider sees it at once', async () => {
    const { provider, clock, caller, send } = setUp();
    const sending = failureOf(send());
    await until(() => provider.received() !== '');
    const from = performance.now();
    caller.abort();
    expect(await sending).toEqual(failed('aborted'));
    await soon(provider, from);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('in the middle of the body, read or unread: the provider sees it at once', async () => {
    for (const isRead of [true, false]) {
      const { provider, caller, send } = setUp((socket) => socket.write(STREAM_HEAD));
      const { body } = await send();
      const reader = body.getReader();
      if (isRead) await reader.read();
      Bun.gc(true);
      const from = performance.now();
      caller.abort();
      await soon(provider, from);
      const rest = async () => {
        for (;;) if ((await reader.read()).done) return 'whole';
      };
      expect(await rest().catch(() => 'errored')).toBe('errored');
    }
  });

  test('by cancelling the body: the provider sees it at once', async () => {
    const { provider, send } = setUp((socket) => socket.write(STREAM_HEAD));
    const { body } = await send();
    const from = performance.now();
    await body.cancel();
    await soon(provider, from);
  });

  test('before it began: nobody is called', async () => {
    const { provider, caller, send } = setUp();
    caller.abort();
    expect(await failureOf(send())).toEqual(failed('aborted'));
    expect(provider.connections()).toBe(0);
  });
});
test('a slow reader holds the provider back: of 200 MB, few are pulled', async () => {
  const TOTAL = 200 * 1024 * 1024;
  const chunk = new Uint8Array(64 * 1024);
  let sent = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    const pump = () => {
      while (sent < TOTAL) {
        sent += chunk.length;
        if (!socket.write(chunk)) return void socket.once('drain', pump);
      }
    };
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${TOTAL}\r\n\r\n`);
      pump();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { send } = setUp();
  const reader = (await send({}, `http://127.0.0.1:${port}`)).body.getReader();
  for (let got = 0; got < 1024 * 1024; ) got += (await reader.read()).value?.length ?? 0;
  // Until what is sent stays the same: the buffers between the two are full.
  let before = -1;
  await until(() => {
    const isSettled = before === sent;
    before = sent;
    return isSettled;
  });
  expect(sent).toBeLessThan(32 * 1024 * 1024);
  await reader.cancel();
  server.close();
}, 30_000);
