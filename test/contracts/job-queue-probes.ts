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

interface CuttableDatabase extends Database {
  cut(): void;
  mend(): void;
  /** Every statement has been answered. */
  isIdle(): boolean;
  /** The notices that were lost. */
  readonly lost: readonly string[];
}

/**
 * A database whose statements fail while it is cut, as they do for a process that is gone. Mended, it answers
 * again, but its notices are lost for good.
 */
export function cuttable(database: Database): CuttableDatabase {
  let whole = true;
  let deaf = false;
  let pending = 0;
  const lost: string[] = [];
  async function pass<T>(statement: () => Promise<T>, text = ''): Promise<T> {
    // The test's clock keeps its time in the database, and goes on for the others.
    if (!whole && !text.includes('__pgboss_test_clock')) throw new Error('cut');
    pending += 1;
    try {
      return await statement();
    } finally {
      pending -= 1;
    }
  }
  return {
    ...database,
    query: (text, values) => pass(() => database.query(text, values), text),
    script: (text) => pass(() => database.script(text), text),
    transaction: (work, options) => pass(() => database.transaction(work, options)),
    listen: (channel, onMessage, onReconnect) => {
      const hear = (payload: string) => (deaf ? void lost.push(payload) : onMessage(payload));
      return database.listen(channel, hear, onReconnect);
    },
    isIdle: () => pending === 0,
    lost,
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

export async function rejectionOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'nothing was rejected',
    (error: Error) => error.message,
  );
}
