import type { PgBoss } from 'pg-boss';
import type { JobQueue } from '../src/ports/job-queue.ts';
import type { Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';

const ROUNDS = 3;
const ENQUEUED_AT_ONCE = 16;
const WORKED_AT_ONCE = 20;
const QUEUE = 'measured';

/** A queue that is filled and emptied. */
interface MeasuredQueue {
  readonly label: string;
  enqueue(): Promise<unknown>;
  /** Resolves once that many jobs have run and are stored as done. */
  workOff(count: number): Promise<void>;
}

export async function ownQueue(queue: JobQueue): Promise<MeasuredQueue> {
  await queue.define({
    name: QUEUE,
    retries: 0,
    retryDelaySeconds: 0,
    retryDelayMaxSeconds: 0,
    runSeconds: 600,
    heartbeatSeconds: 60,
  });
  return {
    label: 'our queue',
    enqueue: () => queue.enqueue(QUEUE, { document: 'a name' }),
    async workOff(count) {
      const all = Promise.withResolvers<void>();
      let left = count;
      const worker = await queue.work(QUEUE, { concurrency: WORKED_AT_ONCE }, async () => {
        left -= 1;
        if (left === 0) all.resolve();
      });
      await all.promise;
      await worker.stop();
    },
  };
}

/** pg-boss on its own client, in the least number of statements: a fetch for many jobs, an end for each. */
export async function directQueue(boss: PgBoss): Promise<MeasuredQueue> {
  await boss.createQueue(QUEUE);
  return {
    label: 'pg-boss directly',
    enqueue: () => boss.send(QUEUE, { document: 'a name' }),
    async workOff(count) {
      for (let left = count; left > 0; ) {
        const jobs = await boss.fetch(QUEUE, { batchSize: WORKED_AT_ONCE });
        if (jobs.length === 0) throw new Error(`${left} jobs are missing`);
        await Promise.all(jobs.map(({ id }) => boss.complete(QUEUE, id)));
        left -= jobs.length;
      }
    },
  };
}

/** The first is the reference. They take turns; a small first round warms up and does not count. */
export async function compareQueues(
  engine: string,
  queues: readonly [MeasuredQueue, MeasuredQueue],
  jobs: number,
  signal: AbortSignal,
): Promise<Row[]> {
  const filled = queues.map((): number[] => []);
  const workedOff = queues.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [place, queue] of queues.entries()) {
      signal.throwIfAborted();
      const count = round === 0 ? Math.ceil(jobs / 4) : jobs;
      const fillRate = await rateOf(count, () => fill(queue, count));
      const workRate = await rateOf(count, () => queue.workOff(count));
      if (round === 0) continue;
      filled[place]?.push(fillRate);
      workedOff[place]?.push(workRate);
    }
  }
  return [
    ...rowsOf(`${engine}, enqueued, ${ENQUEUED_AT_ONCE} at once`, queues, filled),
    ...rowsOf(`${engine}, worked off, ${WORKED_AT_ONCE} at once`, queues, workedOff),
  ];
}

async function fill({ enqueue }: MeasuredQueue, count: number): Promise<void> {
  let left = count;
  async function repeat(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await enqueue();
    }
  }
  await Promise.all(Array.from({ length: ENQUEUED_AT_ONCE }, repeat));
}

async function rateOf(count: number, work: () => Promise<void>): Promise<number> {
  const begin = performance.now();
  await work();
  return (count * 1000) / (performance.now() - begin);
}

function rowsOf(what: string, queues: readonly MeasuredQueue[], rates: readonly number[][]): Row[] {
  const [reference] = queues;
  return queues.map((queue, place): Row => {
    const row: Row = { label: `${what}: ${queue.label}`, unit: '/s', ...medianOf(rates[place] ?? []) };
    if (queue === reference || reference === undefined) return row;
    const ratio = row.value / median(rates[0] ?? []);
    return { ...row, beside: { reference: reference.label, ratio } };
  });
}
