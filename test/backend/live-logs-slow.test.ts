import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { until } from '../doubles/until.ts';
import { type LiveLogsUnderTest, openLiveLogs } from './live-logs-under-test.ts';
import { initOf, subscribe } from './raw-socket.ts';

let live: LiveLogsUnderTest;
const opened: { close(): void }[] = [];
beforeEach(async () => {
  live = await openLiveLogs();
}, 60_000);
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.close();
  await live.close();
});

/** A client by hand that answers nothing and reads only when it is told to. */
async function deafClient(): Promise<{
  socket: Socket;
  read(): void;
  text(): string;
  closed: Promise<void>;
}> {
  const { port } = new URL(live.url);
  const socket = connect(Number(port), '127.0.0.1');
  opened.push({ close: () => socket.destroy() });
  let text = '';
  socket.on('data', (data) => {
    text += data.toString('latin1');
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.write(
    `GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n`,
  );
  await until(() => text.includes('101'));
  socket.write(frame(JSON.stringify(initOf(live))));
  await until(() => text.includes('connection_ack'));
  socket.write(frame(JSON.stringify(subscribe('deaf'))));
  await live.watchers(1);
  return { socket, read: () => void socket.resume(), text: () => text, closed };
}

/** A masked text frame. */
function frame(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const head = [0x81, 0x80 | 126, bytes.length >> 8, bytes.length & 255, 0, 0, 0, 0];
  return new Uint8Array([...head, ...bytes]);
}

describe('watchers who do not keep up', () => {
  test('P-13 a slow watcher loses lines and is told how many; another one loses none', async () => {
    const deaf = await deafClient();
    deaf.socket.pause();
    const quick = live.watch(live.people.superAdmin.token);
    await live.watchers(2);
    const filler = 'x'.repeat(4_000);
    const count = 6_000;
    for (let n = 0; n < count; n += 1) {
      live.say('info', `line ${n} ends`, { filler });
      if (n % 40 === 39) {
        await live.pass();
        await until(() => quick.lines.length === n + 1);
      }
    }
    expect(quick.lines.map(({ message }) => message)).toEqual(
      Array.from({ length: count }, (_, n) => `line ${n} ends`),
    );
    deaf.read();
    await until(() => deaf.text().includes(`line ${count - 1} ends`));
    const seen = [...deaf.text().matchAll(/line (\d+) ends/g)].map(([, n]) => Number(n));
    const lost = [...deaf.text().matchAll(/(\d+) lines were lost here/g)].map(([, n]) => Number(n));
    expect(lost.length).toBeGreaterThan(0);
    expect(seen.length + lost.reduce((sum, one) => sum + one, 0)).toBe(count);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  }, 60_000);

  test('P-13 a client that answers no ping is found dead within forty seconds', async () => {
    const deaf = await deafClient();
    await live.pass(20_000);
    await live.watchers(1);
    await live.pass(20_000);
    await deaf.closed;
    await live.watchers(0);
  });
});
