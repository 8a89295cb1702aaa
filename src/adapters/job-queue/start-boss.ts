import { type Clock, type ConstructorOptions, PgBoss } from 'pg-boss';
import type { Database } from '../../ports/database.ts';
import type { QueueDefinition } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { deadLetterQueueOf } from './accepted.ts';
import type { BossDatabase } from './boss-database.ts';

const DAY_SECONDS = 24 * 60 * 60;
const DEAD_LETTERS_KEPT_SECONDS = 90 * DAY_SECONDS;
/** pg-boss throws away what has waited this long; nothing of ours may be thrown away. */
const WAITING_KEPT_SECONDS = 10 * 365 * DAY_SECONDS;
/** Where pg-boss forwards what a cron line brings. */
const FORWARDING_QUEUE = '__pgboss__send-it';
const NOBODY = '00000000-0000-0000-0000-000000000000';

export function createBoss(database: Database, db: BossDatabase, clock: Clock): PgBoss {
  return new PgBoss(settingsFor(database, db, clock));
}

export async function startBoss(boss: PgBoss, log: Log): Promise<void> {
  // An `error` event nobody listens to would end the process.
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

/** `exclusive` keeps a second job with the same key out for exactly as long as the first waits or runs. */
export async function defineQueue(boss: PgBoss, queue: QueueDefinition): Promise<void> {
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
  // pg-boss reads the queue's row once, on its own connection. Inside a transaction of the embedded engine,
  // which has one connection, it would wait for itself, so it reads it now.
  await boss.findJobs(queue.name, { id: NOBODY });
}

function settingsFor(database: Database, db: BossDatabase, clock: Clock): ConstructorOptions {
  return {
    db,
    backend: database.engine,
    clock,
    useListenNotify: true,
    // Lost and overlong runs are found by our lookout; what remains is removing old jobs, which has time.
    superviseIntervalSeconds: 300,
    monitorIntervalSeconds: 300,
    maintenanceIntervalSeconds: 3_600,
    queueCacheIntervalSeconds: 3_600,
    bamIntervalSeconds: 600,
    // We have no jobs that wait for other jobs.
    flowIntervalSeconds: DAY_SECONDS,
    cronMonitorIntervalSeconds: 30,
    cronWorkerIntervalSeconds: 45,
    // The embedded engine would hold everybody up while it rebuilds.
    reindex: database.engine === 'postgres',
  };
}
