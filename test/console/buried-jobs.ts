import { join } from 'node:path';
import { migrate } from '../../src/adapters/database/migrate.ts';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { MAIL_QUEUE } from '../../src/domain/mail/outbox.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';

/** Adds this many dead letters of the mail queue to an embedded database that is not open elsewhere. */
export async function buryMails(dataFolder: string, count: number): Promise<void> {
  const log = createSilentLog();
  const folder = join(dataFolder, 'database');
  const database = await openPglite({ folder, log, maxWaiting: 100, statementTimeoutMs: 100_000 });
  await migrate(database);
  const queue = await openJobQueue({ database, log });
  const { name } = MAIL_QUEUE;
  await queue.define({ ...MAIL_QUEUE, retries: 0 });
  for (let sent = 0; sent < count; sent += 1) await queue.enqueue(name, { mailId: crypto.randomUUID() });
  await queue.work(name, { concurrency: 2 }, () => Promise.reject(new Error('the mail server refused')));
  await until(async () => (await queue.counts(name)).dead === count);
  await queue.stop(0);
  await database.close();
}
