import { join } from 'node:path';
import { SQL } from 'bun';
import { type Contestant, startGateway, startUpstream } from './frame/contestants.ts';
import { runLoad } from './frame/load.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { whenReady } from './frame/processes.ts';
import { residentMb } from './frame/resident-memory.ts';

/** Ten for a figure to be believed; one to see that it works. */
const MINUTES = Number(process.env.STEADY_MINUTES ?? '1');
const SHARE_OF_LIMIT = 0.8;
const SLICE_SECONDS = 10;
const LOAD = join(import.meta.dir, 'programs/paced-load.ts');
/** Growth that a collector's own rhythm explains. */
const MEMORY_GROWTH_AIM_MB = 40;

interface Slice {
  readonly calls: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The limit is measured first, in the same run, with the same things on: so 80 % of it means the same on any machine. */
export const steady: Measurement = {
  name: 'steady',
  what: `${MINUTES} minute(s) at 80 % of the measured limit, all three services running (STEADY_MINUTES=10 for ten)`,
  withinMs: (MINUTES + 3) * 60_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const database = await context.emptyDatabase();
    const redis = await context.emptyRedis();
    const ours = await startGateway(context, upstream, 'servers', {
      DATABASE_URL: database,
      REDIS_URL: redis,
    });
    const others = ['backend.ts', 'ai-service.ts'].map((file) =>
      context.startProcess(file, { ...ours.environment, DATABASE_URL: database, REDIS_URL: redis }),
    );
    await Promise.all(others.map(whenReady));
    await runLoad(ours, { connections: 32, seconds: 3, bodyBytes: 0 });
    const { requests } = await runLoad(ours, { connections: 32, seconds: 5, bodyBytes: 0 });
    const perSecond = Math.floor((requests / 5) * SHARE_OF_LIMIT);
    const before = await countCalls(database);
    const memory = watchMemory(context, ours.pid);
    const slices = await pacedLoad(context, ours, perSecond);
    const after = await countCalls(database);
    return rowsOf(requests / 5, perSecond, slices, memory(), after - before);
  },
};

function rowsOf(
  limit: number,
  perSecond: number,
  slices: readonly Slice[],
  memoryMb: readonly number[],
  kept: number,
): Row[] {
  // The first slice warms up; the last may be short.
  const [early, late] = [slices[1] ?? slices[0], slices.at(-2) ?? slices.at(-1)];
  const sum = (figure: (slice: Slice) => number) => slices.reduce((total, slice) => total + figure(slice), 0);
  const calls = sum((slice) => slice.calls);
  const third = Math.ceil(memoryMb.length / 3);
  const [memoryEarly, memoryLate] = [mean(memoryMb.slice(third, 2 * third)), mean(memoryMb.slice(2 * third))];
  const p99s = slices.slice(1).map(({ p99Ms }) => p99Ms);
  return [
    { label: 'the limit, 32 connections', value: limit, unit: '/s' },
    { label: 'the pace', value: perSecond, unit: '/s' },
    { label: `calls that failed, of ${calls}`, value: sum((slice) => slice.failed), unit: 'calls' },
    { label: 'calls answered and not in the books', value: Math.max(0, calls - kept), unit: 'calls' },
    { label: 'p99, early', value: early?.p99Ms ?? 0, unit: 'ms' },
    {
      label: 'p99, late',
      value: late?.p99Ms ?? 0,
      unit: 'ms',
      range: [Math.min(...p99s), Math.max(...p99s)],
    },
    { label: 'memory of the gateway, middle third', value: memoryEarly, unit: 'MB' },
    {
      label: 'memory of the gateway, last third',
      value: memoryLate,
      unit: 'MB',
      aim: { below: memoryEarly + MEMORY_GROWTH_AIM_MB },
    },
  ];
}

async function pacedLoad({ signal }: BenchContext, ours: Contestant, perSecond: number): Promise<Slice[]> {
  const words = [ours.url, ours.key, perSecond, MINUTES * 60, SLICE_SECONDS].map(String);
  const child = Bun.spawn([process.execPath, LOAD, ...words], {
    ...{ stdout: 'pipe', stderr: 'inherit', signal },
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' },
  });
  const output = await new Response(child.stdout).text();
  return output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function watchMemory(context: BenchContext, pid: number): () => readonly number[] {
  const seen: number[] = [];
  const timer = setInterval(() => {
    seen.push(residentMb(pid));
  }, 1_000);
  context.whenEnding(() => clearInterval(timer));
  return () => {
    clearInterval(timer);
    return seen;
  };
}

async function countCalls(url: string): Promise<number> {
  const sql = new SQL({ url, max: 1 });
  try {
    const [row] = await sql`select count(*)::int as calls from calls`;
    return row.calls;
  } finally {
    await sql.close();
  }
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
