import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { TestClock } from 'pg-boss';
import { openPglite } from '../../../src/adapters/database/pglite/pglite.ts';
import { openJobQueue } from '../../../src/adapters/job-queue/pg-boss.ts';
import { defineOwn } from '../../contracts/job-queue-probes.ts';
import { embeddedFolder } from '../../doubles/embedded-folder.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { until } from '../../doubles/until.ts';
import { killWorkerInTheMiddle } from './killed-worker-process.ts';

const settings = { log: createSilentLog(), maxWaiting: 1_000, statementTimeoutMs: 100_000 };

test('the job of a killed process is finished by the next one that opens the folder, once', async () => {
  const embedded = await embeddedFolder();
  const folder = join(embedded.folder, 'database');
  await killWorkerInTheMiddle('pglite', folder, 'orders');
  const database = await openPglite({ ...settings, folder });
  const clock = new TestClock();
  const queue = await openJobQueue({ database, log: settings.log, clock });
  await defineOwn(queue, { name: 'orders', retries: 1 });
  await queue.work('orders', { concurrency: 1 }, async ({ id, attempt }) => {
    await database.query('insert into effects (job_id, attempt) values ($1, $2)', [id, attempt]);
  });
  await clock.tick(100);
  expect(await queue.counts('orders')).toEqual({ waiting: 0, active: 1, dead: 0 });
  await clock.tick(11_000);
  await until(async () => (await queue.counts('orders')).active === 0);
  await clock.tick(60_000);
  expect(await database.query('select attempt from effects')).toEqual([{ attempt: 2 }]);
  await queue.stop(0);
  await database.close();
  await embedded.remove();
});
