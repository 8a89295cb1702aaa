import type { Database } from '../src/ports/database.ts';
import type { JobQueue } from '../src/ports/job-queue.ts';
import type { Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';

const TIMES = 100;
const WARM_UP_TIMES = 20;
const QUEUE = 'awaited';
const CHANNEL = 'bench_echo';
const HEARD_WITHIN_MS = 10_000;

/**
 * How long an idle worker's handler waits for a job, from the call of `enqueue`. Beside it a bare notice of the
 * database, sent and received by the same adapter, which is the lower bound for waking a worker.
 */
export async function measureLatency(
  engine: string,
  database: Database,
  queue: JobQueue,
  signal: AbortSignal,
): Promise<Row[]> {
  const arrivals = createArrivals();
  const settings = { retries: 0, retryDelaySeconds: 0, retryDelayMaxSeconds: 0 };
  await queue.define({ name: QUEUE, ...settings, runSeconds: 600, heartbeatSeconds: 60 });
  const worker = await queue.work(QUEUE, { concurrency: 1 }, async () => arrivals.arrive());
  const listener = await database.listen(CHANNEL, arrivals.arrive, () => {});
  const notify = () => database.query('select pg_notify($1, $2)', [CHANNEL, 'a word']);
  const enqueue = () => queue.enqueue(QUEUE, { document: 'a name' });
  const noticeMs: number[] = [];
  const jobMs: number[] = [];
  for (let time = -WARM_UP_TIMES; time < TIMES; time += 1) {
    signal.throwIfAborted();
    const [notice, job] = [await arrivals.timeOf(notify), await arrivals.timeOf(enqueue)];
    // The job is stored as done before the next one comes: the worker is idle again.
    while (worker.status().active > 0) await Bun.sleep(0);
    if (time < 0) continue;
    noticeMs.push(notice);
    jobMs.push(job);
  }
  await listener.close();
  await worker.stop();
  const reference = 'a notice of the database';
  const ratio = median(jobMs) / median(noticeMs);
  return [
    { label: `${engine}, ${reference}, until it is heard`, unit: 'ms', ...medianOf(noticeMs) },
    {
      label: `${engine}, a job, until its handler begins`,
      unit: 'ms',
      ...medianOf(jobMs),
      beside: { reference, ratio },
    },
  ];
}

function createArrivals() {
  let onArrival: (() => void) | null = null;
  return {
    arrive: () => onArrival?.(),
    async timeOf(send: () => Promise<unknown>): Promise<number> {
      const arrived = Promise.withResolvers<number>();
      const begin = performance.now();
      onArrival = () => arrived.resolve(performance.now() - begin);
      const tooLate = setTimeout(() => arrived.reject(new Error('it did not arrive')), HEARD_WITHIN_MS);
      try {
        await send();
        return await arrived.promise;
      } finally {
        clearTimeout(tooLate);
      }
    },
  };
}
