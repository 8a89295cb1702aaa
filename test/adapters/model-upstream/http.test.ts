import { afterEach, describe, expect, test } from 'bun:test';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { createSystemClock } from '../../../src/adapters/clock/system-clock.ts';
import {
  createHttpUpstream,
  type HttpUpstreamParts,
  reasonOf,
} from '../../../src/adapters/model-upstream/http.ts';
import type { Connect } from '../../../src/adapters/model-upstream/http-first-contact.ts';
import type { UpstreamFailure } from '../../../src/ports/model-upstream.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { until } from '../../doubles/until.ts';
import { bytesOf, createRawUpstreams, failed, failureOf, textOf } from './http-upstream-calls.ts';
import { type RawUpstream, STREAM_HEAD, startRawUpstream } from './raw-upstream.ts';

const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';

/** Connections that a test makes, or not. */
function stubbedConnect() {
  const tries: { place: string; settled(isConnected: boolean): void; isCancelled: boolean }[] = [];
  const connect: Connect = ({ hostname, port }, settled) => {
    const one = { place: `${hostname} ${port}`, settled, isCancelled: false };
    tries.push(one);
    return {
      cancel() {
        one.isCancelled = true;
      },
    };
  };
  return { connect, tries };
}

describe('calls over HTTP', () => {
  const { setUp, stopAll } = createRawUpstreams();
  afterEach(stopAll);

  describe('what is sent', () => {
    test('the bytes as they are, to the endpoint, with our headers before the client’s', async () => {
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

    test('one connection serves call after call', async () => {
      const { provider, clock, send } = setUp((socket) => socket.write(WHOLE));
      for (let call = 0; call < 5; call += 1) expect(await textOf((await send()).body)).toBe('hi');
      expect(provider.connections()).toBe(1);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('nothing over HTTP for a target without an address', async () => {
      const { send } = setUp();
      expect(await send({}, null).catch(String)).toContain('embedded models');
    });
  });

  describe('what comes back', () => {
    test('the status as soon as it is there, and the kind of the body in one form', async () => {
      const head =
        'HTTP/1.1 429 No\r\nContent-Type: Application/JSON ; charset=utf-8\r\ncontent-length: 9\r\n\r\n';
      const { send } = setUp((socket) => socket.write(head));
      expect(await send()).toMatchObject({ status: 429, contentType: 'application/json' });
    });

    test('an empty body where there is none', async () => {
      const { send } = setUp((socket) => socket.write('HTTP/1.1 204 No\r\n\r\n'));
      const { status, contentType, body } = await send();
      expect([status, contentType, await textOf(body)]).toEqual([204, '', '']);
    });

    test('a redirect is not followed (G-36): the key goes nowhere else', async () => {
      const other = setUp((socket) => socket.write(WHOLE)).provider;
      const location = `location: ${other.baseUrl}\r\ncontent-length: 4\r\n\r\ngone`;
      const { send } = setUp((socket) => socket.write(`HTTP/1.1 307 Moved\r\n${location}`));
      const { status, body } = await send();
      expect([status, await textOf(body), other.connections()]).toEqual([307, 'gone', 0]);
    });

    test('a body that is compressed all the same is handed out inflated', async () => {
      const packed = Bun.gzipSync('hello '.repeat(1_000));
      const { send } = setUp((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`);
        socket.write(packed);
      });
      expect(await textOf((await send()).body)).toBe('hello '.repeat(1_000));
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

    test('what surely came before the call was sent is connect, everything else is broken', () => {
      for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
        expect(reasonOf({ code })).toBe('connect');
      }
      for (const error of [
        { code: 'ECONNRESET' },
        { code: 'ETIMEDOUT' },
        { code: 20 },
        null,
        new Error('a'),
      ]) {
        expect(reasonOf(error)).toBe('broken');
      }
    });

    test('closed before an answer: broken', async () => {
      const { clock, send } = setUp((socket) => socket.end());
      expect(await failureOf(send())).toEqual(failed('broken'));
      expect(clock.pendingTimers()).toBe(0);
    });

    test('no answer in 120 seconds (G-42): given up, and its connection closed', async () => {
      const { provider, clock, send } = setUp();
      let outcome: unknown = null;
      const sending = failureOf(send()).then((failure) => {
        outcome = failure;
      });
      await until(() => provider.received() !== '');
      await clock.advance(119_999);
      expect(outcome).toBeNull();
      await clock.advance(1);
      await sending;
      expect(outcome).toEqual(failed('first-byte-time-out'));
      await provider.closedAt;
      expect(clock.pendingTimers()).toBe(0);
    });
  });
});

describe('bodies over HTTP', () => {
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
});

describe('connecting over HTTP', () => {
  const started: RawUpstream[] = [];
  afterEach(() => {
    for (const provider of started.splice(0)) provider.stop();
  });

  /** A provider that says nothing until it is told to answer. */
  function setUp(changes: Partial<HttpUpstreamParts> = {}) {
    const silent: { write(text: string): unknown }[] = [];
    const provider = startRawUpstream((socket) => void silent.push(socket));
    started.push(provider);
    const clock = createManualClock();
    const { log, entries } = createRecordingLog();
    const { connect, tries } = stubbedConnect();
    const upstream = createHttpUpstream({ clock, log, connect, ...changes });
    /** `none` once it is answered. */
    const send = (baseUrl = provider.baseUrl, { signal } = new AbortController()) => {
      const target = { id: 't', baseUrl, model: 'm', apiKey: null };
      const call = { endpoint: 'completions', body: new Uint8Array(2), headers: {}, signal } as const;
      return upstream.send(target, call).then(
        () => 'none',
        ({ reason }: UpstreamFailure) => reason,
      );
    };
    const arrived = (count: number) => until(() => silent.length === count);
    const answerAll = () => {
      for (const socket of silent) socket.write(WHOLE);
    };
    return { provider, clock, entries, tries, send, arrived, answerAll };
  }

  describe('connecting (G-42)', () => {
    test('not connected after 5 seconds: given up, and said once', async () => {
      const { clock, entries, tries, send, provider, arrived } = setUp();
      const outcomes: string[] = [];
      const sending = send().then((reason) => outcomes.push(reason));
      await arrived(1);
      await clock.advance(4_999);
      expect(outcomes).toEqual([]);
      await clock.advance(1);
      await sending;
      expect(outcomes).toEqual(['connect']);
      await provider.closedAt;
      expect(tries).toMatchObject([{ place: `127.0.0.1 ${provider.port}`, isCancelled: true }]);
      const again = send();
      await clock.advance(5_000);
      expect(await again).toBe('connect');
      const context = { hostname: '127.0.0.1', port: provider.port, connectTimeoutMs: 5_000 };
      expect(entries).toMatchObject([{ level: 'warn', context }]);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('connected: the call may take its time, and so may those of the next 10 seconds', async () => {
      const { clock, tries, send, arrived, answerAll } = setUp();
      const first = send();
      await arrived(1);
      tries[0]?.settled(true);
      await clock.advance(9_999);
      const second = send();
      await arrived(2);
      expect(tries).toHaveLength(1);
      await clock.advance(60_000);
      answerAll();
      expect(await Promise.all([first, second])).toEqual(['none', 'none']);
      expect([tries[0]?.isCancelled, clock.pendingTimers()]).toEqual([true, 0]);
    });

    test('whoever has answered counts as connected for 10 seconds', async () => {
      const { clock, tries, send, arrived, answerAll } = setUp();
      const first = send();
      await arrived(1);
      answerAll();
      expect(await first).toBe('none');
      expect(tries).toMatchObject([{ isCancelled: true }]);
      await clock.advance(9_999);
      const second = send();
      await arrived(2);
      expect(tries).toHaveLength(1);
      answerAll();
      await second;
      await clock.advance(10_000);
      const third = send();
      await arrived(3);
      expect(tries).toHaveLength(2);
      answerAll();
      await third;
    });

    test('a refused try is left to the call itself, which may run on a connection that stood already', async () => {
      const { clock, tries, send, arrived, answerAll } = setUp();
      const sending = send();
      await arrived(1);
      tries[0]?.settled(false);
      await clock.advance(60_000);
      answerAll();
      expect(await sending).toBe('none');
    });

    test('calls of the same second share a try, later ones have their own', async () => {
      const { clock, tries, send, arrived, answerAll } = setUp();
      const sendings = [send(), send()];
      await clock.advance(999);
      sendings.push(send());
      await clock.advance(1);
      sendings.push(send());
      await arrived(4);
      expect(tries).toHaveLength(2);
      await clock.advance(4_000);
      const late = sendings.pop();
      expect(await Promise.all(sendings)).toEqual(['connect', 'connect', 'connect']);
      tries[1]?.settled(true);
      await clock.advance(60_000);
      answerAll();
      expect(await late).toBe('none');
    });

    test('an answer ends every try of its host', async () => {
      const { clock, tries, send, arrived, answerAll } = setUp();
      const first = send();
      await clock.advance(1_000);
      const second = send();
      await arrived(2);
      answerAll();
      expect(await Promise.all([first, second])).toEqual(['none', 'none']);
      expect(tries.map(({ isCancelled }) => isCancelled)).toEqual([true, true]);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('a try ends with the last call that waits for it', async () => {
      const { clock, tries, send, arrived, provider } = setUp();
      const [one, other] = [new AbortController(), new AbortController()];
      const sendings = [send(provider.baseUrl, one), send(provider.baseUrl, other)];
      await arrived(2);
      one.abort();
      expect(await sendings[0]).toBe('aborted');
      expect(tries).toMatchObject([{ isCancelled: false }]);
      other.abort();
      expect(await sendings[1]).toBe('aborted');
      expect(tries).toMatchObject([{ isCancelled: true }]);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('every address gives its host and port', async () => {
      const { tries, send } = setUp();
      const aborting = (url: string) => {
        const caller = new AbortController();
        const sending = send(url, caller);
        caller.abort();
        return sending;
      };
      await aborting('http://[::1]:4000/v1');
      await aborting('https://provider.invalid/v1');
      await aborting('http://provider.invalid');
      const places = ['::1 4000', 'provider.invalid 443', 'provider.invalid 80'];
      expect(tries.map(({ place }) => place)).toEqual(places);
    });

    test('behind a proxy nothing is tried', async () => {
      const { clock, send, arrived, answerAll } = setUp({ connect: null });
      const sending = send();
      await arrived(1);
      await clock.advance(60_000);
      answerAll();
      expect(await sending).toBe('none');
    });
  });

  test('a host whose queue is full takes no connection: given up in time, on real sockets (G-42)', async () => {
    const script = `${import.meta.dir}/full-listener-process.ts`;
    const child = Bun.spawn([process.execPath, script], { stdout: 'pipe' });
    const { value = new Uint8Array() } = await child.stdout.getReader().read();
    const port = Number(new TextDecoder().decode(value));
    child.kill('SIGSTOP');
    const waiting: Socket[] = [];
    try {
      // Bun listens with a queue of 512: the kernel answers that many, and is silent to the rest.
      let connected = 0;
      for (let n = 0; n < 600; n += 1) {
        const socket = connectTcp({ host: '127.0.0.1', port });
        socket.on('connect', () => {
          connected += 1;
        });
        socket.on('error', () => {});
        waiting.push(socket);
      }
      await until(() => connected >= 512);
      const { log, entries } = createRecordingLog();
      const upstream = createHttpUpstream({ clock: createSystemClock(), log, connectTimeoutMs: 300 });
      const target = { id: 't', baseUrl: `http://127.0.0.1:${port}`, model: 'm', apiKey: null };
      const { signal } = new AbortController();
      const call = { endpoint: 'completions', body: new Uint8Array(2), headers: {}, signal } as const;
      const reason = await upstream.send(target, call).catch((error: UpstreamFailure) => error.reason);
      expect(reason as string).toBe('connect');
      expect(entries).toHaveLength(1);
    } finally {
      for (const socket of waiting) socket.destroy();
      child.kill('SIGKILL');
    }
  }, 30_000);
});
