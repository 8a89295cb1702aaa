import { afterEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dial, Dialled, Place } from '../../../src/adapters/model-upstream/sockets/dial.ts';
import { dialSocket } from '../../../src/adapters/model-upstream/sockets/dial.ts';
import {
  createSocketUpstream,
  type SocketUpstreamParts,
} from '../../../src/adapters/model-upstream/sockets.ts';
import type { UpstreamCall } from '../../../src/ports/model-upstream.ts';
import { modelUpstreamContract } from '../../contracts/model-upstream.contract.ts';
import { approveAnyHost } from '../../doubles/approve-any-host.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { until } from '../../doubles/until.ts';
import { textIn } from '../../doubles/upstream-body.ts';
import { TEST_CERTIFICATE } from '../mail/mail-certificate.ts';
import { bytesOf, failed, failureOf } from './http-upstream-calls.ts';

modelUpstreamContract('the client on sockets', (parts) =>
  createSocketUpstream({ ...parts, approveHost: approveAnyHost }),
);

const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';
const CALL = { endpoint: 'chat/completions', body: bytesOf('{}'), headers: {} } as const;

type OnRequest = (socket: Socket, nth: number) => void;

const servers: ReturnType<typeof createServer>[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A provider on Node's sockets, which can close halves and read slowly; `onRequest` runs for each piece. */
async function startProvider(onRequest: OnRequest) {
  const taken: { bytes: number; isClosed: boolean }[] = [];
  let pieces = 0;
  const server = createServer((socket) => {
    const one = { bytes: 0, isClosed: false };
    taken.push(one);
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      one.isClosed = true;
    });
    socket.on('data', (bytes) => {
      one.bytes += bytes.length;
      onRequest(socket, pieces);
      pieces += 1;
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { port, taken };
}

async function setUp(onRequest: OnRequest = () => {}, changes: Partial<SocketUpstreamParts> = {}) {
  const { port, taken } = await startProvider(onRequest);
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const upstream = createSocketUpstream({ clock, log, approveHost: approveAnyHost, ...changes });
  const caller = new AbortController();
  const target = { id: 't', baseUrl: `http://127.0.0.1:${port}/v1`, model: 'm', apiKey: 'sk-1' };
  const send = (change: Partial<UpstreamCall> = {}, baseUrl = target.baseUrl) =>
    upstream.send(baseUrl === target.baseUrl ? target : { ...target, baseUrl }, {
      ...CALL,
      signal: caller.signal,
      ...change,
    });
  const call = async () => await textIn((await send()).body);
  return { port, taken, clock, entries, upstream, caller, send, call };
}

describe('connections that are used again', () => {
  test.each([
    ['after an answer that says so', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi'],
    ['after bytes behind the answer', `${WHOLE}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno`],
    [
      'where the provider closes it at once',
      'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nhi',
    ],
  ])('are closed %s', async (_, answer) => {
    const { taken, call } = await setUp((socket) => socket.write(answer));
    expect([await call(), await call()]).toEqual(['hi', 'hi']);
    expect(taken).toHaveLength(2);
    await until(() => taken.every(({ isClosed }) => isClosed));
  });

  test('bytes that arrive before a request is sent close the connection: no call gets them', async () => {
    const { taken, call } = await setUp((socket) => socket.write(WHOLE));
    expect(await call()).toBe('hi');
    sockets[0]?.write('HTTP/1.1 408 Idle\r\ncontent-length: 0\r\n\r\n');
    await until(() => taken[0]?.isClosed === true);
    expect(await call()).toBe('hi');
    expect(taken).toHaveLength(2);
  });

  test.each([
    ['a minute', '', 60_000],
    ['the time that the provider says, less a second', 'keep-alive: timeout=5, max=9\r\n', 4_000],
    ['a minute, though the provider says more', 'keep-alive: timeout=600\r\n', 60_000],
  ])('wait for %s', async (_, line, idleMs) => {
    const answer = `HTTP/1.1 200 OK\r\n${line}content-length: 2\r\n\r\nhi`;
    const { taken, clock, call } = await setUp((socket) => socket.write(answer));
    await call();
    await clock.advance(idleMs - 1);
    await call();
    expect(taken).toHaveLength(1);
    await clock.advance(idleMs);
    await until(() => taken[0]?.isClosed === true);
    expect(clock.pendingTimers()).toBe(0);
    await call();
    expect(taken).toHaveLength(2);
  });

  test('are replaced after a quarter of an hour, even if they are in use', async () => {
    const { taken, clock, call } = await setUp((socket) => socket.write(WHOLE));
    for (let minute = 0; minute < 16; minute += 1) {
      await call();
      await clock.advance(59_000);
    }
    expect(taken.length).toBe(1);
    await call();
    await call();
    expect(taken.length).toBe(2);
  });

  test('that the provider has closed are not used, and no call fails', async () => {
    const { taken, call } = await setUp((socket) => socket.write(WHOLE));
    for (let nth = 1; nth <= 3; nth += 1) {
      expect(await call()).toBe('hi');
      sockets.at(-1)?.end();
      await until(() => taken.every(({ isClosed }) => isClosed));
      expect(taken).toHaveLength(nth);
    }
  });

  test('a call written to a closing connection is not sent again', async () => {
    const { taken, call, send } = await setUp((socket, nth) =>
      nth === 0 ? socket.write(WHOLE) : socket.destroy(),
    );
    await call();
    expect(await failureOf(send())).toEqual(failed('broken'));
    expect(taken).toHaveLength(1);
  });

  test('one that becomes idle takes the call that waits for a new one', async () => {
    const places: Place[] = [];
    let isSlow = false;
    const dial: Dial = (place, given) => {
      places.push(place);
      if (!isSlow) dialSocket(place, given);
    };
    const asked = Promise.withResolvers<Socket>();
    const { send, call } = await setUp(
      (socket, nth) => {
        asked.resolve(socket);
        if (nth > 0) socket.write(WHOLE);
      },
      { dial },
    );
    const first = send();
    const provider = await asked.promise;
    isSlow = true;
    const second = call();
    await until(() => places.length === 2);
    provider.write(WHOLE);
    expect(await textIn((await first).body)).toBe('hi');
    expect(await second).toBe('hi');
  });

  test('closing ends the idle ones at once, and the others after their answers', async () => {
    const { taken, clock, upstream, call, send } = await setUp((socket, nth) => {
      if (nth === 0) socket.write(WHOLE);
    });
    await call();
    const idle = send();
    idle.catch(() => {});
    const running = call();
    await until(() => taken.length === 2 && (taken[1]?.bytes ?? 0) > 0);
    upstream.close();
    sockets[1]?.write(WHOLE);
    expect(await running).toBe('hi');
    await until(() => taken[1]?.isClosed === true);
    expect(clock.pendingTimers()).toBe(1);
  });
});

describe('answers', () => {
  test('without a length end with the connection, if that is closed and not reset', async () => {
    const head = 'HTTP/1.1 200 OK\r\n\r\nall of ';
    const { send } = await setUp((socket) => socket.write(head));
    const closed = await send();
    sockets[0]?.end('it');
    expect(await textIn(closed.body)).toBe('all of it');
    const reset = await send();
    sockets[1]?.resetAndDestroy();
    expect(await textIn(reset.body).catch(String)).toContain('broken');
  });

  test('that are ambiguous are broken, and their connection is closed', async () => {
    const { taken, send } = await setUp((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
      );
    });
    expect(await failureOf(send())).toEqual(failed('broken'));
    await until(() => taken[0]?.isClosed === true);
  });

  test('that arrive while the request is sent: a large one is delayed, and its connection not reused', async () => {
    const { taken, send, call } = await setUp((socket) => {
      if (taken.length > 1) return void socket.write(WHOLE);
      socket.pause();
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 4\r\n\r\nmuch');
    });
    const body = new Uint8Array(32 * 1024 * 1024);
    const answer = await send({ body });
    expect([answer.status, await textIn(answer.body)]).toEqual([413, 'much']);
    expect(taken[0]?.bytes).toBeLessThan(body.length);
    expect(await call()).toBe('hi');
    expect(taken).toHaveLength(2);
  });

  test('a large request arrives complete at a provider that reads slowly', async () => {
    const body = new Uint8Array(8 * 1024 * 1024).fill(120);
    const { taken, send } = await setUp((socket) => {
      const got = taken[0]?.bytes ?? 0;
      // One piece in each turn of the event loop.
      socket.pause();
      setImmediate(() => socket.resume());
      if (got > body.length) socket.write(WHOLE);
    });
    expect(await textIn((await send({ body })).body)).toBe('hi');
  });

  test('a complete body that is cancelled half read does not count as complete', async () => {
    const { send } = await setUp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n');
    });
    const { body } = await send();
    expect(await body.read(1_000)).toEqual(bytesOf('a'));
    body.cancel();
    expect(await body.read(1_000)).toBe('broken');
  });
});

describe('what is sent', () => {
  test('a header with a line break is refused before anything is sent', async () => {
    const { taken, send } = await setUp((socket) => socket.write(WHOLE));
    expect(await send({ headers: { 'openai-beta': 'a\r\nx-other: b' } }).catch(String)).toContain(
      'openai-beta',
    );
    expect(taken).toHaveLength(0);
  });

  test('a caller cannot set framing headers', async () => {
    const { send } = await setUp((socket) => socket.write(WHOLE));
    const headers = {
      'Content-Length': '9',
      'transfer-encoding': 'chunked',
      Host: 'x',
      authorization: 'Bearer y',
    };
    expect((await send({ headers })).status).toBe(200);
  });
});

describe('connecting', () => {
  /** Connections that a test makes, or not. */
  function stubbedDial() {
    const tries: { place: Place; dialled: Dialled }[] = [];
    const dial: Dial = (place, dialled) => void tries.push({ place, dialled });
    return { dial, tries };
  }

  const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

  test('goes to the approved address, and to no other of the name', async () => {
    const names: string[] = [];
    const provider = await setUp((socket) => socket.write(WHOLE), {
      approveHost(hostname) {
        names.push(hostname);
        return { outcome: 'approved', addresses: ['127.0.0.1'] };
      },
    });
    const { body } = await provider.send({}, `http://provider.invalid:${provider.port}/v1`);
    expect(await textIn(body)).toBe('hi');
    expect(names).toEqual(['provider.invalid']);
  });

  test('a host that is not approved is not called', async () => {
    const { dial, tries } = stubbedDial();
    const { send } = await setUp(() => {}, {
      dial,
      approveHost: () => ({ outcome: 'inside', problem: 'it is inside' }),
    });
    const failure = await send().catch((error: Error) => error);
    expect(failure).toMatchObject({ ...failed('connect'), cause: { message: 'it is inside' } });
    expect(tries).toHaveLength(0);
  });

  test('tries one address after the other, and begins with the one that worked', async () => {
    const tried: string[] = [];
    const dial: Dial = (place, dialled) => {
      tried.push(place.address);
      if (place.address === '127.0.0.1') dialSocket(place, dialled);
      else dialled.failed(refused());
    };
    const addresses = ['192.0.2.1', '192.0.2.2', '127.0.0.1'];
    const { clock, call } = await setUp((socket) => socket.write(WHOLE), {
      dial,
      approveHost: () => ({ outcome: 'approved', addresses }),
    });
    expect(await call()).toBe('hi');
    expect(tried).toEqual(addresses);
    await clock.advance(60_000);
    expect(await call()).toBe('hi');
    expect(tried.slice(3)).toEqual(['127.0.0.1']);
  });

  test('a fault of this machine is reported as one, only if no address got further', async () => {
    const noPorts = () => Object.assign(new Error('no port'), { code: 'EADDRNOTAVAIL' });
    const causes: unknown[] = [];
    const localFaults = {
      explain(error: unknown) {
        causes.push(error);
        return error instanceof AggregateError ? null : ('ports' as const);
      },
    };
    let addresses = ['192.0.2.1'];
    const { clock, send } = await setUp(() => {}, {
      localFaults,
      dial: ({ address }, dialled) => dialled.failed(address === '192.0.2.1' ? noPorts() : refused()),
      approveHost: () => ({ outcome: 'approved', addresses }),
    });
    expect(await send().catch((error: Error) => error)).toMatchObject(failed('local'));
    addresses = ['192.0.2.1', '192.0.2.2'];
    await clock.advance(1_000);
    expect(await send().catch((error: Error) => error)).toMatchObject(failed('connect'));
    expect((causes[1] as AggregateError).errors).toMatchObject([
      { code: 'EADDRNOTAVAIL' },
      { code: 'ECONNREFUSED' },
    ]);
  });

  test('each address has its share of the time; the end of the last one fails the call', async () => {
    const { dial, tries } = stubbedDial();
    const { clock, entries, send } = await setUp(() => {}, {
      dial,
      approveHost: () => ({ outcome: 'approved', addresses: ['192.0.2.1', '192.0.2.2'] }),
    });
    const failing = failureOf(send());
    await clock.advance(2_500);
    expect(tries.map(({ place }) => place.address)).toEqual(['192.0.2.1', '192.0.2.2']);
    await clock.advance(2_499);
    expect(clock.pendingTimers()).toBe(1);
    await clock.advance(1);
    expect(await failing).toEqual(failed('connect'));
    expect(clock.pendingTimers()).toBe(0);
    expect(entries).toMatchObject([{ message: 'a provider does not accept connections' }]);
    // Once, until it has been reached again.
    const again = failureOf(send());
    await clock.advance(5_000);
    await again;
    expect(entries).toHaveLength(1);
  });

  test('calls aborted while they connect do not wait, and leave the connection to the next ones', async () => {
    const { dial, tries } = stubbedDial();
    const { clock, caller, send } = await setUp(() => {}, { dial });
    const ending = new AbortController();
    const first = failureOf(send({ signal: ending.signal }));
    await until(() => tries.length === 1);
    ending.abort();
    expect(await first).toEqual(failed('aborted'));
    const second = failureOf(send());
    await clock.advance(1);
    expect(tries).toHaveLength(1);
    tries[0]?.dialled.failed(refused());
    expect(await second).toEqual(failed('connect'));
    expect(caller.signal.aborted).toBe(false);
  });

  test('the number of connections that never open is bounded', async () => {
    const { dial, tries } = stubbedDial();
    const { clock, send } = await setUp(() => {}, { dial });
    for (let round = 0; round < 3; round += 1) {
      const failing = Array.from({ length: 100 }, () => failureOf(send()));
      await clock.advance(5_000);
      expect(new Set((await Promise.all(failing)).map(({ reason }) => reason))).toEqual(new Set(['connect']));
    }
    expect(tries.length).toBe(200);
    for (const { dialled } of tries) dialled.failed(refused());
    const failing = failureOf(send());
    await clock.advance(5_000);
    expect(await failing).toEqual(failed('connect'));
    expect(tries.length).toBe(201);
  });
});

describe('TLS', () => {
  test('a certificate is verified: its name, and that its authority is trusted, here by NODE_EXTRA_CA_CERTS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-'));
    try {
      const file = join(folder, 'ca.pem');
      writeFileSync(file, TEST_CERTIFICATE);
      const script = `${import.meta.dir}/tls-upstream-process.ts`;
      const run = async (env: Record<string, string>) => {
        const child = Bun.spawn([process.execPath, script], {
          stdout: 'pipe',
          env: { ...process.env, ...env },
        });
        return (await new Response(child.stdout).text()).trim().split('\n');
      };
      const [trusted, untrusted, unverified] = await Promise.all([
        run({ NODE_EXTRA_CA_CERTS: file }),
        run({}),
        run({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }),
      ]);
      expect(trusted).toEqual(['localhost: hi, asked for localhost', 'address: hi', 'other name: connect']);
      const refusing = ['localhost: connect', 'address: connect', 'other name: connect'];
      expect(untrusted).toEqual(refusing);
      expect(unverified).toEqual(refusing);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
