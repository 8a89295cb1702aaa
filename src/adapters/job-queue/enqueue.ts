import type { PgBoss } from 'pg-boss';
import type { JobQueue } from '../../ports/job-queue.ts';
import { acceptData, singletonKeyFor } from './accepted.ts';
import type { BossDatabase } from './boss-database.ts';
import type { BossTables } from './boss-tables.ts';

/** A notice that a job lies in the future: who works on queues learns when by looking. */
export const LOOK_NOTICE = 'look';

interface Enqueuing {
  readonly boss: PgBoss;
  readonly bossDatabase: BossDatabase;
  readonly tables: BossTables;
}

export function createEnqueue({ boss, bossDatabase, tables }: Enqueuing): JobQueue['enqueue'] {
  return async (queue, data, { within, dedupeKey, startAfter } = {}) => {
    acceptData(queue, data);
    const db = within === undefined ? boss.getDb() : bossDatabase.within(within);
    const later = startAfter === undefined ? {} : { startAfter };
    const id = await boss.send(queue, data, { db, singletonKey: singletonKeyFor(dedupeKey), ...later });
    const channel = bossDatabase.channel();
    if (id === null || startAfter === undefined || channel === null) return id;
    // pg-boss gives notice only of a job that can be taken at once.
    await tables.notify(db, channel, LOOK_NOTICE);
    return id;
  };
}
