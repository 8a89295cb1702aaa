import type { Db, PgBoss } from 'pg-boss';
import type { Database, Statements } from '../../ports/database.ts';
import type { DeadLetterPlace, QueueCounts, QueueDepth } from '../../ports/job-queue.ts';
import type { BossDatabase } from './boss-database.ts';
import { deadLetterQueueOf, isDeadLetterQueue } from './job-limits.ts';

/** Identifies the claim of a run: the count grows each time a job is claimed. */
export interface Claim {
  readonly id: string;
  readonly retryCount: number;
}

export interface QueueOutlook {
  readonly name: string;
  /** Whether a job is due. */
  readonly ready: boolean;
  /** Time until the next delayed job is due. */
  readonly startsInMs: number | null;
  /** Time until the first claim expires: no heartbeat for too long, or the run takes too long. */
  readonly lapsesInMs: number | null;
}

interface Lapsed extends Claim {
  readonly silent: boolean;
}

interface StoredDeadLetter {
  readonly rowId: string;
  readonly jobId: string;
  readonly data: object;
  readonly singletonKey: string;
  readonly owner: string | null;
  readonly output: unknown;
  readonly failedAt: Date;
}

/** Extra seconds, so that a worker can fail its own overlong run first. */
const LAPSE = `least(started_on + (expire_seconds + 2) * interval '1s',
  heartbeat_on + heartbeat_seconds * interval '1s')`;

/** `policy = 'exclusive'` makes the query use pg-boss's partial index on these rows. */
const UNFINISHED = "policy = 'exclusive' and state <= 'active'";

const OUTLOOK = `select name,
    coalesce(bool_or(state < 'active' and start_after <= pgboss.job_now()), false) as ready,
    (extract(epoch from min(start_after) filter (where state < 'active' and start_after > pgboss.job_now())
      - pgboss.job_now()) * 1000)::float8 as "startsInMs",
    (extract(epoch from min(${LAPSE}) filter (where state = 'active')
      - pgboss.job_now()) * 1000)::float8 as "lapsesInMs"
  from pgboss.job where name = any($1::text[]) and ${UNFINISHED} group by name`;

const LAPSED = `select id, retry_count as "retryCount",
    heartbeat_on + heartbeat_seconds * interval '1s' <= pgboss.job_now() as silent
  from pgboss.job where name = $1 and ${UNFINISHED} and state = 'active' and ${LAPSE} <= pgboss.job_now()
  limit 1000`;

/** Without `started_on`, the next claim does not count as a retry. */
const PUT_BACK = `with back as (
    update pgboss.job set started_on = null, heartbeat_on = null, start_after = pgboss.job_now(),
      state = (case when retry_count > 0 then 'retry' else 'created' end)::pgboss.job_state
    where name = $1 and state = 'active' and (id::text || ':' || retry_count::text) = any($2::text[])
    returning id)
  select count(*)::integer as count from back`;

const COUNTS = `select
    (count(*) filter (where state < 'active'))::integer as waiting,
    (count(*) filter (where state = 'active'))::integer as active,
    (select count(*)::integer from pgboss.job where name = $2 and state < 'active') as dead
  from pgboss.job where name = $1 and ${UNFINISHED}`;

const DEAD_LETTER_COLUMNS = `id as "rowId", source_id as "jobId", data, singleton_key as "singletonKey",
  group_id as owner, source_output as output, created_on as "failedAt"`;

/** To the millisecond, the precision of Date. */
const DEAD_LETTERS = `select ${DEAD_LETTER_COLUMNS} from pgboss.job
  where name = $1 and state < 'active' and ($3::timestamptz is null
    or (date_trunc('milliseconds', created_on), source_id::text) < ($3::timestamptz, $4::text))
  order by date_trunc('milliseconds', created_on) desc, source_id::text desc limit $2::integer`;

/** The ids of the dead letters of a redrive. Only ids are read: each job may have 256 KiB. */
const DEAD_LETTER_ROWS = `select id from pgboss.job
  where name = $1 and state < 'active' and ($2::text[] is null or source_id::text = any($2::text[]))
  order by created_on, id limit 100000`;

const LOCK_DEAD_LETTERS = `select ${DEAD_LETTER_COLUMNS} from pgboss.job
  where name = $1 and state < 'active' and id = any($2::uuid[])
  order by created_on, id for update skip locked`;

const FORGET_FAILED = "delete from pgboss.job where name = $1 and id = any($2::uuid[]) and state = 'failed'";
const FORGET_DEAD_LETTERS = 'delete from pgboss.job where name = $1 and id = any($2::uuid[])';

/** Statements on pg-boss's tables for what it has no function for. Its version is pinned. */
export function createBossTables(db: Db) {
  const rowsOn = async <R>(on: Db, text: string, values: unknown[]) => {
    const result: { rows: R[] } = await on.executeSql(text, values);
    return result.rows;
  };
  return {
    outlook: (queues: readonly string[]) => rowsOn<QueueOutlook>(db, OUTLOOK, [queues]),
    lapsed: (queue: string) => rowsOn<Lapsed>(db, LAPSED, [queue]),
    async putBack(queue: string, claims: readonly Claim[]): Promise<number> {
      const pairs = claims.map((claim) => `${claim.id}:${claim.retryCount}`);
      const [row] = await rowsOn<{ count: number }>(db, PUT_BACK, [queue, pairs]);
      return row?.count ?? 0;
    },
    async counts(queue: string): Promise<QueueCounts> {
      const [row] = await rowsOn<QueueCounts>(db, COUNTS, [queue, deadLetterQueueOf(queue)]);
      return row ?? { waiting: 0, active: 0, dead: 0 };
    },
    deadLetters: (queue: string, limit: number, after: DeadLetterPlace | null) =>
      rowsOn<StoredDeadLetter>(db, DEAD_LETTERS, [
        deadLetterQueueOf(queue),
        limit,
        after?.failedAt ?? null,
        after?.id ?? null,
      ]),
    async deadLetterRows(queue: string, jobIds: readonly string[] | null): Promise<string[]> {
      const rows = await rowsOn<{ id: string }>(db, DEAD_LETTER_ROWS, [deadLetterQueueOf(queue), jobIds]);
      return rows.map((row) => row.id);
    },
    lockDeadLetters: (on: Db, queue: string, rowIds: readonly string[]) =>
      rowsOn<StoredDeadLetter>(on, LOCK_DEAD_LETTERS, [deadLetterQueueOf(queue), rowIds]),
    async forgetFailed(on: Db, queue: string, ids: readonly string[]): Promise<void> {
      await rowsOn(on, FORGET_FAILED, [queue, ids]);
    },
    async forgetDeadLetters(on: Db, queue: string, rowIds: readonly string[]): Promise<void> {
      await rowsOn(on, FORGET_DEAD_LETTERS, [deadLetterQueueOf(queue), rowIds]);
    },
    /** Makes every process that works on `queue` poll at once. */
    async notify(on: Db, channel: string, payload: string): Promise<void> {
      await rowsOn(on, 'select pg_notify($1, $2)', [channel, payload]);
    },
  };
}

export type BossTables = ReturnType<typeof createBossTables>;

/** The number of jobs per step of a redrive: each may have 256 KiB. */
const AT_ONCE = 50;

interface Redriving {
  readonly boss: PgBoss;
  readonly bossDatabase: BossDatabase;
  readonly database: Database;
  readonly tables: BossTables;
}

/**
 * Turns dead letters into jobs again, with their old ids. Each step is a transaction that locks its dead letters, so two
 * concurrent redrives do not run a job twice. pg-boss's own redrive would assign new ids, notify no worker, and drop a job
 * whose key is in use; here that one stays a dead letter.
 */
export async function redriveDeadLetters(
  { boss, bossDatabase, database, tables }: Redriving,
  queue: string,
  jobIds: readonly string[] | null,
): Promise<number> {
  const rowIds = await tables.deadLetterRows(queue, jobIds);
  let redriven = 0;
  for (let next = 0; next < rowIds.length; next += AT_ONCE) {
    redriven += await database.transaction(async (transaction) => {
      const db = bossDatabase.within(transaction);
      const dead = await tables.lockDeadLetters(db, queue, rowIds.slice(next, next + AT_ONCE));
      if (dead.length === 0) return 0;
      // The failed job may still exist with this id.
      const ids = dead.map((letter) => letter.jobId);
      await tables.forgetFailed(db, queue, ids);
      const alive = new Set(await boss.insert(queue, dead.map(asJob), { db, returnId: true }));
      const done = dead.filter((letter) => alive.has(letter.jobId));
      await tables.forgetDeadLetters(
        db,
        queue,
        done.map((letter) => letter.rowId),
      );
      return done.length;
    });
  }
  return redriven;
}

/** Deletes them from the dead letters and from the failed jobs. */
export async function discardDeadLetters(
  { bossDatabase, database, tables }: Omit<Redriving, 'boss'>,
  queue: string,
  jobIds: readonly string[],
): Promise<number> {
  const rowIds = await tables.deadLetterRows(queue, jobIds);
  let discarded = 0;
  for (let next = 0; next < rowIds.length; next += AT_ONCE) {
    discarded += await database.transaction(async (transaction) => {
      const db = bossDatabase.within(transaction);
      const dead = await tables.lockDeadLetters(db, queue, rowIds.slice(next, next + AT_ONCE));
      const ids = (which: 'jobId' | 'rowId') => dead.map((letter) => letter[which]);
      await tables.forgetFailed(db, queue, ids('jobId'));
      await tables.forgetDeadLetters(db, queue, ids('rowId'));
      return dead.length;
    });
  }
  return discarded;
}

function asJob({ jobId, data, singletonKey, owner }: StoredDeadLetter) {
  return { id: jobId, data, singletonKey, ...(owner === null ? {} : { group: { id: owner } }) };
}

interface DepthRow {
  readonly name: string;
  readonly waiting: number;
  readonly active: number;
  readonly oldestSeconds: number | null;
}

/** All queues in one statement. The age of a delayed job counts from when it is due. */
export async function readQueueDepths(statements: Statements): Promise<readonly QueueDepth[]> {
  const rows = await statements.query<DepthRow>(
    `select queue.name, (count(job.id) filter (where job.state < 'active'))::integer as waiting,
       (count(job.id) filter (where job.state = 'active'))::integer as active,
       (extract(epoch from pgboss.job_now() - min(job.start_after) filter (
         where job.state < 'active' and job.start_after <= pgboss.job_now())))::float8 as "oldestSeconds"
     from pgboss.queue as queue left join pgboss.job as job on job.name = queue.name and job.state <= 'active'
     group by queue.name order by queue.name`,
  );
  const deadOf = new Map(rows.map(({ name, waiting }) => [name, waiting]));
  return rows
    .filter(({ name }) => !isDeadLetterQueue(name) && !name.startsWith('__'))
    .map(({ name, waiting, active, oldestSeconds }) => ({
      ...{ name, waiting, active },
      dead: deadOf.get(deadLetterQueueOf(name)) ?? 0,
      oldestWaitingSeconds: oldestSeconds === null ? null : Math.max(0, Math.round(oldestSeconds)),
    }));
}
