import { connect, type Socket } from 'node:net';
import { until } from '../test/doubles/until.ts';
import { chunk, done, usageChunk } from '../test/gateway/scripted-upstream.ts';
import { holds, onlyStatuses, residentMb, watchMemory } from './frame/expect.ts';
import type { FaultCase } from './frame/fault-case.ts';
import { callMany, slowestMs, tally } from './frame/load.ts';
import { attackWithWrongKeys } from './frame/wrong-keys.ts';

const IDLE_CONNECTIONS = 10_000;
const SLOW_CLIENTS = 200;
const SLOW_READERS = 50;
/** Of 4 kB each: more than the buffers of the kernel take on the way. */
const EVENTS = 10_000;
const WRONG_KEYS = 1_000_000;
const WRONG_KEYS_FOR_MS = 20_000;

export const clientFaults: readonly FaultCase[] = [
  {
    name: 'idle-connections',
    what: `${IDLE_CONNECTIONS} connections that say nothing, beside calls as ever`,
    async run(lab) {
      const { url, pid } = await lab.gateway();
      const before = residentMb(pid);
      const sockets: Socket[] = [];
      lab.whenEnding(() => sockets.forEach((socket) => void socket.destroy()));
      const { port } = new URL(url);
      // In lots, as the queue of a listener holds a few hundred.
      for (let lot = 0; lot < IDLE_CONNECTIONS / 250; lot += 1) {
        lab.signal.throwIfAborted();
        sockets.push(...(await Promise.all(Array.from({ length: 250 }, () => opened(Number(port))))));
      }
      const calls = await callMany(100, url, lab.world.rawKey);
      lab.seen.push(...calls);
      const each = Math.round(((residentMb(pid) - before) * 1024) / IDLE_CONNECTIONS);
      return {
        kept: `${tally(calls)}, slowest ${slowestMs(calls)} ms, with ${sockets.length} idle, ${each} kB each`,
        refused: 'nothing; an idle connection is closed after 60 s',
        ...{ recoveryMs: null, lost: '', problems: onlyStatuses(calls, [200]) },
      };
    },
  },
  {
    name: 'slow-readers',
    what: `${SLOW_READERS} clients that read nothing of a stream of 40 MB each`,
    async run(lab) {
      const { url, pid } = await lab.gateway();
      const event = chunk('x'.repeat(4_000));
      let sent = 0;
      lab.world.upstream.answer(({ body }) => {
        if (!new TextDecoder().decode(body).includes('"max_tokens":11')) {
          return new Response(chunk('one') + usageChunk + done, {
            headers: { 'content-type': 'text/event-stream' },
          });
        }
        let left = EVENTS;
        const stream = new ReadableStream({
          pull(controller) {
            sent += event.length;
            left -= 1;
            controller.enqueue(new TextEncoder().encode(left === 0 ? usageChunk + done : event));
            if (left === 0) controller.close();
          },
        });
        return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
      });
      const most = watchMemory(pid);
      const readers = await Promise.all(
        Array.from({ length: SLOW_READERS }, async () => {
          const socket = await opened(Number(new URL(url).port));
          socket.pause();
          socket.write(requestOf(url, lab.world.rawKey, bodyOf(11)));
          return socket;
        }),
      );
      lab.whenEnding(() => readers.forEach((socket) => void socket.destroy()));
      await until(() => lab.world.upstream.received.length >= SLOW_READERS);
      await Bun.sleep(3_000);
      const heldBack = sent;
      const streams = await streamsOf(url, lab.world.rawKey, 20);
      for (const socket of readers) socket.destroy();
      const mostMb = most();
      const wantedMb = Math.round((SLOW_READERS * EVENTS * event.length) / 1e6);
      return {
        kept: `${streams} of 20 other streams; the gateway below ${mostMb} MB, of ${wantedMb} MB it took ${Math.round(heldBack / 1e6)}`,
        refused: 'nothing: the provider is read as fast as the client reads',
        ...{ recoveryMs: null, lost: '' },
        problems: [
          ...holds(streams === 20, `only ${streams} other streams were answered`),
          ...holds(mostMb < 600, `the gateway grew to ${mostMb} MB`),
          ...holds(heldBack < (wantedMb * 1e6) / 2, 'the provider was read on for clients that do not read'),
        ],
      };
    },
  },
  {
    name: 'slow-senders',
    what: `${SLOW_CLIENTS} clients that send a body at a byte a second`,
    isQuick: true,
    async run(lab) {
      const { url } = await lab.gateway({ BODY_TIMEOUT_MS: '2000' });
      const answers: string[] = [];
      const senders = await Promise.all(
        Array.from({ length: SLOW_CLIENTS }, async () => {
          const socket = await opened(Number(new URL(url).port));
          socket.on('data', (bytes) => void answers.push(String(bytes).slice(9, 12)));
          socket.write(requestOf(url, lab.world.rawKey, bodyOf(10)).slice(0, -20));
          return socket;
        }),
      );
      lab.whenEnding(() => senders.forEach((socket) => void socket.destroy()));
      const dripping = setInterval(() => senders.forEach((socket) => void socket.write(' ')), 1_000);
      const calls = await callMany(50, url, lab.world.rawKey);
      lab.seen.push(...calls);
      await until(() => answers.length >= SLOW_CLIENTS, 15_000).catch(() => {});
      clearInterval(dripping);
      const timedOut = answers.filter((status) => status === '408').length;
      return {
        kept: `${tally(calls)} beside them, slowest ${slowestMs(calls)} ms`,
        refused: `${timedOut} × 408 after BODY_TIMEOUT_MS`,
        ...{ recoveryMs: null, lost: '', chargesOnlyWhole: true },
        problems: [
          ...onlyStatuses(calls, [200]),
          ...holds(timedOut === SLOW_CLIENTS, `${timedOut} of ${SLOW_CLIENTS} were ended`),
        ],
      };
    },
  },
  {
    name: 'wrong-keys',
    what: `up to ${WRONG_KEYS.toLocaleString('en')} calls with keys that do not exist, for ${WRONG_KEYS_FOR_MS / 1_000} s at most`,
    async run(lab) {
      const { url, pid } = await lab.gateway();
      const most = watchMemory(pid);
      const attack = attackWithWrongKeys(url, WRONG_KEYS, WRONG_KEYS_FOR_MS);
      await Bun.sleep(2_000);
      const calls = await callMany(50, url, lab.world.rawKey);
      lab.seen.push(...calls);
      const { done: tried, statuses, seconds } = await attack;
      const others = [...statuses].filter(([status]) => status !== '401');
      const [rows] = await lab.world.database.query<{ calls: bigint }>('select count(*) as calls from calls');
      return {
        kept: `${tally(calls)} beside them, slowest ${slowestMs(calls)} ms; the gateway below ${most()} MB; ${rows?.calls} rows of calls`,
        refused: `${tried} × 401, ${Math.round(tried / seconds)} a second`,
        ...{ recoveryMs: null, lost: '' },
        problems: [
          ...onlyStatuses(calls, [200]),
          ...holds(others.length === 0, `answered otherwise: ${JSON.stringify(others)}`),
          ...holds(most() < 800, `the gateway grew to ${most()} MB`),
        ],
      };
    },
  },
];

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

const bodyOf = (maxTokens: number) =>
  JSON.stringify({ model: 'svc/chat-default', messages: [], stream: true, max_tokens: maxTokens });

function requestOf(url: string, rawKey: string, body: string): string {
  const { pathname, host } = new URL(url);
  const lines = [
    `POST ${pathname}/chat/completions HTTP/1.1`,
    `host: ${host}`,
    `authorization: Bearer ${rawKey}`,
  ];
  return [...lines, 'content-type: application/json', `content-length: ${body.length}`, '', body].join(
    '\r\n',
  );
}

/** How many of them were whole. */
async function streamsOf(url: string, rawKey: string, count: number): Promise<number> {
  const headers = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' };
  const texts = await Promise.all(
    Array.from({ length: count }, async () => {
      const init = { method: 'POST', headers, body: bodyOf(10) };
      return await (await fetch(`${url}/chat/completions`, init)).text();
    }),
  );
  return texts.filter((text) => text.endsWith(done)).length;
}
