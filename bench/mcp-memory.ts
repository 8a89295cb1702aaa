import { type Contestant, startGateway, startUpstream } from './frame/contestants.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { residentMb } from './frame/resident-memory.ts';
import { chat2025, chat2026, load, models2025, models2026 } from './mcp-calls.ts';

/** In turn, so that every way of answering gets its share. */
const TURNS = [chat2025, models2025, chat2026, models2026];
const CALLS_A_TURN = 5_000;
const CONNECTIONS = 32;
const LOOKED_AT = [20_000, 60_000, 100_000];
/** What collects garbage in its own time is not flat to the byte; a leak of 1 KB a call would be 80 MB. */
const MOST_GROWTH = 1.15;

export const mcpMemory: Measurement = {
  name: 'mcp-memory',
  what: 'resident memory of a gateway process under 100,000 tool calls in both eras, 32 connections',
  withinMs: 300_000,
  async run(context) {
    const gateway = await startGateway(context, await startUpstream(context), 'servers');
    const rows: Row[] = [{ label: 'before the first', value: residentMb(gateway.pid), unit: 'MB' }];
    let calls = 0;
    let first: number | null = null;
    for (const wanted of LOOKED_AT) {
      calls = await callUntil(gateway, calls, wanted);
      const value = residentMb(gateway.pid);
      const label = `after ${wanted.toLocaleString('en')} tool calls`;
      rows.push(first === null ? { label, value, unit: 'MB' } : beside(label, value, first));
      first ??= value;
    }
    return rows;
  },
};

async function callUntil(gateway: Contestant, made: number, wanted: number): Promise<number> {
  let calls = made;
  while (calls < wanted) {
    const mcpRequest = TURNS[(calls / CALLS_A_TURN) % TURNS.length] ?? chat2025;
    await load(gateway, mcpRequest, { connections: CONNECTIONS, requests: CALLS_A_TURN });
    calls += CALLS_A_TURN;
  }
  return calls;
}

function beside(label: string, value: number, first: number): Row {
  const reference = `after ${LOOKED_AT[0]?.toLocaleString('en')}`;
  return {
    label,
    value,
    unit: 'MB',
    beside: { reference, ratio: value / first },
    aim: { below: MOST_GROWTH * first },
  };
}
