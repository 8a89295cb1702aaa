/**
 * A process of its own for a test to kill: takes a job of the queue, writes `begun` when the handler runs, and
 * never finishes it. Usage: killed-worker (postgres URL | pglite FOLDER) QUEUE
 */
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createSilentLog } from './silent-log.ts';

const [engine, place = '', queue = ''] = process.argv.slice(2);
const settings = { log: createSilentLog(), maxWaiting: 100, statementTimeoutMs: 100_000 };
const database =
  engine === 'postgres'
    ? await openPostgres({
        ...settings,
        url: place,
        applicationName: 'killed-worker',
        poolSize: 2,
        connectTimeoutMs: 60_000,
      })
    : await openPglite({ ...settings, folder: place });
const jobs = await openJobQueue({ database, log: settings.log });
await jobs.define({
  name: queue,
  retries: 1,
  retryDelaySeconds: 0,
  retryDelayMaxSeconds: 0,
  runSeconds: 600,
  heartbeatSeconds: 10,
});
await database.script('create table if not exists effects (job_id text, attempt integer)');
// On the embedded engine no other process can have enqueued it.
if (engine === 'pglite') await jobs.enqueue(queue, { from: 'killed-worker' });
await jobs.work(queue, { concurrency: 1 }, async () => {
  process.stdout.write('begun\n');
  await new Promise(() => {});
});
