import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { fromPglite, PgBoss } from 'pg-boss';
import { openPglite } from '../src/adapters/database/pglite/pglite.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { openJobQueue } from '../src/adapters/job-queue/pg-boss.ts';
import type { Database } from '../src/ports/database.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { measureLatency } from './job-latency.ts';
import { compareQueues, directQueue, ownQueue } from './job-rounds.ts';

const POOL_SIZE = 10;
/** So many in a round that a round takes about a second. */
const JOBS = { postgres: 1_000, pglite: 200 } as const;

const log = createSilentLog();
const bounds = { log, maxWaiting: 2_000, statementTimeoutMs: 10_000 };

export const jobQueue: Measurement = {
  name: 'job-queue',
  what: 'jobs a second, put in and worked off, beside pg-boss on its own; and from enqueue to the handler',
  async run(context) {
    return [...(await onPostgres(context)), ...(await onPglite(context))];
  },
};

async function onPostgres(context: BenchContext): Promise<Row[]> {
  const database = await openPostgres({
    ...bounds,
    url: await context.emptyDatabase(),
    applicationName: 'turnpike bench',
    poolSize: POOL_SIZE,
    connectTimeoutMs: 5_000,
  });
  const boss = new PgBoss({ connectionString: await context.emptyDatabase(), max: POOL_SIZE });
  return await measure(context, 'PostgreSQL', database, boss);
}

async function onPglite(context: BenchContext): Promise<Row[]> {
  const database = await openPglite({ ...bounds, folder: join(await context.embeddedFolder(), 'database') });
  const pglite = await PGlite.create({ dataDir: join(await context.embeddedFolder(), 'database') });
  context.whenEnding(() => pglite.close());
  const boss = new PgBoss({ db: fromPglite(pglite), backend: 'pglite' });
  return await measure(context, 'embedded', database, boss);
}

async function measure(
  { whenEnding, signal }: BenchContext,
  engine: string,
  database: Database,
  boss: PgBoss,
): Promise<Row[]> {
  whenEnding(database.close);
  const queue = await openJobQueue({ database, log });
  whenEnding(() => queue.stop(0));
  whenEnding(() => boss.stop({ graceful: false }));
  boss.on('error', () => {});
  await boss.start();
  const queues = [await directQueue(boss), await ownQueue(queue)] as const;
  return [
    ...(await compareQueues(engine, queues, JOBS[database.engine], signal)),
    ...(await measureLatency(engine, database, queue, signal)),
  ];
}
