import { type Clock, systemClock } from 'pg-boss';
import type { Database } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { acceptData, acceptDefinition, acceptName } from './accepted.ts';
import { createBossDatabase } from './boss-database.ts';
import { createBossTables } from './boss-tables.ts';
import { createEnqueue, LOOK_NOTICE } from './enqueue.ts';
import { textOfOutput } from './error-text.ts';
import { createLookout } from './lookout.ts';
import { discardDeadLetters, redriveDeadLetters } from './redrive.ts';
import { createBoss, defineQueue, startBoss } from './start-boss.ts';
import { createWorkers } from './workers.ts';

export interface JobQueueOptions {
  readonly database: Database;
  readonly log: Log;
  /** pg-boss's kind of clock; its TestClock moves the database's time too. */
  readonly clock?: Clock;
}

const MAX_LISTED = 1_000;

/**
 * Background work on pg-boss, in the schema `pgboss` of our own database. pg-boss keeps the jobs and the cron
 * lines; taking jobs and watching over them is ours (see worker.ts and lookout.ts). It installs its schema under
 * a lock of its own, so any number of processes may open at once.
 */
export async function openJobQueue({
  database,
  log,
  clock = systemClock,
}: JobQueueOptions): Promise<JobQueue> {
  const bossDatabase = createBossDatabase(database, {
    onNotice: (payload) => (payload === LOOK_NOTICE ? lookout.look() : lookout.wake(payload)),
    onReconnect: () => lookout.noticesArrive(),
  });
  const boss = createBoss(database, bossDatabase, clock);
  const tables = createBossTables(boss.getDb());
  const lookout = createLookout({ boss, tables, clock, log, isListening: bossDatabase.isListening });
  const workers = createWorkers({ boss, bossDatabase, tables, lookout, clock, log });
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
      // The key makes an occurrence wait for the one before it to be done.
      await boss.schedule(queue, cron, data, { tz: 'UTC', missed: 'once', singletonKey: 'schedule' });
    },
    async unschedule(queue) {
      acceptName(queue);
      await boss.unschedule(queue);
    },
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
