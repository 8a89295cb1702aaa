import { afterEach, describe, expect, test } from 'bun:test';
import {
  createHttpUpstream,
  type HttpUpstreamParts,
  reasonOf,
} from '../../../src/adapters/model-upstream/http.ts';
import type { Connect } from '../../../src/adapters/model-upstream/http-first-contact.ts';
import type { UpstreamFailure } from '../../../src/ports/model-upstream.ts';
import { modelUpstreamContract } from '../../contracts/model-upstream.contract.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { until } from '../../doubles/until.ts';
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts';

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

modelUpstreamContract('the client on fetch', createHttpUpstream);

describe('the client on fetch', () => {
  test('a failure before the call was sent is connect, every other one is broken', () => {
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
      expect(reasonOf({ code })).toBe('connect');
    }
    for (const error of [{ code: 'ECONNRESET' }, { code: 'ETIMEDOUT' }, { code: 20 }, null, new Error('a')]) {
      expect(reasonOf(error)).toBe('broken');
    }
  });

  test('the runtime prints nothing about bodies that break off', async () => {
    const script = `${import.meta.dir}/broken-body-process.ts`;
    const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'pipe' });
    const printed = await Promise.all(
      [child.stdout, child.stderr].map((output) => new Response(output).text()),
    );
    expect(printed).toEqual(['errored\n', '']);
  });
});

describe('connecting over HTTP', () => {
  const started: RawUpstream[] = [];
  afterEach(() => {
    for (const provider of started.splice(0)) provider.stop();
  });

  /** A provider that sends nothing until `answer` is called. */
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
    test('not connected after 5 seconds: aborted, and logged once', async () => {
      const { clock, entries, tries, send, provider, arrived } = setUp();
      const outcomes: string[] = [];
      const sending = send().then((reason) => outcomes.push(reason));
      await arrived(1);
      await clock.advance(4_999);
      expect(outcomes).toEqual([]);
      await clock.advance(1);
      await sending;
      expect(outcomes).toEqual(['connect']);
      await provider.closed;
      expect(tries).toMatchObject([{ place: `127.0.0.1 ${provider.port}`, isCancelled: true }]);
      const again = send();
      await clock.advance(5_000);
      expect(await again).toBe('connect');
      const context = { hostname: '127.0.0.1', port: provider.port, connectTimeoutMs: 5_000 };
      expect(entries).toMatchObject([{ level: 'warn', context }]);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('a provider that has answered counts as connected for 10 seconds', async () => {
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

    test('a refused call is ours where this machine explains it', async () => {
      const asked: unknown[] = [];
      const explain = (error: unknown) => {
        asked.push((error as { code?: unknown }).code);
        return asked.length === 1 ? ('descriptors' as const) : null;
      };
      const { send } = setUp({ localFaults: { explain } });
      const closed = 'http://127.0.0.1:1/v1';
      expect([await send(closed), await send(closed)]).toEqual(['local', 'connect']);
      expect(asked).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
    });

    test('calls of the same second share a probe, later ones have their own', async () => {
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

    test('a probe ends with the last call that waits for it', async () => {
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

    test.each(['a refused probe', 'no probe, behind a proxy'])('%s leaves it to the call', async (which) => {
      const isProxied = which !== 'a refused probe';
      const { clock, tries, send, arrived, answerAll } = setUp(isProxied ? { connect: null } : {});
      const sending = send();
      await arrived(1);
      tries[0]?.settled(false);
      await clock.advance(60_000);
      answerAll();
      expect(await sending).toBe('none');
    });
  });
});
