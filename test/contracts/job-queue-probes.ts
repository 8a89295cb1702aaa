import type { TestClock } from 'pg-boss';
import type { Database } from '../../src/ports/database.ts';
import type { Job, JobHandler, JobQueue, QueueDefinition } from '../../src/ports/job-queue.ts';
import type { Recorded } from '../doubles/recording-log.ts';

interface JobQueueUnderTest {
  readonly database: Database;
  /**
   * Another queue on the same database, as another process would have it. The suite stops them all. Through a
   * `database` of its own it may fail, and is not recorded.
   */
  open(database?: Database): Promise<JobQueue>;
  /** What the others have logged. */
  readonly logged: readonly Recorded[];
  close(): Promise<void>;
}

/** Two processes on one database. */
export interface JobQueuePair {
  readonly under: JobQueueUnderTest;
  readonly queue: JobQueue;
  readonly other: JobQueue;
}

export interface TimedJobQueue extends JobQueuePair {
  readonly clock: TestClock;
}

/** With a clock, the time of the queues and of their database's session is that clock's. */
export type OpenUnderTest = (clock?: TestClock) => Promise<JobQueueUnderTest>;

/** Defines a queue with a name of its own, so that tests do not see each other's jobs. */
export async function defineOwn(queue: JobQueue, changes: Partial<QueueDefinition> = {}): Promise<string> {
  const name = `own-${crypto.randomUUID()}`;
  await queue.define({
    name,
    retries: 0,
    retryDelaySeconds: 0,
    retryDelayMaxSeconds: 0,
    runSeconds: 600,
    heartbeatSeconds: 10,
    ...changes,
  });
  return name;
}

/**
 * A database whose statements fail while it is cut, as they do for a process that is gone. Mended, it answers
 * again, but its notices are lost for good.
 */
export function cuttable(database: Database): Database & { cut(): void; mend(): void } {
  let whole = true;
  let deaf = false;
  const open = (text = '') => {
    // The test's clock keeps its time in the database, and goes on for the others.
    if (!whole && !text.includes('__pgboss_test_clock')) throw new Error('cut');
    return database;
  };
  return {
    ...database,
    query: async (text, values) => await open(text).query(text, values),
    script: async (text) => await open(text).script(text),
    transaction: async (work, options) => await open().transaction(work, options),
    listen: (channel, onMessage, onReconnect) => {
      const hear = (payload: string) => (deaf ? undefined : onMessage(payload));
      return database.listen(channel, hear, onReconnect);
    },
    cut: () => {
      whole = false;
      deaf = true;
    },
    mend: () => {
      whole = true;
    },
  };
}

/** A handler that reports its start and ends when released. */
export function createHeldHandler() {
  const begun: Job[] = [];
  const released = Promise.withResolvers<void>();
  const handler: JobHandler = async (job) => {
    begun.push(job);
    await released.promise;
  };
  return { begun, handler, release: () => released.resolve() };
}

/** Long enough for a job to begin that should not. */
export const aMoment = () => Bun.sleep(60);

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error('it did not come true within a minute');
    await Bun.sleep(5);
  }
}

export async function rejectionOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'nothing was rejected',
    (error: Error) => error.message,
  );
}
