import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { TestClock } from 'pg-boss';
import { openPostgres } from '../../../src/adapters/database/postgres.ts';
import { openJobQueue } from '../../../src/adapters/job-queue/pg-boss.ts';
import type { Job, JobQueue } from '../../../src/ports/job-queue.ts';
import { jobQueueContract } from '../../contracts/job-queue.contract.ts';
import { createHeldHandler, defineOwn, type OpenUnderTest } from '../../contracts/job-queue-probes.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { until } from '../../doubles/until.ts';
import { freshDatabase } from '../../services/fresh-database.ts';
import { givenDatabase } from '../../services/given.ts';
import { killWorkerInTheMiddle } from './killed-worker-process.ts';

const settings = {
  log: createSilentLog(),
  applicationName: 'turnpike-test',
  poolSize: 4,
  maxWaiting: 1_000,
  connectTimeoutMs: 60_000,
  statementTimeoutMs: 100_000,
};

/** A test's clock reaches one session only, so its pool has one connection. */
async function openFresh(clock?: TestClock) {
  const { url, drop } = await freshDatabase();
  const database = await openPostgres({ ...settings, url, ...(clock && { poolSize: 1 }) });
  const { log, entries } = createRecordingLog();
  const queues: JobQueue[] = [];
  return {
    url,
    database,
    logged: entries,
    async open(other?: typeof database) {
      const own = other === undefined ? { database, log } : { database: other, log: settings.log };
      const queue = await openJobQueue({ ...own, ...(clock && { clock }) });
      queues.push(queue);
      return queue;
    },
    async close() {
      await Promise.all(queues.map((queue) => queue.stop(0)));
      await database.close();
      await drop();
    },
  };
}

describe.skipIf(givenDatabase() === null)('PostgreSQL', () => {
  jobQueueContract('PostgreSQL', openFresh satisfies OpenUnderTest);

  test('ten processes may open at once on an empty database, and all of them work', async () => {
    const { url, drop } = await freshDatabase();
    const databases = await Promise.all(
      Array.from({ length: 10 }, () => openPostgres({ ...settings, url, poolSize: 2 })),
    );
    const { log, entries } = createRecordingLog();
    const queues = await Promise.all(databases.map((database) => openJobQueue({ database, log })));
    const done: string[] = [];
    await Promise.all(
      queues.map(async (queue) => {
        await defineOwn(queue, { name: 'everybody' });
        await queue.work('everybody', { concurrency: 1 }, async (job) => void done.push(job.id));
      }),
    );
    const ids = await Promise.all(queues.map((queue) => queue.enqueue('everybody', {})));
    await until(() => done.length === 10);
    expect(done.toSorted()).toEqual(ids.map(String).toSorted());
    expect(entries.filter((entry) => entry.level === 'error')).toEqual([]);
    await Promise.all(queues.map((queue) => queue.stop(1_000)));
    await Promise.all(databases.map((database) => database.close()));
    await drop();
  });

  test('the job of a worker process that is killed is finished by another, once', async () => {
    const clock = new TestClock();
    const under = await openFresh(clock);
    const queue = await under.open();
    const name = await defineOwn(queue, { retries: 1 });
    const id = await queue.enqueue(name, {});
    await killWorkerInTheMiddle('postgres', under.url, name);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 1, dead: 0 });
    await queue.work(name, { concurrency: 1 }, async (job) => {
      const values = [job.id, job.attempt];
      await under.database.query('insert into effects (job_id, attempt) values ($1, $2)', values);
    });
    // The real clock of the killed process was a little ahead of the test's, which stood still meanwhile.
    await clock.setTime(Date.now() + 5_000);
    await clock.tick(100);
    expect(await queue.counts(name)).toMatchObject({ active: 1 });
    await clock.tick(6_000);
    await until(async () => (await queue.counts(name)).active === 0);
    await clock.tick(60_000);
    expect(await under.database.query('select job_id, attempt from effects')).toEqual([
      { job_id: id, attempt: 2 },
    ]);
    await under.close();
  });

  test('a redrive skips jobs that another one holds, and does not wait for it', async () => {
    const under = await openFresh();
    const queue = await under.open();
    const name = await defineOwn(queue);
    await queue.enqueue(name, {});
    await queue.work(name, { concurrency: 1 }, () => Promise.reject(new Error('no')));
    await until(async () => (await queue.counts(name)).dead === 1);
    await under.database.transaction(async (transaction) => {
      await transaction.query('select id from pgboss.job where name = $1 for update', [`${name}.dead`]);
      expect(await queue.redrive(name)).toBe(0);
    });
    expect(await queue.redrive(name)).toBe(1);
    await under.close();
  });

  test('after an outage of the database results are stored, and work continues', async () => {
    const under = await openFresh();
    const queue = await under.open();
    const name = await defineOwn(queue);
    const { begun, handler, release } = createHeldHandler();
    const after: Job[] = [];
    await queue.work(name, { concurrency: 2 }, async (job) => {
      if (job.data.held) return await handler(job);
      after.push(job);
    });
    await queue.enqueue(name, { held: true });
    await until(() => begun.length === 1);

    const server = new SQL({ url: givenDatabase() ?? '', max: 1 });
    const [database] = new URL(under.url).pathname.split('/').filter(Boolean);
    await server.unsafe(`alter database ${database} allow_connections false`);
    await server.unsafe(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`,
    );
    release();
    await until(() => under.logged.some((entry) => entry.message.includes('cannot reach its tables')));
    await server.unsafe(`alter database ${database} allow_connections true`);
    await server.close();

    await until(async () => (await queue.counts(name).catch(() => null))?.active === 0);
    expect(begun).toHaveLength(1);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 0, dead: 0 });
    await until(async () => (await queue.enqueue(name, {}).catch(() => null)) !== null);
    await until(() => after.length > 0);
    await under.close();
  });
});
