import type { Clock, PgBoss } from 'pg-boss';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { BossDatabase } from './boss-database.ts';
import type { BossTables } from './boss-tables.ts';
import { endsWithin } from './ends-within.ts';
import type { Lookout } from './lookout.ts';
import { createSettle } from './settle.ts';
import { startWorker, type Worker } from './worker.ts';

const MAX_CONCURRENCY = 1_000;
/** For putting jobs back, past the deadline of a stop. */
const STOP_MARGIN_MS = 5_000;

interface WorkersOptions {
  readonly boss: PgBoss;
  readonly bossDatabase: BossDatabase;
  readonly tables: BossTables;
  readonly lookout: Lookout;
  readonly clock: Clock;
  readonly log: Log;
}

/** All workers of this process, which stop together. */
export function createWorkers(options: WorkersOptions): Pick<JobQueue, 'work' | 'stop'> {
  const { boss, lookout, clock, log } = options;
  const workers = new Set<Worker>();
  let stopping: Promise<void> | null = null;
  let pastDeadline = false;
  const settle = createSettle({ ...options, isStopping: () => pastDeadline });

  async function stopAll(deadlineMs: number): Promise<void> {
    lookout.stop();
    const deadline = setTimeout(() => {
      pastDeadline = true;
    }, deadlineMs);
    const stopped = Promise.all([...workers].map((worker) => worker.stopWithin(deadlineMs)));
    await endsWithin(stopped, deadlineMs + STOP_MARGIN_MS);
    clearTimeout(deadline);
    const bossStopped = boss
      .stop({ graceful: false, close: false })
      .catch((error) => log.warn('the job queue did not stop cleanly', { error }));
    await endsWithin(bossStopped, STOP_MARGIN_MS);
  }

  return {
    async work(queue, { concurrency }, handler) {
      if (stopping !== null) throw new Error('the job queue has been stopped');
      if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY) {
        throw new RangeError(`concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}`);
      }
      const worker = startWorker({ boss, queue, concurrency, handler, settle, lookout, clock, log });
      workers.add(worker);
      const { status } = worker;
      return { status, stop: () => worker.stop().finally(() => workers.delete(worker)) };
    },
    stop(deadlineMs) {
      stopping ??= stopAll(deadlineMs);
      return stopping;
    },
  };
}
