import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { readModelBody } from '../../src/gateway/json/request-body.ts';
import { openLargeBodies } from '../../src/start/wiring/start-gateway.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { openGateway, PROVIDER_MODEL, post, refusalOf } from '../gateway/gateway-under-test.ts';
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
  const smuggled = 'POST /llm/v1/chat/completions HTTP/1.1';
  const attempts = [
    ['\u0016\u0003\u0001\u0002\u0000garbage', '', ''],
    ['GET / HTTP/9.9', '', ''],
    [
      smuggled,
      'host: a',
      authorization,
      'content-length: 5',
      'content-length: 6',
      'connection: close',
      '',
      '{}   ',
    ],
    [smuggled, 'host: a', authorization, 'content-length: -1', 'connection: close', '', ''],
    [
      smuggled,
      'host: a',
      authorization,
      'transfer-encoding: chunked',
      'connection: close',
      '',
      'zz',
      'x',
      '0',
      '',
      '',
    ],
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
