import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway({ maxBodyBytes: 100_000, bodyTimeoutMs: 500 }));
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
  expect(await trickle).toStartWith('HTTP/1.1 408');
  expect(await endless).toMatch(/^(HTTP\/1\.1 413|$)/);
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
