import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { TestClock } from 'pg-boss';
import { openPglite } from '../../../src/adapters/database/pglite/pglite.ts';
import { openJobQueue } from '../../../src/adapters/job-queue/pg-boss.ts';
import type { Database } from '../../../src/ports/database.ts';
import type { JobQueue } from '../../../src/ports/job-queue.ts';
import { jobQueueContract } from '../../contracts/job-queue.contract.ts';
import { defineOwn, type OpenUnderTest } from '../../contracts/job-queue-probes.ts';
import { embeddedFolder } from '../../doubles/embedded-folder.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';

const settings = { log: createSilentLog(), maxWaiting: 1_000, statementTimeoutMs: 100_000 };

const openTemporary: OpenUnderTest = async (clock) => {
  const { folder, remove } = await embeddedFolder();
  const database = await openPglite({ ...settings, folder: join(folder, 'database') });
  const { log, entries } = createRecordingLog();
  const queues: JobQueue[] = [];
  return {
    database,
    logged: entries,
    async open(other) {
      const own = other === undefined ? { database, log } : { database: other, log: settings.log };
      const queue = await openJobQueue({ ...own, ...(clock && { clock }) });
      queues.push(queue);
      return queue;
    },
    async close() {
      await Promise.all(queues.map((queue) => queue.stop(0)));
      await database.close();
      await remove();
    },
  };
};

jobQueueContract('PGlite', openTemporary);

test('five idle queues cost at most 12 statements a minute', async () => {
  const clock = new TestClock();
  const { database, open, close } = await openTemporary(clock);
  let statements = 0;
  const count = <T>(text: string, result: T): T => {
    // The test's clock keeps its time in the database.
    if (!text.includes('__pgboss_test_clock')) statements += 1;
    return result;
  };
  const counted: Database = {
    ...database,
    query: (text, values) => count(text, database.query(text, values)),
    script: (text) => count(text, database.script(text)),
    transaction: (work, options) => count('', database.transaction(work, options)),
  };
  const queue = await open(counted);
  for (let n = 0; n < 5; n += 1)
    await queue.work(await defineOwn(queue), { concurrency: 10 }, async () => {});
  await clock.tick(60_000);
  statements = 0;
  await clock.tick(10 * 60_000);
  expect(statements / 10).toBeWithin(1, 12);
  await close();
});
