import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { createAccessTokens } from '../../src/domain/accounts/tokens.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { JWT_SECRET } from './backend-under-test.ts';
import { type LiveLogsUnderTest, openLiveLogs, type Watch } from './live-logs-under-test.ts';
import { codesIn, initOf, type Message, openRawSocket, subscribe } from './raw-socket.ts';

/** A masked text frame. */
function frame(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const head = [0x81, 0x80 | 126, bytes.length >> 8, bytes.length & 255, 0, 0, 0, 0];
  return new Uint8Array([...head, ...bytes]);
}

describe('the log stream', () => {
  const watches: Watch[] = [];
  const live = useResource(() => openLiveLogs());
  afterEach(async () => {
    for (const { stop } of watches.splice(0)) stop();
    await live.watchers(0);
  });

  function watch(...args: Parameters<LiveLogsUnderTest['watch']>): Watch {
    const watching = live.watch(...args);
    watches.push(watching);
    return watching;
  }

  describe('the live log', () => {
    test('P-13 a super admin sees the lines that pass the filter, with timestamp, level, message and context', async () => {
      const watching = watch(live.people.superAdmin.token, { minLevel: 'WARN', contains: 'SLOW' });
      await live.watchers(1);
      live.say('info', 'slow');
      live.say('warn', 'odd');
      live.say('warn', 'slow', { requestId: 'req_1', nested: { ms: 9 } });
      await live.pass();
      await until(() => watching.lines.length === 1);
      expect(watching.lines).toEqual([
        {
          timestamp: new Date(live.clock.now() - 25).toISOString(),
          level: 'WARN',
          message: 'slow',
          context: { requestId: 'req_1', nested: { ms: 9 } },
        },
      ]);
    });

    test('P-14 without a token UNAUTHENTICATED, without the right FORBIDDEN', async () => {
      const { admin, member } = live.people;
      const codeOf = async (token: string | null) =>
        (await watch(token).ended).errors?.map(({ extensions }) => extensions.code);
      expect(await codeOf(null)).toEqual(['UNAUTHENTICATED']);
      expect(await codeOf(`${admin.token}x`)).toEqual(['UNAUTHENTICATED']);
      expect(await codeOf(admin.token)).toEqual(['FORBIDDEN']);
      expect(await codeOf(member.token)).toEqual(['FORBIDDEN']);
      expect(live.parts.logWatchers.count()).toBe(0);
    });

    test('P-13 a filter that is too long or not a text is BAD_USER_INPUT, and nothing is watched', async () => {
      for (const contains of ['x'.repeat(10_000), 'a\u0000b', ' ']) {
        const { errors } = await watch(live.people.superAdmin.token, { contains }).ended;
        expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'contains' });
      }
      const { errors } = await watch(live.people.superAdmin.token, { minLevel: 'LOUD' }).ended;
      expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    });

    test('P-13 with `announced` the first message says that the subscription is active, also when nothing is logged', async () => {
      const query = 'subscription { logStream(announced: true, minLevel: ERROR) { message context } }';
      const watching = watch(live.people.superAdmin.token, {}, query);
      await until(() => watching.lines.length === 1);
      expect(watching.lines[0]?.context).toEqual({ watching: true });
      expect(live.parts.logWatchers.count()).toBe(1);
      live.say('error', 'and then the rest');
      await live.pass();
      await until(() => watching.lines.length === 2);
      expect(watching.lines[1]?.message).toBe('and then the rest');
      watching.stop();
      await live.watchers(0);
    });
  });

  describe('a right to watch that ends', () => {
    test('P-13 when the token expires the socket is closed with 4403', async () => {
      const shortLived = await createAccessTokens([JWT_SECRET], live.clock, 7);
      const { token } = await shortLived.issue(live.people.superAdmin);
      const watching = watch(token);
      await live.watchers(1);
      await live.pass(6_000);
      live.say('info', 'still there');
      await live.pass();
      await until(() => watching.lines.length === 1);
      expect(await live.end(watching)).toEqual({ code: 4403 });
    });

    test('P-13 when the right is withdrawn the socket is closed with 4403 within seconds', async () => {
      const root = await live.person(live.companies.acme, { isSuperAdmin: true });
      const watching = watch(root.token);
      await live.watchers(1);
      await live.database.query('update users set is_super_admin = false where id = $1', [root.userId]);
      expect(await live.end(watching)).toEqual({ code: 4403 });
      await live.watchers(0);
    });
  });
});

describe('slow watchers', () => {
  let live: LiveLogsUnderTest;
  const opened: { close(): void }[] = [];
  beforeEach(async () => {
    live = await openLiveLogs();
  });
  afterEach(async () => {
    for (const socket of opened.splice(0)) socket.close();
    await live.close();
  });

  /** A raw client that answers nothing and reads only on request. */
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

  test('P-13 a slow watcher loses lines and receives their number; another one loses none', async () => {
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
  });

  test('P-13 a client that answers no ping is closed within forty seconds', async () => {
    const deaf = await deafClient();
    await live.pass(20_000);
    await live.watchers(1);
    await live.pass(20_000);
    await deaf.closed;
    await live.watchers(0);
  });
});

describe('a WebSocket on /graphql', () => {
  let live: LiveLogsUnderTest;
  const opened: { close(): void }[] = [];
  beforeEach(async () => {
    live = await openLiveLogs({ maxSockets: 20 });
  });
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

  test('P-13 the token may be in the handshake’s header instead', async () => {
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

  test('P-13 a client that does not send connection_init within ten seconds is closed with 4408', async () => {
    const socket = rawSocket();
    await socket.send({ type: 'ping' });
    await socket.has('pong');
    await live.pass(10_000);
    expect(await socket.closed).toEqual({ code: 4408 });
  });

  test('P-14 an unauthenticated client is closed with 4401: at once when rejected, else after ten seconds', async () => {
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

  test('P-13 the protocol is enforced: 4406 without it, 4401 before the init, 4429 for two, 4409 for a repeated id, 4400 for invalid messages', async () => {
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

  test('P-13 past the bound of sockets, and from a page of another origin, no socket is opened', async () => {
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
    const foreign = await handshake({ origin: 'https://elsewhere.example' });
    expect(foreign.status).toBe(403);
    expect(((await foreign.json()) as { error: object }).error).toMatchObject({ type: 'permission_error' });
    const half = await handshake({ 'sec-websocket-version': '12', 'sec-websocket-key': '' });
    expect([half.status, Object.keys((await half.json()) as object)]).toEqual([400, ['error']]);
    for (const answer of [foreign, half]) expect(answer.headers.get('x-request-id')).toStartWith('req_');
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

  test('P-13 a client that leaves in the middle, or sends what only a server does, is no error', async () => {
    const verifying = Promise.withResolvers<never>();
    const slow = await openLiveLogs();
    try {
      const leaving = openRawSocket(slow);
      await leaving.send(initOf(slow));
      await leaving.has('connection_ack');
      const verify = spyOn(slow.parts.accessTokens, 'verify').mockReturnValue(verifying.promise);
      await leaving.send(subscribe('1'));
      await until(() => verify.mock.calls.length > 0);
      leaving.close();
      await leaving.closed;
      const wrong = openRawSocket(slow);
      await wrong.send({ type: 'next', id: '1', payload: { data: null } });
      expect(await wrong.closed).toMatchObject({ code: 4400 });
      verifying.reject(new Error('the token could not be verified'));
      await until(() => slow.entries.some(({ message }) => message.startsWith('a WebSocket was left')));
      expect(slow.entries.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
    } finally {
      await slow.close();
    }
  });

  test('P-13 when the process shuts down, watchers are closed with 1001', async () => {
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
