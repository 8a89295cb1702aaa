import { SQL } from 'bun';
import { migrate } from '../../src/adapters/database/migrate.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { schemaChecksum } from './once-per-run.ts';
import { hasRunner, hostTag, runName } from './run-name.ts';

/** Any number will do, as long as it stays the same: test processes that need the template wait for each other. */
const lockNumber = 4_118_725;

const ensured = new Map<string, Promise<string>>();

/**
 * The name of a database with this code's schema and an empty job queue, made by the first test process of a run
 * that needs it. Once complete it accepts no connections, which is what `CREATE DATABASE … TEMPLATE` asks of its
 * source and how a finished template differs from one whose maker was killed.
 */
export function ensureTemplate(server: string): Promise<string> {
  const known = ensured.get(server) ?? makeTemplate(server);
  ensured.set(server, known);
  return known;
}

async function makeTemplate(server: string): Promise<string> {
  const name = `turnpike_template_${runName()}_${schemaChecksum()}`;
  await whileLocked(server, async (sql) => {
    const [found] = await sql`select datallowconn from pg_database where datname = ${name}`;
    if (found?.datallowconn === false) return;
    // Without a runner no other moment comes to remove what earlier processes have left.
    if (!hasRunner()) await sweepStaleDatabases(server);
    await sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
    const url = new URL(server);
    url.pathname = `/${name}`;
    await fill(url.href);
    await sql.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    // What is still closing must be gone before the first copy.
    await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name}`;
  });
  return name;
}

async function fill(url: string): Promise<void> {
  const log = createSilentLog();
  const bounds = { poolSize: 2, maxWaiting: 10, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000 };
  const database = await openPostgres({ ...bounds, url, log, applicationName: 'turnpike-template' });
  await migrate(database);
  await (await openJobQueue({ database, log })).stop(0);
  await database.close();
}

/** Drops what the named run has left on a server that outlives it. */
export async function dropDatabasesOf(server: string, run: string): Promise<void> {
  await dropDatabases(server, (ofRun) => ofRun === run);
}

/** The same for all runs of this machine that are over. Returns what was dropped. */
export async function sweepStaleDatabases(
  server: string,
  isRunning: (pid: number) => boolean = isProcess,
): Promise<string[]> {
  return await dropDatabases(server, (run) => {
    const [host, pid] = run.split('_');
    return host === hostTag() && !isRunning(Number(pid));
  });
}

async function dropDatabases(server: string, isMeant: (run: string) => boolean): Promise<string[]> {
  const sql = new SQL({ url: server, max: 1 });
  try {
    const rows: { datname: string }[] =
      await sql`select datname from pg_database where datname ~ '^turnpike_(test|template)_' order by datname`;
    const meant = rows
      .map(({ datname }) => datname)
      .filter((name) => isMeant(/^turnpike_[a-z]+_([0-9a-f]{8}_\d+)_[0-9a-f]{8}$/.exec(name)?.[1] ?? ''));
    for (const name of meant) await sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    return meant;
  } finally {
    await sql.close();
  }
}

/** The lock belongs to the session, so it ends with the process that holds it. */
async function whileLocked(server: string, work: (sql: SQL) => Promise<void>): Promise<void> {
  const sql = new SQL({ url: server, max: 1 });
  try {
    await sql`select pg_advisory_lock(${lockNumber})`;
    await work(sql);
  } finally {
    await sql.close();
  }
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
