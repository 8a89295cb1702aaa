import { join } from 'node:path';
import { type Contestant, startGateway, startNginx, startProgram } from './frame/contestants.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';
import { cpuMicros } from './frame/process-cpu.ts';

const STREAMS = 2_000;
const CHUNK_GAP_MS = 200;
const CHUNKS = 40;
/** The chunks, the usage and [DONE]. */
const EVENTS = CHUNKS + 2;
const ROUNDS = 2;
const NGINX_TIMES = 4;
const UPSTREAM = '../../bench/programs/paced-upstream.ts';
const PROGRAM = join(import.meta.dir, 'programs/count-streams.ts');

export const pacedStreams: Measurement = {
  name: 'paced-streams',
  what: `${STREAMS} streams of ${1_000 / CHUNK_GAP_MS} chunks a second each through one process on one core, every event counted; CPU time a chunk`,
  withinMs: 240_000,
  async run(context) {
    const pace = { CHUNK_GAP_MS: `${CHUNK_GAP_MS}`, CHUNKS: `${CHUNKS}` };
    const upstream = await startProgram(context, UPSTREAM, pace);
    const nginx = await startNginx(context, upstream);
    const ours = await startGateway(context, upstream, 'servers');
    const all = [nginx, ours].filter((one) => one !== null);
    const costs = new Map<Contestant, number[]>(all.map((one) => [one, []]));
    for (const one of all) await pinToOneCore(one);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const one of all) costs.get(one)?.push(await chunkMicros(context, one));
    }
    const least = nginx === null ? null : median(costs.get(nginx) ?? []);
    return [...costs].map(([one, taken]): Row => {
      const row: Row = { label: `${one.name}, not an event lost`, unit: 'µs', ...medianOf(taken) };
      if (least === null || one === nginx) return row;
      const beside = { reference: 'nginx', ratio: median(taken) / least };
      return { ...row, beside, aim: { below: NGINX_TIMES * least } };
    });
  },
};

async function chunkMicros({ signal }: BenchContext, one: Contestant): Promise<number> {
  signal.throwIfAborted();
  const before = cpuMicros(one.pid);
  const words = [one.url, one.key, `${STREAMS}`];
  const child = Bun.spawn([process.execPath, PROGRAM, ...words], {
    ...{ stdout: 'pipe', stderr: 'inherit', signal },
  });
  const output = await new Response(child.stdout).text();
  const { whole, events } = JSON.parse(output) as { whole: number; events: number };
  if (whole !== STREAMS || events !== STREAMS * EVENTS) {
    throw new Error(
      `${one.name}: ${whole} of ${STREAMS} streams were whole, with ${events} of ${STREAMS * EVENTS} events`,
    );
  }
  return (cpuMicros(one.pid) - before) / (STREAMS * CHUNKS);
}

/** With all its threads. Where the machine has no taskset, or one core, it runs where it runs. */
async function pinToOneCore({ pid }: Contestant): Promise<void> {
  const program = Bun.which('taskset');
  if (program === null) return;
  await Bun.spawn([program, '-acp', '0', `${pid}`], { stdout: 'ignore', stderr: 'ignore' }).exited;
}
