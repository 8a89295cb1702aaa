import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contestant, startGateway, startUpstream } from './frame/contestants.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';

const ROUNDS = 3;
const WARM_UP = { connections: 32, requests: 2_000 };
const MEASURED = { connections: 32, requests: 4_000 };
const CLIENTS = { connections: 500, requests: 5_000 };
const MANY_CALLS = { connections: 32, requests: 25_000 };
const CHAT_AIM = 2.5;
const PROGRAM = join(import.meta.dir, 'programs/repeated-request.ts');
/** The kernel counts in ticks of ten milliseconds. */
const MICROS_PER_TICK = 10_000;

interface Asked {
  readonly label: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const accept = 'application/json, text/event-stream';
const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 };
const restChat = rest('chat over REST', 'POST', '/chat/completions', JSON.stringify(CHAT));
const restModels = rest('the list of models over REST', 'GET', '/models', '');
const chat2025 = tool2025('chat', CHAT);
const chat2026 = tool2026('chat', CHAT);
const models2025 = tool2025('list_models', {});
const models2026 = tool2026('list_models', {});
const ALL = [restChat, chat2025, chat2026, restModels, models2025, models2026];

export const mcp: Measurement = {
  name: 'mcp',
  what: 'CPU time of one tool call beside the same call over REST, 32 connections, on PostgreSQL and Redis',
  async run(context) {
    const gateway = await startGateway(context, await startUpstream(context), 'servers');
    for (const asked of ALL) await load(gateway, asked, WARM_UP);
    const costs = new Map<Asked, number[]>(ALL.map((asked) => [asked, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const asked of ALL) costs.get(asked)?.push((await load(gateway, asked, MEASURED)).cpuMicros);
    }
    const row = (asked: Asked, reference: Asked | null, aim?: number): Row => {
      const own = costs.get(asked) ?? [];
      const base = reference === null ? null : median(costs.get(reference) ?? []);
      return {
        label: asked.label,
        unit: 'µs',
        ...medianOf(own),
        ...(base === null
          ? {}
          : { beside: { reference: reference?.label ?? '', ratio: median(own) / base } }),
        ...(base === null || aim === undefined ? {} : { aim: { below: aim * base } }),
      };
    };
    return [
      row(restChat, null),
      row(chat2025, restChat, CHAT_AIM),
      row(chat2026, restChat, CHAT_AIM),
      row(restModels, null),
      row(models2025, restModels),
      row(models2026, restModels),
      ...(await underManyClients(gateway)),
      ...(await overManyCalls(gateway)),
    ];
  },
};

async function underManyClients(gateway: Contestant): Promise<Row[]> {
  const { p50Ms } = await load(gateway, chat2026, CLIENTS);
  return [
    { label: `chat, ${CLIENTS.connections} clients at once, half of them within`, value: p50Ms, unit: 'ms' },
  ];
}

/** The first half fills what is ever filled; what the second half adds would be a leak. */
async function overManyCalls(gateway: Contestant): Promise<Row[]> {
  await load(gateway, models2026, MANY_CALLS);
  const before = residentMegabytes(gateway.pid);
  await load(gateway, models2026, MANY_CALLS);
  const value = residentMegabytes(gateway.pid);
  const label = `memory after ${(2 * MANY_CALLS.requests) / 1_000}k more tool calls, over 100k in all`;
  const reference = 'after the first half of them';
  return [{ label, value, unit: 'MB', beside: { reference, ratio: value / before } }];
}

async function load(gateway: Contestant, asked: Asked, bounds: { connections: number; requests: number }) {
  const { method, body } = asked;
  const url = gateway.url.replace('/chat/completions', asked.path);
  const headers = { authorization: `Bearer ${gateway.key}`, ...asked.headers };
  const words = JSON.stringify({ url, method, headers, body, ...bounds });
  const before = cpuMicros(gateway.pid);
  const child = Bun.spawn([process.execPath, PROGRAM, words], { stdout: 'pipe', stderr: 'inherit' });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the load of ${asked.label} failed`);
  const { requests, failed, p50Ms } = JSON.parse(output) as Record<'requests' | 'failed' | 'p50Ms', number>;
  if (failed > 0) throw new Error(`${failed} of ${requests} calls failed: ${asked.label}`);
  return { p50Ms, cpuMicros: (cpuMicros(gateway.pid) - before) / requests };
}

function rest(label: string, method: Asked['method'], path: string, body: string): Asked {
  return { label, method, path, headers: { 'content-type': 'application/json' }, body };
}

function tool2025(name: string, given: object): Asked {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: given },
  });
  const headers = { 'content-type': 'application/json', accept, 'mcp-protocol-version': '2025-11-25' };
  return { label: `${name} as a tool, 2025-11-25`, method: 'POST', path: '/mcp', headers, body };
}

function tool2026(name: string, given: object): Asked {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  };
  const params = { name, arguments: given, _meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const protocol = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': name };
  const headers = { 'content-type': 'application/json', accept, ...protocol };
  return { label: `${name} as a tool, ${version}`, method: 'POST', path: '/mcp', headers, body };
}

/** User and system time so far; the name in brackets may hold spaces. */
function cpuMicros(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK;
}

function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) / 1_024;
}
