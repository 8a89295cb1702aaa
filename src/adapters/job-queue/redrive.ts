import type { PgBoss } from 'pg-boss';
import type { Database } from '../../ports/database.ts';
import type { BossDatabase } from './boss-database.ts';
import type { BossTables, StoredDeadLetter } from './boss-tables.ts';

/** Of jobs that may carry 256 KiB each. */
const AT_ONCE = 50;

interface Redriving {
  readonly boss: PgBoss;
  readonly bossDatabase: BossDatabase;
  readonly database: Database;
  readonly tables: BossTables;
}

/**
 * Dead letters become jobs again, under their old ids. Each step is one transaction that holds its dead
 * letters, so of two redrives at once each job goes to one. pg-boss's own redrive would give new ids, tell no
 * worker, and bury for good what a waiting job with the same key keeps out; here that stays a dead letter.
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
      // The failed job itself may still be kept under the id that is wanted again.
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

/** Out of the dead letters and out of the failed jobs: nothing of them is left. */
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

function asJob({ jobId, data, singletonKey }: StoredDeadLetter) {
  return { id: jobId, data, singletonKey };
}
