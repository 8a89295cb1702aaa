import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type LiveLogsUnderTest, openLiveLogs } from './live-logs-under-test.ts';
import { codesIn, initOf, type Message, openRawSocket, subscribe } from './raw-socket.ts';

let live: LiveLogsUnderTest;
const opened: { close(): void }[] = [];
beforeEach(async () => {
  live = await openLiveLogs({ maxSockets: 20 });
}, 60_000);
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.close();
  await live.close();
});

function rawSocket(
  ...args: Parameters<typeof openRawSocket> extends [unknown, ...infer Rest] ? Rest : never
) {
  const socket = openRawSocket(live, ...args);
  opened.push(socket);
  return socket;
}
const init = () => initOf(live);

describe('a WebSocket on /graphql', () => {
  test('P-13 the token may come in the handshake’s header instead', async () => {
    const authorization = `Bearer ${live.people.superAdmin.token}`;
    const socket = rawSocket('graphql-transport-ws', { authorization });
    await socket.send({ type: 'connection_init' });
    await socket.has('connection_ack');
    await socket.send(subscribe('1'));
    await live.watchers(1);
    live.say('info', 'there');
    await live.pass();
    await socket.has('next');
    expect(socket.messages.at(-1)).toMatchObject({
      id: '1',
      payload: { data: { logStream: { message: 'there' } } },
    });
  });

  test('P-13 who does not say connection_init within ten seconds is closed with 4408', async () => {
    const socket = rawSocket();
    await socket.send({ type: 'ping' });
    await socket.has('pong');
    await live.pass(10_000);
    expect(await socket.closed).toEqual({ code: 4408 });
  });

  test('P-14 who stays unknown is closed with 4401: at once when refused, else after ten seconds', async () => {
    const idle = rawSocket();
    const refused = rawSocket();
    await idle.send({ type: 'connection_init' });
    await idle.has('connection_ack');
    await refused.send({ type: 'connection_init', payload: { Authorization: 'Bearer nonsense' } });
    await refused.send(subscribe('a'));
    await refused.has('error');
    expect(refused.messages.map(({ type }) => type)).toEqual(['connection_ack', 'error']);
    expect(codesIn(refused.messages[1] as Message)).toEqual(['UNAUTHENTICATED']);
    await live.pass(0);
    expect(await refused.closed).toEqual({ code: 4401 });
    await live.pass(10_000);
    expect(await idle.closed).toEqual({ code: 4401 });
  });

  test('P-13 the protocol is kept: 4406 without it, 4401 before the init, 4429 for two, 4409 for one id twice, 4400 for nonsense', async () => {
    expect(await rawSocket('').closed).toEqual({ code: 4406 });
    const early = rawSocket();
    await early.send(subscribe('1'));
    expect(await early.closed).toEqual({ code: 4401 });
    const twice = rawSocket();
    await twice.send(init());
    await twice.send(init());
    expect(await twice.closed).toEqual({ code: 4429 });
    const same = rawSocket();
    await same.send(init());
    await same.has('connection_ack');
    await same.send(subscribe('1'));
    await same.send(subscribe('1'));
    expect(await same.closed).toEqual({ code: 4409 });
    for (const nonsense of ['{', '"x"', '{"type":"launch"}', '{"type":"subscribe"}']) {
      const socket = rawSocket();
      await socket.send(nonsense);
      expect(await socket.closed).toEqual({ code: 4400 });
    }
    await live.watchers(0);
  });

  test('P-13 a query that is not a subscription, wrong, too deep or too long is refused with its code', async () => {
    const socket = rawSocket();
    await socket.send(init());
    await socket.has('connection_ack');
    const deep = `subscription { logStream { ${'message '.repeat(3_000)} } }`;
    const cases = [
      ['{ whoAmI { id } }', 'BAD_USER_INPUT'],
      ['mutation { logout(refreshToken: "x") }', 'BAD_USER_INPUT'],
      ['subscription {', 'GRAPHQL_PARSE_FAILED'],
      ['subscription { logStream { secret } }', 'GRAPHQL_VALIDATION_FAILED'],
      [deep, 'BAD_USER_INPUT'],
      [`subscription { logStream { ${'message '.repeat(2_100)} } }`, 'GRAPHQL_PARSE_FAILED'],
    ] as const;
    for (const [n, [query, code]] of cases.entries()) {
      await socket.send(subscribe(String(n), query));
      await socket.has('error', n + 1);
      expect([query, codesIn(socket.messages.at(-1) as Message)]).toEqual([query, [code]]);
    }
  });

  test('P-13 a socket has at most ten subscriptions, and a message at most 64 KB', async () => {
    const socket = rawSocket();
    await socket.send(init());
    await socket.has('connection_ack');
    for (let n = 0; n < 12; n += 1) await socket.send(subscribe(String(n)));
    await live.watchers(10);
    await socket.has('error', 2);
    expect(codesIn(socket.messages.at(-1) as Message)).toEqual(['RATE_LIMITED']);
    await socket.send({ type: 'complete', id: '3' });
    await live.watchers(9);
    await socket.send(subscribe('more'));
    await live.watchers(10);
    await socket.send(`{"type":"ping","payload":{"x":"${'x'.repeat(70_000)}"}}`);
    await socket.closed;
    await live.watchers(0);
  });

  test('P-13 past the bound of sockets, and from a page of another origin, there is no socket', async () => {
    const handshake = (headers: Record<string, string>) =>
      fetch(live.url.replace('ws', 'http'), {
        headers: {
          upgrade: 'websocket',
          connection: 'Upgrade',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          ...headers,
        },
      });
    expect((await handshake({ origin: 'https://elsewhere.example' })).status).toBe(403);
    const own = rawSocket('graphql-transport-ws', { origin: 'https://console.example' });
    await own.send({ type: 'ping' });
    await own.has('pong');
    const others = Array.from({ length: 19 }, () => rawSocket());
    for (const socket of others) {
      await socket.send({ type: 'ping' });
      await socket.has('pong');
    }
    const full = await handshake({});
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '5']);
    others[0]?.close();
    await others[0]?.closed;
    const again = rawSocket();
    await again.send({ type: 'ping' });
    await again.has('pong');
  });

  test('P-13 subscriptions are not served over plain HTTP', async () => {
    const { errors } = await live.people.superAdmin.answer('subscription { logStream { message } }');
    expect(errors?.[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    await live.watchers(0);
  });

  test('P-13 when the process goes down, watchers are told (1001) and are gone', async () => {
    const socket = rawSocket();
    await socket.send(init());
    await socket.has('connection_ack');
    await socket.send(subscribe('1'));
    await live.watchers(1);
    await live.drain();
    expect(await socket.closed).toEqual({ code: 1001 });
    await live.watchers(0);
  });
});
