import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { listen } from '../../src/http/listen.ts';
import { openLiveLogs } from '../backend/live-logs-under-test.ts';
import { neverReading } from '../doubles/raw-http.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { openGateway } from '../gateway/gateway-under-test.ts';
import { chunk, done, usageChunk } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

/** In the place of 112: the runtime counts in steps of 4, so that this cuts within four seconds, or at once. */
const UNREAD_SECONDS = 4;
/** Cuts after four seconds at the earliest, which a reader that pauses for one of them never reaches. */
const SLOWLY_READ_SECONDS = 8;
/** More than the kernel's buffers take on the way. */
const LARGE_BYTES = 40_000_000;

describe('a client that does not read', () => {
  const gateway = useResource(() => openGateway({ unreadSeconds: UNREAD_SECONDS, idleTimeoutMs: 60_000 }));

  function request(rawKey: string, stream: boolean): string {
    const body = JSON.stringify({ model: 'svc/chat-default', messages: [], stream });
    return [
      'POST /llm/v1/chat/completions HTTP/1.1',
      'host: localhost',
      `authorization: Bearer ${rawKey}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      `\r\n${body}`,
    ].join('\r\n');
  }

  function streamOf(events: number, event: string): ReadableStream<Uint8Array> {
    let left = events;
    return new ReadableStream({
      pull(controller) {
        left -= 1;
        controller.enqueue(new TextEncoder().encode(left === 0 ? usageChunk + done : event));
        if (left === 0) controller.close();
      },
    });
  }
  const asStream = { headers: { 'content-type': 'text/event-stream' } };

  test('is disconnected during a stream, 20 of 20, and its upstream is aborted', async () => {
    const { rawKey, id } = await gateway.mint({ maxCallsInFlight: 100 });
    gateway.upstream.answer(() => new Response(streamOf(10_000, chunk('x'.repeat(4_000))), asStream));
    const sockets = await Promise.all(
      Array.from({ length: 20 }, () => neverReading(gateway.url, request(rawKey, true))),
    );
    const rows = await gateway.calls(id, 20);
    expect(rows.filter(({ outcome }) => outcome === 'FAILED')).toHaveLength(20);
    for (const socket of sockets) socket.destroy();
  });

  test('is not disconnected if it reads slowly, or waits for a provider that sends nothing', async () => {
    const { rawKey } = await gateway.mint();
    gateway.upstream.answer(() => {
      const silent = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(chunk('one')));
          await Bun.sleep((UNREAD_SECONDS + 5) * 1_000);
          controller.enqueue(new TextEncoder().encode(usageChunk + done));
          controller.close();
        },
      });
      return new Response(silent, asStream);
    });
    const response = await fetch(`${gateway.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc/chat-default', messages: [], stream: true }),
    });
    expect(await response.text()).toContain('[DONE]');
  });
});

describe('on every service', () => {
  const server = useResource(async () => {
    const parts = { clock: createSystemClock(), secrets: createSystemSecrets(), log: createSilentLog() };
    const listening = listen({
      ...{ name: 'backend', hostname: '127.0.0.1', port: 0, reusePort: false, ...parts },
      unreadSeconds: SLOWLY_READ_SECONDS,
      fetch(_, connection) {
        connection.mustBeRead();
        return new Response(new Uint8Array(LARGE_BYTES));
      },
    });
    return { url: listening.url, close: () => listening.drain(0) };
  });

  test('a response that is not read is aborted; one that is read slowly is complete', async () => {
    const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    const unread = await neverReading(server.url, request);
    const slow = await neverReading(server.url, request);
    const beganAt = performance.now();
    let received = 0;
    let sincePause = 0;
    slow.on('data', (bytes) => {
      received += bytes.length;
      sincePause += bytes.length;
      if (sincePause < LARGE_BYTES / 10) return;
      sincePause = 0;
      slow.pause();
      setTimeout(() => slow.resume(), 1_000);
    });
    slow.resume();
    await until(() => !isOpen(unread));
    await until(() => received >= LARGE_BYTES);
    expect(performance.now() - beganAt).toBeGreaterThan(SLOWLY_READ_SECONDS * 1_000);
    slow.destroy();
  });
});

describe('a WebSocket', () => {
  const live = useResource(() => openLiveLogs());

  test('P-13 whose client sends and never reads is closed: messages do not count as a pong', async () => {
    const key = 'dGhlIHNhbXBsZSBub25jZQ==';
    const handshake = `GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\nAuthorization: Bearer ${live.people.superAdmin.token}\r\n\r\n`;
    const socket = await neverReading(live.url.replace('ws', 'http'), handshake);
    socket.write(masked('{"type":"connection_init"}'));
    let read = '';
    socket.on('data', (bytes) => (read += String(bytes)));
    socket.resume();
    await until(() => read.includes('connection_ack'));
    socket.pause();
    const payload = { query: 'subscription { logStream { message } }' };
    socket.write(masked(JSON.stringify({ type: 'subscribe', id: '1', payload })));
    await live.watchers(1);
    for (let second = 0; second < 60; second += 1) {
      socket.write(masked('{"type":"ping"}'));
      await live.clock.advance(1_000);
      await live.clock.turn();
    }
    await until(() => !isOpen(socket));
    socket.destroy();
  });
});

/** The server's end of a connection, as the kernel sees it: a client that does not read is not notified of its end. */
function isOpen({ localPort, remotePort }: Socket): boolean {
  const hex = (port = 0) => port.toString(16).toUpperCase().padStart(4, '0');
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return rows.some((row) => {
    const [, local = '', remote = '', state] = row.trim().split(/\s+/);
    return local.endsWith(`:${hex(remotePort)}`) && remote.endsWith(`:${hex(localPort)}`) && state === '01';
  });
}

/** A text frame of a client: masked, here with zeros. */
function masked(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array([0x81, 0x80 | bytes.length, 0, 0, 0, 0, ...bytes]);
}
