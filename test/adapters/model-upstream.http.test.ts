import { afterEach, describe, expect, test } from 'bun:test';
import { reasonOf } from '../../src/adapters/model-upstream/http.ts';
import { until } from '../doubles/until.ts';
import { bytesOf, createRawUpstreams, failed, failureOf, textOf } from './http-upstream-calls.ts';

const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';
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
    expect(await failureOf(send({}, provider.baseUrl.replace('http:', 'https:')))).toEqual(failed('connect'));
    provider.stop();
    expect(await failureOf(send())).toEqual(failed('connect'));
    expect(clock.pendingTimers()).toBe(0);
  });

  test('what surely came before the call was sent is connect, everything else is broken', () => {
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
      expect(reasonOf({ code })).toBe('connect');
    }
    for (const error of [{ code: 'ECONNRESET' }, { code: 'ETIMEDOUT' }, { code: 20 }, null, new Error('a')]) {
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
