import { afterEach, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import {
  bytesOf,
  type CreateUpstream,
  createRawUpstreams,
  failed,
  failureOf,
} from '../adapters/model-upstream/http-upstream-calls.ts';
import { STREAM_HEAD } from '../adapters/model-upstream/raw-upstream.ts';
import { until } from '../doubles/until.ts';
import { textIn } from '../doubles/upstream-body.ts';

const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';

/** What every client of providers over HTTP guarantees. */
export function modelUpstreamContract(name: string, create: CreateUpstream): void {
  describe(`${name}: calls over HTTP`, () => callsContract(create));
  describe(`${name}: bodies over HTTP`, () => bodiesContract(create));
}

function callsContract(create: CreateUpstream): void {
  const { setUp, stopAll } = createRawUpstreams(create);
  afterEach(stopAll);

  describe('what is sent', () => {
    test('the bytes unchanged, to the endpoint, with our headers before the client’s', async () => {
      const { provider, send } = setUp((socket) => socket.write(WHOLE));
      const body = bytesOf('{ "model":"x",  "n": 9007199254740993 }');
      const headers = { 'x-request-id': 'r1', 'accept-encoding': 'br', 'user-agent': 'curl' };
      await send({ body, headers });
      const [head = '', sent] = provider.received().split('\r\n\r\n');
      const [line, ...rest] = head.toLowerCase().split('\r\n');
      expect(line).toBe('post /v1/chat/completions http/1.1');
      expect(rest.sort()).toEqual(
        [
          'accept-encoding: identity',
          'accept: */*',
          'authorization: bearer sk-1',
          'connection: keep-alive',
          `content-length: ${body.length}`,
          'content-type: application/json',
          `host: 127.0.0.1:${provider.port}`,
          'user-agent: turnpike',
          'x-request-id: r1',
        ].sort(),
      );
      expect(sent).toBe(new TextDecoder().decode(body));
    });

    test('no authorization where the target has no key', async () => {
      const { provider, upstream, caller } = setUp((socket) => socket.write(WHOLE));
      const target = { id: 't', baseUrl: provider.baseUrl, model: 'm', apiKey: null };
      const { signal } = caller;
      await upstream.send(target, { endpoint: 'embeddings', body: bytesOf('{}'), headers: {}, signal });
      expect(provider.received()).toStartWith('POST /v1/embeddings ');
      expect(provider.received().toLowerCase()).not.toContain('authorization');
    });

    test('a read or a deletion of a response stored by the provider, with its path and query', async () => {
      const { provider, upstream, caller } = setUp((socket) => socket.write(WHOLE));
      const target = { id: 't', baseUrl: provider.baseUrl, model: 'm', apiKey: 'sk-1' };
      const call = { endpoint: 'responses', body: bytesOf(''), headers: {}, signal: caller.signal } as const;
      const path = '/resp_1/input_items';
      const read = await upstream.send(target, {
        ...call,
        stored: { method: 'GET', path, query: 'limit=5' },
      });
      expect(await textIn(read.body)).toBe('hi');
      expect(provider.received()).toStartWith('GET /v1/responses/resp_1/input_items?limit=5 HTTP/1.1\r\n');
      await upstream.send(target, { ...call, stored: { method: 'DELETE', path: '/resp_1', query: '' } });
      expect(provider.received()).toContain('DELETE /v1/responses/resp_1 HTTP/1.1\r\n');
      expect(provider.received().match(/authorization: Bearer sk-1/gi)).toHaveLength(2);
    });

    test('one connection serves call after call', async () => {
      const { provider, clock, upstream, send } = setUp((socket) => socket.write(WHOLE));
      for (let call = 0; call < 5; call += 1) expect(await textIn((await send()).body)).toBe('hi');
      expect(provider.connections()).toBe(1);
      upstream.close();
      expect(clock.pendingTimers()).toBe(0);
    });

    test('no HTTP request for a target without an address', async () => {
      const { send } = setUp();
      expect(await send({}, null).catch(String)).toContain('embedded models');
    });
  });

  describe('what comes back', () => {
    test('the status as soon as it arrives, and the content type in one form', async () => {
      const head =
        'HTTP/1.1 429 No\r\nContent-Type: Application/JSON ; charset=utf-8\r\ncontent-length: 9\r\n\r\n';
      const { send } = setUp((socket) => socket.write(head));
      expect(await send()).toMatchObject({ status: 429, contentType: 'application/json' });
    });

    test.each([
      ['retry-after: 7', 7_000],
      ['Retry-After: 0.25', 250],
      ['retry-after: 7\r\nretry-after-ms: 1500', 1_500],
      ['retry-after-ms: soon\r\nretry-after: 3', 3_000],
      ['retry-after: 999999999', 86_400_000],
      ['retry-after: Thu, 01 Jan 1970 00:00:00 GMT', 0],
      ['retry-after: later', null],
      ['x-none: 1', null],
    ])('Retry-After, where it is given: %s', async (header, waitMs) => {
      const head = `HTTP/1.1 429 No\r\n${header}\r\ncontent-length: 0\r\n\r\n`;
      const { send } = setUp((socket) => socket.write(head));
      expect((await send()).retryAfterMs ?? null).toBe(waitMs);
    });

    test('a redirect is not followed (G-36): the key is not sent elsewhere', async () => {
      const other = setUp((socket) => socket.write(WHOLE)).provider;
      const location = `location: ${other.baseUrl}\r\ncontent-length: 4\r\n\r\ngone`;
      const { send } = setUp((socket) => socket.write(`HTTP/1.1 307 Moved\r\n${location}`));
      const { status, body } = await send();
      expect([status, await textIn(body), other.connections()]).toEqual([307, 'gone', 0]);
    });

    test('a body that is compressed although not requested is decompressed', async () => {
      const packed = Bun.gzipSync('hello '.repeat(1_000));
      const { send } = setUp((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`);
        socket.write(packed);
      });
      expect(await textIn((await send()).body)).toBe('hello '.repeat(1_000));
    });
  });

  describe('what fails', () => {
    test('refused, or no TLS where it should be: connect', async () => {
      const { provider, clock, send } = setUp((socket) => socket.write(WHOLE));
      expect(await failureOf(send({}, provider.baseUrl.replace('http:', 'https:')))).toEqual(
        failed('connect'),
      );
      provider.stop();
      expect(await failureOf(send())).toEqual(failed('connect'));
      expect(clock.pendingTimers()).toBe(0);
    });

    test('closed before an answer: broken', async () => {
      const { clock, send } = setUp((socket) => socket.end());
      expect(await failureOf(send())).toEqual(failed('broken'));
      expect(clock.pendingTimers()).toBe(0);
    });

    test.each([
      ['in ten minutes (G-42)', {}, false, 600_000],
      ['in two minutes where it is streamed (G-42)', {}, true, 120_000],
      ['in its target’s own, shorter time', { timeoutMs: 700 }, true, 700],
      ['in its target’s own, longer time', { timeoutMs: 700_000 }, false, 700_000],
    ])('no answer %s: aborted, and its connection closed', async (_, own, isStream, endsAtMs) => {
      const { provider, clock, upstream, caller } = setUp();
      const target = { id: 't', baseUrl: provider.baseUrl, model: 'm', apiKey: null, ...own };
      const { signal } = caller;
      const call = { endpoint: 'embeddings', body: bytesOf('{}'), headers: {}, signal, isStream } as const;
      let outcome: unknown = null;
      const sending = upstream.send(target, call).catch((failure: unknown) => {
        outcome = failure;
      });
      await until(() => provider.received() !== '');
      await clock.advance(endsAtMs - 1);
      expect(outcome).toBeNull();
      await clock.advance(1);
      await sending;
      expect(outcome).toMatchObject({ ...failed('first-byte-time-out'), limitMs: endsAtMs });
      await provider.closed;
      expect(clock.pendingTimers()).toBe(0);
    });
  });
}

function bodiesContract(create: CreateUpstream): void {
  const { setUp, stopAll } = createRawUpstreams(create);
  afterEach(stopAll);

  describe('a body', () => {
    test('fails as idle when no data arrives for that long', async () => {
      const { clock, send } = setUp((socket) => socket.write(STREAM_HEAD));
      const { body } = await send();
      expect(await body.read(1_000)).toBeInstanceOf(Uint8Array);
      const reading = Promise.resolve(body.read(2_000));
      let read: unknown = 'nothing yet';
      reading.then((result) => {
        read = result;
      });
      await clock.advance(1_999);
      expect(read).toBe('nothing yet');
      await clock.advance(1);
      expect(await reading).toBe('idle');
      body.cancel();
      expect(clock.pendingTimers()).toBe(0);
    });

    test('is not limited by the time-out of the first byte', async () => {
      const sockets: { write(text: string): unknown }[] = [];
      const { clock, send } = setUp((socket) => {
        sockets.push(socket);
        socket.write(STREAM_HEAD);
      });
      const { body } = await send();
      await clock.advance(600_000);
      sockets[0]?.write('0\r\n\r\n');
      expect(await textIn(body)).toBe('hello');
    });

    test.each([
      ['in the middle of chunks', STREAM_HEAD],
      ['before its announced length', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello'],
    ])('that breaks off %s fails, and never ends as complete', async (_, head) => {
      const { send } = setUp((socket) => {
        socket.write(head);
        setImmediate(() => socket.end());
      });
      const { status, body } = await send();
      expect(status).toBe(200);
      expect(await textIn(body).catch(() => 'errored')).toBe('errored');
    });
  });

  describe('ending a call', () => {
    // The clock stands still: no time-out closes these connections.
    test('before the answer: the provider’s connection is closed at once', async () => {
      const { provider, clock, caller, send } = setUp();
      const sending = failureOf(send());
      await until(() => provider.received() !== '');
      caller.abort();
      expect(await sending).toEqual(failed('aborted'));
      await provider.closed;
      expect(clock.pendingTimers()).toBe(0);
    });

    test('in the middle of the body, read or unread: the provider’s connection is closed at once', async () => {
      for (const isRead of [true, false]) {
        const { provider, caller, send } = setUp((socket) => socket.write(STREAM_HEAD));
        const { body } = await send();
        if (isRead) await body.read(1_000);
        Bun.gc(true);
        caller.abort();
        await provider.closed;
        expect(await textIn(body).catch(() => 'errored')).toBe('errored');
      }
    });

    test('before it began: no provider is called', async () => {
      const { provider, caller, send } = setUp();
      caller.abort();
      expect(await failureOf(send())).toEqual(failed('aborted'));
      expect(provider.connections()).toBe(0);
    });
  });
  test('a slow reader slows the provider down: of 200 MB, few are pulled', async () => {
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
    const { body } = await send({}, `http://127.0.0.1:${port}`);
    for (let got = 0; got < 1024 * 1024; ) got += (await body.read(60_000))?.length ?? 0;
    // Until what is sent stays the same: the buffers between the two are full.
    let before = -1;
    await until(() => {
      const isSettled = before === sent;
      before = sent;
      return isSettled;
    });
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    body.cancel();
    server.close();
  });
}
