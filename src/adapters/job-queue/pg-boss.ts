import { type Clock, type ConstructorOptions, PgBoss, systemClock } from 'pg-boss';
import type { Database } from '../../ports/database.ts';
import type { JobQueue, QueueDefinition } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { type BossDatabase, createBossDatabase } from './boss-database.ts';
import { type BossTables, createBossTables, discardDeadLetters, redriveDeadLetters } from './boss-tables.ts';
import {
  acceptData,
  acceptDefinition,
  acceptName,
  deadLetterQueueOf,
  singletonKeyFor,
  textOfOutput,
} from './job-limits.ts';
import { createJobSupervisor } from './job-supervisor.ts';
import { createSettle, endsWithin, startWorker, type Worker, type WorkerParts } from './worker.ts';

interface JobQueueOptions {
  readonly database: Database;
  readonly log: Log;
  /** pg-boss's clock interface. Its TestClock also moves the database's time. */
  readonly clock?: Clock;
}

const MAX_LISTED = 1_000;

/**
 * Background jobs on pg-boss, in the schema `pgboss` of our database. pg-boss stores the jobs and schedules; worker.ts and
 * job-supervisor.ts run and supervise them. It installs its schema under its own lock, so any number of processes may open
 * it at once.
 */
export async function openJobQueue({
  database,
  log,
  clock = systemClock,
}: JobQueueOptions): Promise<JobQueue> {
  const bossDatabase = createBossDatabase(database, {
    onNotice: (payload) => (payload === LOOK_NOTICE ? supervisor.check() : supervisor.wake(payload)),
    onReconnect: () => supervisor.noticesArrive(),
  });
  const boss = createBoss(database, bossDatabase, clock);
  const tables = createBossTables(boss.getDb());
  const supervisor = createJobSupervisor({ boss, tables, clock, log, isListening: bossDatabase.isListening });
  const workers = createWorkers({ boss, bossDatabase, tables, supervisor, clock, log });
  const enqueue = createEnqueue({ boss, bossDatabase, tables });
  await startBoss(boss, log);

  const defined = new Set<string>();
  function acceptDefined(queue: string): void {
    if (!defined.has(queue)) throw new Error(`the queue "${queue}" has not been defined in this process`);
  }

  return {
    async define(queue) {
      acceptDefinition(queue);
      await defineQueue(boss, queue);
      defined.add(queue.name);
    },
    async enqueue(queue, data, options) {
      acceptDefined(queue);
      return await enqueue(queue, data, options);
    },
    async work(queue, options, handler) {
      acceptDefined(queue);
      return await workers.work(queue, options, handler);
    },
    async schedule(queue, cron, data) {
      acceptDefined(queue);
      acceptData(queue, data);
      // The key delays an occurrence until the previous one is done.
      await boss.schedule(queue, cron, data, { tz: 'UTC', missed: 'once', singletonKey: 'schedule' });
    },
    async unschedule(queue) {
      acceptName(queue);
      await boss.unschedule(queue);
    },
    names: () => [...defined].sort(),
    async counts(queue) {
      acceptName(queue);
      return await tables.counts(queue);
    },
    async deadLetters(queue, limit, after) {
      acceptName(queue);
      const stored = await tables.deadLetters(queue, Math.min(limit, MAX_LISTED), after ?? null);
      return stored.map(({ jobId, data, output, failedAt }) => {
        return { id: jobId, data: { ...data }, error: textOfOutput(output), failedAt };
      });
    },
    async redrive(queue, ids) {
      acceptDefined(queue);
      return await redriveDeadLetters({ boss, bossDatabase, database, tables }, queue, ids ?? null);
    },
    async discard(queue, ids) {
      acceptName(queue);
      return await discardDeadLetters({ bossDatabase, database, tables }, queue, ids);
    },
    stop: workers.stop,
  };
}

/** The notification of a delayed job: workers poll to find out when it is due. */
const LOOK_NOTICE = 'look';

interface Enqueuing {
  readonly boss: PgBoss;
  readonly bossDatabase: BossDatabase;
  readonly tables: BossTables;
}

function createEnqueue({ boss, bossDatabase, tables }: Enqueuing): JobQueue['enqueue'] {
  return async (queue, data, { within, dedupeKey, startAfter, owner } = {}) => {
    acceptData(queue, data);
    const group = owner === undefined ? {} : { group: { id: owner } };
    const db = within === undefined ? boss.getDb() : bossDatabase.within(within);
    const later = startAfter === undefined ? {} : { startAfter };
    const id = await boss.send(queue, data, {
      db,
      singletonKey: singletonKeyFor(dedupeKey),
      ...later,
      ...group,
    });
    const channel = bossDatabase.channel();
    if (id === null || startAfter === undefined || channel === null) return id;
    // pg-boss notifies only about jobs that are due.
    await tables.notify(db, channel, LOOK_NOTICE);
    return id;
  };
}

const DAY_SECONDS = 24 * 60 * 60;
const DEAD_LETTERS_KEPT_SECONDS = 90 * DAY_SECONDS;
/** pg-boss deletes jobs that have waited this long. None of ours may be deleted. */
const WAITING_KEPT_SECONDS = 10 * 365 * DAY_SECONDS;
/** The queue to which pg-boss sends scheduled jobs. */
const FORWARDING_QUEUE = '__pgboss__send-it';
const NO_JOB = '00000000-0000-0000-0000-000000000000';

function createBoss(database: Database, db: BossDatabase, clock: Clock): PgBoss {
  return new PgBoss(settingsFor(database, db, clock));
}

async function startBoss(boss: PgBoss, log: Log): Promise<void> {
  // An `error` event without a listener would end the process.
  boss.on('error', (error) => log.error('background work of the job queue failed', { error }));
  boss.on('warning', ({ message, data }) => log.warn(message, { ...data }));
  try {
    await boss.start();
    await boss.updateQueue(FORWARDING_QUEUE, {
      notify: true,
      expireInSeconds: 60,
      deleteAfterSeconds: DAY_SECONDS,
    });
  } catch (error) {
    await boss.stop({ graceful: false, close: false }).catch(() => {});
    throw error;
  }
}

/** `exclusive` rejects a second job with the same key while the first waits or runs. */
async function defineQueue(boss: PgBoss, queue: QueueDefinition): Promise<void> {
  const deadLetter = deadLetterQueueOf(queue.name);
  const kept = { retentionSeconds: DEAD_LETTERS_KEPT_SECONDS, deleteAfterSeconds: DAY_SECONDS };
  await boss.createQueue(deadLetter, kept);
  const settings = {
    deadLetter,
    notify: true,
    retryLimit: queue.retries,
    retryDelay: queue.retryDelaySeconds,
    retryBackoff: true,
    retryDelayMax: queue.retryDelayMaxSeconds,
    expireInSeconds: queue.runSeconds,
    heartbeatSeconds: queue.heartbeatSeconds,
    retentionSeconds: WAITING_KEPT_SECONDS,
    deleteAfterSeconds: DAY_SECONDS,
  };
  await boss.createQueue(queue.name, { ...settings, policy: 'exclusive' });
  await boss.updateQueue(queue.name, settings);
  // pg-boss reads the queue's row once, on its own connection. Within a transaction of the embedded engine, which has one
  // connection, that would be a deadlock, so it is read now.
  await boss.findJobs(queue.name, { id: NO_JOB });
}

function settingsFor(database: Database, db: BossDatabase, clock: Clock): ConstructorOptions {
  return {
    db,
    backend: database.engine,
    clock,
    useListenNotify: true,
    // Our supervisor finds lost and overlong runs. What remains is removing old jobs, which is not urgent.
    superviseIntervalSeconds: 300,
    monitorIntervalSeconds: 300,
    maintenanceIntervalSeconds: 3_600,
    queueCacheIntervalSeconds: 3_600,
    bamIntervalSeconds: 600,
    // No job depends on another.
    flowIntervalSeconds: DAY_SECONDS,
    cronMonitorIntervalSeconds: 30,
    cronWorkerIntervalSeconds: 45,
    // Rebuilding would block all other statements of the embedded engine.
    reindex: database.engine === 'postgres',
  };
}

const MAX_CONCURRENCY = 1_000;
/** The time for returning jobs to the queue after the deadline of a stop. */
const STOP_MARGIN_MS = 5_000;

/** All workers of this process, which stop together. */
function createWorkers(options: WorkerParts): Pick<JobQueue, 'work' | 'stop'> {
  const { boss, supervisor, clock, log } = options;
  const workers = new Set<Worker>();
  let stopping: Promise<void> | null = null;
  let pastDeadline = false;
  const settle = createSettle({ ...options, isStopping: () => pastDeadline });

  async function stopAll(deadlineMs: number): Promise<void> {
    supervisor.stop();
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
    async work(queue, { concurrency, perOwner }, handler) {
      if (stopping !== null) throw new Error('the job queue has been stopped');
      if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY) {
        throw new RangeError(`concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}`);
      }
      if (perOwner !== undefined && !(Number.isInteger(perOwner) && perOwner >= 1)) {
        throw new RangeError('perOwner must be a whole number from 1');
      }
      const worker = startWorker({
        ...{ boss, queue, concurrency, perOwner, handler, settle, supervisor, clock, log },
      });
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
