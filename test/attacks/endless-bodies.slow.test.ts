import { afterAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { readModelBody } from '../../src/gateway/json/request-body.ts';
import { openLargeBodies } from '../../src/start/wiring/start-gateway.ts';
import { neverReading } from '../doubles/raw-http.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { openGateway, PROVIDER_MODEL, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, usageChunk } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const BODY_TIMEOUT_MS = 60_000;
const clock = createSettableClock();
const scans = { count: 0, isBroken: false };
const gateway = useResource(() =>
  openGateway({
    ...{ clock, maxBodyBytes: 2_000_000, bodyTimeoutMs: BODY_TIMEOUT_MS },
    scanLargeBody: scannedInThread,
  }),
);
const closing: (() => unknown)[] = [];
const { log } = createRecordingLog();
const scan = openLargeBodies({
  ...{ clock: createSystemClock(), log, whenClosing: (_, close) => void closing.push(close) },
});
afterAll(() => Promise.all(closing.map((close) => close())));
const scannedInThread: typeof scan = async (...large) => {
  scans.count += 1;
  return scans.isBroken ? null : await scan(...large);
};
const body = { model: 'svc/chat-default', messages: [] };

/** What comes back on a connection of its own until it is closed by the other side. */
function exchange(lines: readonly string[], onOpen: (write: (text: string) => boolean) => void = () => {}) {
  const { port } = new URL(gateway.url);
  return new Promise<string>((resolve) => {
    let text = '';
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(lines.join('\r\n'));
      onOpen((more) => !socket.destroyed && socket.write(more));
    });
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    socket.on('close', () => resolve(text));
    socket.on('error', () => resolve(text));
  });
}

test('G-42 an endless body is cut at its bound, a slow one at its time-out, and others are served meanwhile', async () => {
  const { rawKey } = await gateway.mint();
  const head = [
    'POST /llm/v1/chat/completions HTTP/1.1',
    'host: gateway.test',
    `authorization: Bearer ${rawKey}`,
    'content-type: application/json',
    'transfer-encoding: chunked',
    '',
    '',
  ];
  const piece = `1000\r\n${'x'.repeat(4096)}\r\n`;
  const endless = exchange(head, (write) => {
    const pour = () => {
      for (let turn = 0; turn < 8; turn += 1) if (!write(piece)) return;
      setImmediate(pour);
    };
    pour();
  });
  const trickle = exchange([...head.slice(0, 4), 'content-length: 1000', 'connection: close', '', '{']);
  for (let turn = 0; turn < 10; turn += 1) {
    expect((await post(`${gateway.url}/chat/completions`, rawKey, body)).status).toBe(200);
  }
  expect(await endless).toMatch(/^(HTTP\/1\.1 413|$)/);
  await until(() => clock.pending(BODY_TIMEOUT_MS) === 1);
  clock.setAhead(BODY_TIMEOUT_MS);
  expect(await trickle).toStartWith('HTTP/1.1 408');
  expect(gateway.upstream.received).toHaveLength(10);
});

test('invalid or ambiguous HTTP closes its connection and reaches no provider', async () => {
  const { rawKey } = await gateway.mint();
  const before = gateway.upstream.received.length;
  const authorization = `authorization: Bearer ${rawKey}`;
  const head = ['POST /llm/v1/chat/completions HTTP/1.1', 'host: a', authorization, 'connection: close'];
  const attempts = [
    ['\u0016\u0003\u0001\u0002\u0000garbage', '', ''],
    ['GET / HTTP/9.9', '', ''],
    [...head, 'content-length: 5', 'content-length: 6', '', '{}   '],
    [...head, 'content-length: -1', '', ''],
    [...head, 'transfer-encoding: chunked', '', 'zz', 'x', '0', '', ''],
  ];
  for (const lines of attempts) {
    expect(await exchange(lines)).toMatch(/^(HTTP\/1\.1 (400|404|411|413|431|501|505)|$)/);
  }
  expect(gateway.upstream.received).toHaveLength(before);
  expect((await post(`${gateway.url}/chat/completions`, rawKey, body)).status).toBe(200);
});

test('bodies above 1 MB are scanned by a thread, as all others are read, and are 503 while it cannot', async () => {
  const { rawKey } = await gateway.mint({ tokensPerMinute: 2_000_000_000 });
  const call = (text: string) => post(`${gateway.url}/chat/completions`, rawKey, text);
  const before = scans.count;
  expect((await call(JSON.stringify({ ...body, user: 'x' }))).status).toBe(200);
  expect(scans.count).toBe(before);

  const messages = [{ role: 'user', content: 'ä\n'.repeat(300_000) }];
  const metadata = { note: 'A note with more than forty characters: é, ü, 😀' };
  const large = JSON.stringify({ ...body, metadata, messages, tools: [{ type: 'web_search' }] });
  const bytes = new TextEncoder().encode(large);
  for (const wire of ['completions', 'responses', 'messages'] as const) {
    expect(await scan(gateway.companyId, bytes, wire)).toEqual(readModelBody(bytes, wire));
  }
  const plain = JSON.stringify({ ...body, metadata, messages });
  expect((await call(plain)).status).toBe(200);
  const sent = new TextDecoder().decode(gateway.upstream.received.at(-1)?.body);
  expect(sent).toBe(plain.replace('svc/chat-default', PROVIDER_MODEL));
  const listed = JSON.stringify({ ...body, models: ['svc/chat-default'], messages });
  expect((await call(listed)).status).toBe(200);
  const sentListed = new TextDecoder().decode(gateway.upstream.received.at(-1)?.body);
  expect(JSON.parse(sentListed)).toEqual({ model: PROVIDER_MODEL, messages });
  expect(await refusalOf(call(`${plain}]`))).toMatchObject({ status: 400, type: 'invalid_request_error' });

  scans.isBroken = true;
  const refused = await refusalOf(call(plain));
  expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
  expect(refused.headers.get('retry-after')).toBe('2');
  scans.isBroken = false;
  expect(scans.count).toBe(before + 4);
});

describe('bodies above 1 MB', () => {
  const full = useResource(() => openGateway({ maxBodyBytes: 2_000_000, largeBodiesBytes: 0 }));
  const text = JSON.stringify({ ...body, user: 'u', metadata: { padding: 'x'.repeat(1_900_000) } });
  const padding = Array.from({ length: 270_000 }, (_, at) => at).join();
  const numbers = JSON.stringify({ ...body, metadata: { padding } });
  const gzip = { headers: { 'content-encoding': 'gzip' } };
  const headOf = (rawKey: string, length: number) =>
    [
      'POST /llm/v1/chat/completions HTTP/1.1',
      'host: localhost',
      `authorization: Bearer ${rawKey}`,
      'content-type: application/json',
      `content-length: ${length}`,
      '\r\n',
    ].join('\r\n');

  // Of the largest bodies four have room in a process, and two of one company.
  test('have a limit in all by their declared length, and count until their call has ended', async () => {
    const { rawKey } = await full.mint({ tokensPerMinute: 2_000_000_000 });
    const call = (sent: string | Uint8Array, path = '/chat/completions', init = {}) =>
      post(`${full.url}${path}`, rawKey, sent, init);
    const chunked = () => {
      const pieces = [text.slice(0, 1_500_000), text.slice(1_500_000)];
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          const piece = pieces.shift();
          if (piece === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(piece));
        },
      });
    };
    const held = Promise.withResolvers<void>();
    full.upstream.answer(async ({ body: sent }) => {
      if (sent.length > 1_000_000) await held.promise;
      return Response.json(chatAnswer());
    });
    const running = call(text);
    await until(() => full.upstream.received.length === 1);
    const slow = await neverReading(full.url, headOf(rawKey, 1_900_000));
    await until(() => full.memory.bodies.heldBytes() > 3_700_000);

    const refused = await refusalOf(call(text));
    expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    expect(refused.message).toStartWith('Too many large bodies');
    expect(refused.headers.get('retry-after')).toBe('2');
    const others = await Promise.all([
      call(Bun.gzipSync(numbers), '/chat/completions', gzip),
      call(text, '/parse/cv'),
      call(text, '/mcp'),
      fetch(`${full.url}/chat/completions`, {
        ...{ method: 'POST', body: chunked() },
        headers: { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' },
      }),
    ]);
    expect(others.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    expect((await call(JSON.stringify(body))).status).toBe(200);
    expect((await call(Bun.gzipSync(JSON.stringify(body)), '/chat/completions', gzip)).status).toBe(200);
    expect((await call('x'.repeat(2_000_001))).status).toBe(413);

    held.resolve();
    expect((await running).status).toBe(200);
    slow.destroy();
    expect(full.memory.bodies.refusedCount()).toBe(5);
    await until(() => full.memory.bodies.heldBytes() === 0);
    const all = await Promise.all([call(text), call(`${text}]`), call('[]', '/mcp')]);
    expect(all.map(({ status }) => status)).toEqual([200, 400, 400]);
    expect(full.memory.bodies.heldBytes()).toBe(0);
  });

  test('of a stream count until its end', async () => {
    const { rawKey } = await full.mint({ tokensPerMinute: 2_000_000_000 });
    const { bodies } = full.memory;
    const stream = openStream();
    full.upstream.answer(() => stream.response);
    stream.send(chunk('Hello.'));
    const sent = `${text.slice(0, -1)},"stream":true}`;
    const streamed = await post(`${full.url}/chat/completions`, rawKey, sent);
    expect(streamed.status).toBe(200);
    expect(bodies.heldBytes()).toBeGreaterThan(1_900_000);
    stream.send(usageChunk + done);
    stream.end();
    expect(await streamed.text()).toEndWith(done);
    expect(bodies.heldBytes()).toBe(0);
  });
});
