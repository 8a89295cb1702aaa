import { existsSync, readFileSync } from 'node:fs';
import type { RunningProcess } from '../test/system/running-system.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { childrenOf } from './frame/process-cpu.ts';
import { stopProcess, whenReady } from './frame/processes.ts';

/** What a start leaves to the garbage collector is gone by then. */
const IDLE_MS = 4_000;
const GATEWAY_AIM_MB = 100;
const OPEN_PGLITE = '../../bench/programs/open-pglite.ts';
const SERVE_NOTHING = '../../bench/programs/serve-nothing.ts';

interface Resident {
  /** Every page it has in memory (RSS). */
  readonly wholeMb: number;
  /** Pages that several processes share are divided among them (PSS): Bun's own program, above all. */
  readonly shareMb: number;
}

export const memory: Measurement = {
  name: 'memory',
  what: `resident memory after ${IDLE_MS / 1000} s without work; "share" divides what processes share (PSS)`,
  async run(context) {
    if (!existsSync('/proc/self/smaps_rollup')) throw new Error('only Linux says what it is measured by');
    return [...(await embedded(context)), ...(await singleServices(context))];
  },
};

async function embedded(context: BenchContext): Promise<Row[]> {
  const env = { DATA_DIR: await context.freshPath() };
  const first = await aloneWhenIdle(context, 'everything.ts', env);
  const warm = await aloneWhenIdle(context, 'everything.ts', env);
  const inOne = await aloneWhenIdle(context, 'everything.ts', { ...env, ONE_PROCESS: 'on' });
  const engine = await aloneWhenIdle(context, OPEN_PGLITE, env);
  const beside = { label: 'PGlite alone', resident: engine };
  return [
    ...rowsOf('PGlite alone, opened by a bare Bun process', engine),
    ...rowsOf('everything, embedded, after its first start', first, beside),
    ...rowsOf('everything, embedded, after a warm start', warm, beside),
    ...rowsOf('the same with ONE_PROCESS=on', inOne, beside),
  ];
}

async function aloneWhenIdle(
  context: BenchContext,
  file: string,
  env: Record<string, string>,
): Promise<Resident> {
  const running = context.startProcess(file, env);
  await whenReady(running);
  await idle(context);
  const resident = residentMemory(running);
  await stopProcess(running);
  return resident;
}

/** On PostgreSQL and Redis, all beside each other as in a deployment. */
async function singleServices(context: BenchContext): Promise<Row[]> {
  const env = {
    DATA_DIR: await context.freshPath(),
    DATABASE_URL: await context.emptyDatabase(),
    REDIS_URL: await context.emptyRedis(),
  };
  const start = async (file: string) => {
    const running = context.startProcess(file, env);
    await whenReady(running);
    return running;
  };
  const running = {
    nothing: await start(SERVE_NOTHING),
    gateway: await start('gateway.ts'),
    backend: await start('backend.ts'),
    ai: await start('ai-service.ts'),
  };
  await idle(context);
  const nothing = residentMemory(running.nothing);
  const beside = { label: 'a bare Bun process', resident: nothing };
  const [gateway, gatewayShare] = rowsOf('a gateway process', residentMemory(running.gateway), beside);
  return [
    ...rowsOf('a bare Bun process that serves nothing', nothing),
    { ...gateway, aim: { below: GATEWAY_AIM_MB } },
    gatewayShare,
    ...rowsOf('a backend process', residentMemory(running.backend), beside),
    ...rowsOf('an AI service process', residentMemory(running.ai), beside),
  ];
}

async function idle({ signal }: BenchContext): Promise<void> {
  await Bun.sleep(IDLE_MS);
  signal.throwIfAborted();
}

/** Of a process and of the children that it has. */
function residentMemory({ pid }: RunningProcess): Resident {
  const each = [pid, ...childrenOf(pid)].map((one) => readFileSync(`/proc/${one}/smaps_rollup`, 'utf8'));
  const megabytes = (name: string) =>
    each.reduce((sum, rollup) => {
      const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(rollup)?.[1];
      if (kibibytes === undefined) throw new Error(`the kernel does not say ${name} of a process`);
      return sum + (Number(kibibytes) * 1024) / 1e6;
    }, 0);
  return { wholeMb: megabytes('Rss'), shareMb: megabytes('Pss') };
}

function rowsOf(
  label: string,
  { wholeMb, shareMb }: Resident,
  beside?: { readonly label: string; readonly resident: Resident },
): [Row, Row] {
  const besideIt = (megabytes: number, kind: keyof Resident) =>
    beside && { beside: { reference: beside.label, ratio: megabytes / beside.resident[kind] } };
  return [
    { label, unit: 'MB', value: wholeMb, ...besideIt(wholeMb, 'wholeMb') },
    { label: `${label}: share`, unit: 'MB', value: shareMb, ...besideIt(shareMb, 'shareMb') },
  ];
}
