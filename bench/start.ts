import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';
import { stopProcess, whenReady } from './frame/processes.ts';

const FIRST_STARTS = 3;
const WARM_STARTS = 5;
const WARM_AIM_MS = 3_000;

/** Both have a file of their own in bench/programs. */
const SERVE_NOTHING = '../../bench/programs/serve-nothing.ts';
const OPEN_PGLITE = '../../bench/programs/open-pglite.ts';

export const start: Measurement = {
  name: 'start',
  what: 'from the start of the process to its `ready` line: everything in one process',
  async run(context) {
    return [...(await embedded(context)), ...(await onServers(context))];
  },
};

async function embedded(context: BenchContext): Promise<Row[]> {
  const firstAlone: number[] = [];
  const first: number[] = [];
  let env: Record<string, string> = {};
  for (let time = 0; time < FIRST_STARTS; time += 1) {
    firstAlone.push(await timeToReady(context, OPEN_PGLITE, { DATA_DIR: await context.freshPath() }));
    env = { DATA_DIR: await context.freshPath() };
    first.push(await timeToReady(context, 'everything.ts', env));
  }
  const alone: number[] = [];
  const warm: number[] = [];
  for (let time = 0; time < WARM_STARTS; time += 1) {
    alone.push(await timeToReady(context, OPEN_PGLITE, env));
    warm.push(await timeToReady(context, 'everything.ts', env));
  }
  return [
    { label: 'PGlite alone, in an empty folder', unit: 'ms', ...medianOf(firstAlone) },
    {
      label: 'first start, embedded, empty DATA_DIR',
      unit: 'ms',
      ...medianOf(first),
      beside: { reference: 'PGlite alone', ratio: median(first) / median(firstAlone) },
    },
    { label: 'PGlite alone, on the folder of the last start', unit: 'ms', ...medianOf(alone) },
    {
      label: 'warm start, embedded',
      unit: 'ms',
      ...medianOf(warm),
      beside: { reference: 'PGlite alone', ratio: median(warm) / median(alone) },
      aim: { below: WARM_AIM_MS },
    },
  ];
}

async function onServers(context: BenchContext): Promise<Row[]> {
  const env = {
    DATA_DIR: await context.freshPath(),
    DATABASE_URL: await context.emptyDatabase(),
    REDIS_URL: await context.emptyRedis(),
  };
  const first = await timeToReady(context, 'everything.ts', env);
  const bare: number[] = [];
  const warm: number[] = [];
  for (let time = 0; time < WARM_STARTS; time += 1) {
    bare.push(await timeToReady(context, SERVE_NOTHING));
    warm.push(await timeToReady(context, 'everything.ts', env));
  }
  const ratio = median(warm) / median(bare);
  return [
    { label: 'first start, PostgreSQL and Redis, empty database', unit: 'ms', value: first },
    { label: 'a bare Bun process that serves nothing', unit: 'ms', ...medianOf(bare) },
    {
      label: 'warm start, PostgreSQL and Redis',
      unit: 'ms',
      ...medianOf(warm),
      beside: { reference: 'a bare Bun process', ratio },
      aim: { below: WARM_AIM_MS },
    },
  ];
}

async function timeToReady(
  context: BenchContext,
  file: string,
  env: Record<string, string> = {},
): Promise<number> {
  context.signal.throwIfAborted();
  const begin = performance.now();
  const running = context.startProcess(file, env);
  const tookMs = (await whenReady(running)) - begin;
  await stopProcess(running);
  return tookMs;
}
