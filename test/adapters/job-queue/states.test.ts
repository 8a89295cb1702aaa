import { beforeAll, expect, test } from 'bun:test';
import { TestClock } from 'pg-boss';
import { openJobQueue } from '../../../src/adapters/job-queue/pg-boss.ts';
import type { Database } from '../../../src/ports/database.ts';
import type { JobQueue, QueueWorker } from '../../../src/ports/job-queue.ts';
import { defineOwn } from '../../contracts/job-queue-probes.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { until } from '../../doubles/until.ts';
import { useDatabase } from '../../setup/use-database.ts';

const clock = new TestClock();
const { log } = createRecordingLog();
const outage = { isUnavailable: false };
const database = useDatabase({ beforeClose: () => queue.stop(0) });
let queue: JobQueue;
let worker: QueueWorker;

beforeAll(async () => {
  // Only the look at the tables: the test's clock moves the database's time by other statements.
  const failing: Database = {
    ...database,
    query: (text, ...rest) =>
      outage.isUnavailable && text.includes('lapsesInMs')
        ? Promise.reject(new Error('away'))
        : database.query(text, ...rest),
  };
  queue = await openJobQueue({ database: failing, log, clock });
  const name = await defineOwn(queue);
  worker = await queue.work(name, { concurrency: 2 }, async () => {});
});

test('A-2 a worker reports failing while its queue cannot be reached, and running when it can again', async () => {
  await until(() => worker.status().state === 'running');
  outage.isUnavailable = true;
  await clock.tick(31_000);
  await until(() => worker.status().state === 'failing');
  expect(worker.status()).toEqual({ state: 'failing', active: 0, idle: 2 });
  outage.isUnavailable = false;
  await clock.tick(3_000);
  await until(() => worker.status().state === 'running');
});

test('A-2 a stopped worker reports stopped, and has no free slots', async () => {
  await queue.stop(1_000);
  expect(worker.status()).toEqual({ state: 'stopped', active: 0, idle: 0 });
});
