import { describe, expect, test } from 'bun:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { errorBodyOf } from '../../src/gateway/server.ts';
import { listen } from '../../src/http/listen.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { exchange } from '../doubles/raw-http.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const MAX_BODY_BYTES = 100_000;
const gateway = useResource(() => openGateway({ maxBodyBytes: MAX_BODY_BYTES }));
const backend = useResource(async () => {
  const opened = await openBackend({ maxBodyBytes: MAX_BODY_BYTES });
  const parts = { clock: createSystemClock(), secrets: createSystemSecrets(), log: createSilentLog() };
  const network = { hostname: '127.0.0.1', port: 0, reusePort: false };
  const listening = listen({ name: 'backend', fetch: opened.app.fetch, ...network, ...parts });
  return {
    url: listening.url,
    async close() {
      await listening.drain(0);
      await opened.close();
    },
  };
});

/** Status, headers in lower case and body of a raw answer. */
function parsed(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const [first = '', ...headers] = head.split('\r\n');
  const named = new Map(headers.map((line) => [line.split(':')[0]?.toLowerCase(), line.split(': ')[1]]));
  return { status: Number(first.split(' ')[1]), headers: named, body };
}

function envelopeIn(body: string) {
  const { error } = JSON.parse(body) as { error: { type: string; code: string | null; message: string } };
  return error;
}

describe('a Host header that is', () => {
  const surfaces = [
    ['gateway', () => gateway.url, '/llm/v1/models'],
    ['backend', () => backend.url, '/healthz'],
    ['backend', () => backend.url, '/graphql?query={__typename}'],
  ] as const;
  const wrong = [
    ['empty', 'Host:\r\n'],
    ['sent twice, the same', 'Host: a\r\nHost: a\r\n'],
    ['a list', 'Host: a, b\r\n'],
    ['not a host', 'Host: a b/c?d#e@f\r\n'],
    ['a wrong port', 'Host: a:99999\r\n'],
    ['a broken address', 'Host: [::1\r\n'],
    ['an address with a number too large', 'Host: 1.2.3.999\r\n'],
    ['a percent sign', 'Host: %zz\r\n'],
  ] as const;

  test.each(wrong)('%s is 400 in the envelope with a request id, on every service', async (_, header) => {
    for (const [, urlOf, path] of surfaces) {
      const answer = parsed(await exchange(urlOf(), `GET ${path} HTTP/1.1\r\n${header}\r\n`));
      expect(answer.status).toBe(400);
      expect(envelopeIn(answer.body).type).toBe('invalid_request_error');
      expect(answer.headers.get('x-request-id')).toStartWith('req_');
    }
  });

  test('absent in HTTP/1.0, as health checks send it, is accepted', async () => {
    const answer = parsed(await exchange(backend.url, 'GET /healthz HTTP/1.0\r\n\r\n', 'ok'));
    expect([answer.status, answer.body]).toEqual([200, 'ok']);
  });

  test.each(['a_b.example:8080', '[::1]:80', '127.0.0.1', 'xn--bcher-kva.example'])(
    '%s is fine',
    async (host) => {
      const sent = `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      expect(parsed(await exchange(backend.url, sent)).status).toBe(200);
    },
  );
});

describe('a declared length far above the limit', () => {
  const declared = (path: string, headers: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: 99999999999\r\n\r\n{}`;

  test('G-42 with a key is 413 in the envelope with a request id, and without one 401', async () => {
    const { rawKey } = await gateway.mint();
    for (const path of ['/llm/v1/chat/completions', '/llm/v1/parse/cv', '/llm/v1/mcp']) {
      const known = parsed(
        await exchange(gateway.url, declared(path, `Authorization: Bearer ${rawKey}\r\n`)),
      );
      expect([path, known.status]).toEqual([path, 413]);
      expect(envelopeIn(known.body).message).toContain(String(MAX_BODY_BYTES));
      expect(known.headers.get('x-request-id')).toStartWith('req_');
      const unknown = parsed(await exchange(gateway.url, declared(path, ''), '"param":null}}'));
      expect([path, unknown.status]).toEqual([path, 401]);
      expect(unknown.headers.get('x-request-id')).toStartWith('req_');
    }
  });
});

describe('a declared length above the limit, and another fault of the request', () => {
  const sent = (path: string, headers: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: 99999999\r\n\r\n{`;

  test('G-37 is 401 without a key, and then 413, before any 400', async () => {
    const { rawKey } = await gateway.mint();
    for (const path of ['chat/completions', 'messages', 'embeddings', 'parse/cv', 'mcp']) {
      for (const more of ['Content-Type: text/plain\r\n', 'Idempotency-Key: \r\n']) {
        const answers = [`Authorization: Bearer ${rawKey}\r\n`, ''].map((key) =>
          exchange(gateway.url, sent(`/llm/v1/${path}`, more + key), '}'),
        );
        const statuses = (await Promise.all(answers)).map((answer) => parsed(answer).status);
        expect([path, ...statuses]).toEqual([path, 413, 401]);
      }
    }
  });
});

/** docs/errors.md lists these: they have neither the envelope nor a request id. */
describe('what the runtime answers before any of our code', () => {
  const get = (more: string) => `GET /llm/v1/models HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
  const post = (more: string) => `POST /llm/v1/models HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

  test.each([
    ['no request line', 'hello\r\n\r\n', '400 Bad Request'],
    ['TLS on the port of HTTP', '\x16\x03\x01\x02\x00\x01', '400 Bad Request'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400 Bad Request'],
    ['another version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n', '505 HTTP Version Not Supported'],
    ['HTTP/1.1 without Host', 'GET / HTTP/1.1\r\n\r\n', '400 Bad Request'],
    ['a header without a colon', get('bad\r\n'), '400 Bad Request'],
    ['a control character in a header', get('a: b\x00c\r\n'), '400 Bad Request'],
    ['headers above 16 KB', get(`a: ${'x'.repeat(17_000)}\r\n`), '431 Request Header Fields Too Large'],
    ['more than 200 headers', get('a: b\r\n'.repeat(201)), '431 Request Header Fields Too Large'],
    ['a length that is no number', post('Content-Length: abc\r\n'), '400 Bad Request'],
    ['two lengths', post('Content-Length: 1\r\nContent-Length: 2\r\n'), '400 Bad Request'],
    ['a length and chunks', post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'), '400 Bad Request'],
    ['another transfer encoding', post('Transfer-Encoding: gzip\r\n'), '400 Bad Request'],
  ])('%s', async (_, sent, status) => {
    const answer = await exchange(gateway.url, sent);
    expect(answer).toBe(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });

  test('a method that HTTP does not have closes the connection without an answer', async () => {
    expect(await exchange(gateway.url, 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('');
  });
});

describe('a compressed body', () => {
  const call = JSON.stringify({ model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }] });
  const compressed = (text: string) =>
    [
      ['gzip', gzipSync(text)],
      ['x-gzip', gzipSync(text)],
      ['GZIP', gzipSync(text)],
      ['deflate', deflateSync(text)],
      ['br', brotliCompressSync(text)],
    ] as const;
  const send = async (encoding: string, bytes: Uint8Array, path = '/chat/completions') => {
    const { rawKey } = await gateway.mint();
    return await post(gateway.url + path, rawKey, bytes, { headers: { 'content-encoding': encoding } });
  };

  test('is decompressed and forwarded uncompressed', async () => {
    for (const [encoding, bytes] of compressed(call)) {
      const answer = await send(encoding, bytes);
      expect([encoding, answer.status]).toEqual([encoding, 200]);
      const { body, headers } = gateway.upstream.received.at(-1) ?? {};
      expect(new TextDecoder().decode(body).replace(/"model":"[^"]+"/, '')).toBe(
        call.replace(/"model":"[^"]+"/, ''),
      );
      expect(Object.keys(headers ?? {})).not.toContain('content-encoding');
    }
    expect((await send('identity', new TextEncoder().encode(call))).status).toBe(200);
  });

  test('that decompresses beyond the limit is 413, on every route that reads one', async () => {
    const bomb = ' '.repeat(50_000_000);
    for (const [encoding, bytes] of compressed(bomb)) {
      expect(bytes.length).toBeLessThan(MAX_BODY_BYTES);
      expect(await refusalOf(send(encoding, bytes))).toMatchObject({ status: 413 });
      const graphql = await fetch(`${backend.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': encoding },
        body: bytes,
      });
      expect(graphql.status).toBe(413);
    }
  });

  test('in any other encoding, or in several, is 415 and names the supported ones', async () => {
    for (const encoding of ['zstd', 'gzip, gzip', 'aws-chunked']) {
      const bytes = zstdCompressSync(call);
      for (const path of ['/chat/completions', '/parse/cv', '/mcp']) {
        const refused = await refusalOf(send(encoding, bytes, path));
        expect(refused).toMatchObject({ status: 415, type: 'invalid_request_error' });
        expect(refused.headers.get('accept-encoding')).toBe('gzip, deflate, br');
      }
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      for (const path of ['/graphql', '/payments/webhook']) {
        const answer = await fetch(backend.url + path, { method: 'POST', headers, body: bytes });
        expect([path, answer.status]).toEqual([path, 415]);
      }
    }
  });

  test('that is damaged or truncated is 400', async () => {
    for (const [encoding, bytes] of compressed(call)) {
      expect((await refusalOf(send(encoding, bytes.subarray(0, -4)))).status).toBe(400);
      expect((await refusalOf(send(encoding, new TextEncoder().encode(call)))).status).toBe(400);
    }
  });
});

test('G-34 refusals of /mcp by HTTP alone have the envelope, those of the protocol JSON-RPC’s form', async () => {
  const { rawKey } = await gateway.mint();
  const url = `${gateway.url}/mcp`;
  const accept = 'application/json, text/event-stream';
  expect(await refusalOf(fetch(url))).toMatchObject({ status: 405, type: 'invalid_request_error' });
  const plain = post(url, rawKey, '{}', { headers: { accept, 'content-type': 'text/plain' } });
  expect(await refusalOf(plain)).toMatchObject({ status: 415 });
  const nonsense = await post(url, rawKey, '{', { headers: { accept } });
  expect(await nonsense.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32700 } });
});

describe('a process that shuts down', () => {
  const request = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;

  test.each([
    ['/llm/v1/responses', '"param":null}}'],
    ['/llm/v1/messages', '"}'],
  ])('answers 503 with its code, a request id and a Retry-After: %s', async (path, ending) => {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const parts = { clock: createSystemClock(), secrets: createSystemSecrets(), log: createSilentLog() };
    const listening = listen({
      ...{ name: 'gateway', hostname: '127.0.0.1', port: 0, reusePort: false, ...parts },
      ...{ unavailableCode: 'LLM_GATEWAY_UNAVAILABLE', errorBody: errorBodyOf },
      async fetch() {
        entered.resolve();
        await release.promise;
        return new Response('whole');
      },
    });
    const first = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    // The second call comes on the connection of one that is still running.
    const answering = exchange(listening.url, first + request(path), ending);
    await entered.promise;
    const drained = listening.drain(10_000);
    release.resolve();
    const answer = await answering;
    await drained;
    const [, second = ''] = answer.split(/(?=HTTP\/1\.1 503)/);
    const { status, headers, body } = parsed(second);
    expect(status).toBe(503);
    const { error, ...rest } = JSON.parse(body);
    expect(error).toMatchObject({ type: 'api_error', code: 'LLM_GATEWAY_UNAVAILABLE' });
    const requestId = headers.get('x-request-id');
    expect(requestId).toStartWith('req_');
    expect(rest).toEqual(path.endsWith('/messages') ? { type: 'error', request_id: requestId } : {});
    expect(headers.get('retry-after')).toBe('1');
  });
});
