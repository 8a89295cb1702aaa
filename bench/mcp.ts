import { type Contestant, startGateway, startUpstream } from './frame/contestants.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';
import {
  chat2025,
  chat2026,
  load,
  type McpRequest,
  models2025,
  models2026,
  restChat,
  restModels,
} from './mcp-calls.ts';

const ROUNDS = 3;
const WARM_UP = { connections: 32, requests: 2_000 };
const MEASURED = { connections: 32, requests: 4_000 };
const CLIENTS = { connections: 500, requests: 5_000 };
const CHAT_AIM = 2.5;
const ALL = [restChat, chat2025, chat2026, restModels, models2025, models2026];

export const mcp: Measurement = {
  name: 'mcp',
  what: 'CPU time of one tool call beside the same call over REST, 32 connections, on PostgreSQL and Redis',
  // A hundred thousand calls, which take a minute on two cores of their own.
  withinMs: 300_000,
  async run(context) {
    const gateway = await startGateway(context, await startUpstream(context), 'servers');
    for (const mcpRequest of ALL) await load(gateway, mcpRequest, WARM_UP);
    const costs = new Map<McpRequest, number[]>(ALL.map((mcpRequest) => [mcpRequest, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const mcpRequest of ALL)
        costs.get(mcpRequest)?.push((await load(gateway, mcpRequest, MEASURED)).cpuMicros);
    }
    const row = (mcpRequest: McpRequest, reference: McpRequest | null, aim?: number): Row => {
      const own = costs.get(mcpRequest) ?? [];
      const base = reference === null ? null : median(costs.get(reference) ?? []);
      return {
        label: mcpRequest.label,
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
    ];
  },
};

/** Beside REST, for the same crowd: most of it is the waiting of 500 for one process. */
async function underManyClients(gateway: Contestant): Promise<Row[]> {
  const rows: Row[] = [];
  for (const mcpRequest of [restChat, chat2025, chat2026]) {
    const { p50Ms, p99Ms } = await load(gateway, mcpRequest, CLIENTS);
    const crowd = `${CLIENTS.connections} clients at once, ${mcpRequest.label}`;
    rows.push({ label: `${crowd}: half within`, value: p50Ms, unit: 'ms' });
    rows.push({ label: `${crowd}: 99 of 100 within`, value: p99Ms, unit: 'ms' });
  }
  return rows;
}
