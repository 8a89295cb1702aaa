import { join } from 'node:path';
import { freePort } from '../test/services/free-port.ts';
import { type Contestant, startGateway, startUpstream } from './frame/contestants.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { medianOf } from './frame/median.ts';
import { childrenOf, cpuMicrosWithChildren, ownServerPid } from './frame/process-cpu.ts';

const PROCESSES = [1, 2, 4];
const ROUNDS = 3;
const CONNECTIONS = 64;
const SECONDS = 4;
const LOAD = join(import.meta.dir, 'programs/load.ts');

interface Taken {
  readonly callsPerSecond: number;
  readonly gatewayMicros: number;
  readonly postgresMicros: number;
  readonly redisMicros: number;
}

/**
 * What a call takes of each part, and what more processes bring. On a machine with few cores the load, the upstream and
 * both servers share them with the gateways: there the processor time of a call carries over, the throughput does not.
 */
export const scale: Measurement = {
  name: 'scale',
  what: `small chat calls through 1, 2 and 4 gateway processes on one port, ${CONNECTIONS} connections; processor time of each part a call`,
  withinMs: 240_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const results = new Map<number, Taken[]>();
    for (const count of PROCESSES) {
      const gateways = await startGateway(context, upstream, 'servers', {
        GATEWAY_PROCESSES: String(count),
        GATEWAY_PORT: String(freePort()),
      });
      await callFor(context, gateways, 2);
      const taken: Taken[] = [];
      for (let round = 0; round < ROUNDS; round += 1) taken.push(await callFor(context, gateways, SECONDS));
      results.set(count, taken);
    }
    const first = results.get(1) ?? [];
    return [...results].flatMap(([count, taken]) => rowsOf(count, taken, count === 1 ? null : first));
  },
};

/**
 * Throughput of several processes on two cores says nothing of machines with more: they share the cores with the load. So each
 * part has one core for itself in turn, and all others share the second: what it takes of its own core a call, in
 * microseconds, is what carries over. `taskset` of util-linux, and two cores.
 */
export const scalePinned: Measurement = {
  name: 'scale-pinned',
  what: `small chat calls through 1 gateway process, ${CONNECTIONS} connections; each part alone on a core in turn: its processor time a call`,
  withinMs: 240_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const gateway = await startGateway(context, upstream, 'servers');
    await callFor(context, gateway, 2);
    const parts = {
      gateway: gateway.pid,
      PostgreSQL: ownServerPid('postgres'),
      Redis: ownServerPid('redis-server'),
    };
    const rows: Row[] = [];
    for (const [name, own] of Object.entries(parts)) {
      if (own === null) continue;
      for (const pid of Object.values(parts)) if (pid !== null) pin(pid, pid === own ? 0 : 1);
      const taken: Taken[] = [];
      for (let round = 0; round < PINNED_ROUNDS; round += 1) {
        taken.push(await callFor(context, gateway, SECONDS, 1));
      }
      const figure = {
        gateway: 'gatewayMicros',
        PostgreSQL: 'postgresMicros',
        Redis: 'redisMicros',
      } as const;
      const micros = taken.map((one) => one[figure[name as keyof typeof figure]]);
      rows.push({ label: `${name} alone on a core: a call`, unit: 'µs', ...medianOf(micros) });
      rows.push({
        label: `${name} alone on a core: calls`,
        unit: '/s',
        ...medianOf(taken.map((one) => one.callsPerSecond)),
      });
    }
    return rows;
  },
};

const PINNED_ROUNDS = 5;

function pin(pid: number, core: number): void {
  for (const one of [pid, ...childrenOf(pid)]) {
    const done = Bun.spawnSync(['taskset', '--all-tasks', '--cpu-list', '--pid', String(core), String(one)]);
    if (done.exitCode !== 0) throw new Error(`taskset: ${done.stderr}`);
  }
}

function rowsOf(count: number, taken: readonly Taken[], alone: readonly Taken[] | null): Row[] {
  const who = count === 1 ? '1 process' : `${count} processes`;
  const row = (what: string, unit: Row['unit'], figure: (one: Taken) => number): Row => {
    const { value, range } = medianOf(taken.map(figure));
    const ratio = alone === null ? null : value / medianOf(alone.map(figure)).value;
    const beside = ratio === null ? {} : { beside: { reference: '1 process', ratio } };
    return { label: `${who}: ${what}`, unit, value, range, ...beside };
  };
  return [
    row('calls', '/s', ({ callsPerSecond }) => callsPerSecond),
    row('gateway a call', 'µs', ({ gatewayMicros }) => gatewayMicros),
    row('PostgreSQL a call', 'µs', ({ postgresMicros }) => postgresMicros),
    row('Redis a call', 'µs', ({ redisMicros }) => redisMicros),
  ];
}

async function callFor(
  { signal }: BenchContext,
  gateways: Contestant,
  seconds: number,
  core: number | null = null,
): Promise<Taken> {
  signal.throwIfAborted();
  const [postgres, redis] = [ownServerPid('postgres'), ownServerPid('redis-server')];
  const pids = [gateways.pid, postgres, redis];
  const before = pids.map((pid) => (pid === null ? 0 : cpuMicrosWithChildren(pid)));
  const words = [gateways.url, gateways.key, CONNECTIONS, seconds, 0].map(String);
  const pinned = core === null ? [] : ['taskset', '--cpu-list', String(core)];
  const child = Bun.spawn([...pinned, process.execPath, LOAD, ...words], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { requests, failed } = JSON.parse(await new Response(child.stdout).text());
  if (failed > 0) throw new Error(`${failed} of ${requests} calls failed`);
  const after = pids.map((pid) => (pid === null ? 0 : cpuMicrosWithChildren(pid)));
  const [gatewayMicros = 0, postgresMicros = 0, redisMicros = 0] = after.map(
    (micros, at) => (micros - (before[at] ?? 0)) / requests,
  );
  return { callsPerSecond: requests / seconds, gatewayMicros, postgresMicros, redisMicros };
}
