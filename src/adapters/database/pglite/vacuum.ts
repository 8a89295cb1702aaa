import type { Clock } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';

interface VacuumParts {
  readonly database: Pick<Database, 'script' | 'query' | 'transaction'>;
  readonly clock: Clock;
  readonly log: Log;
}

const VACUUM_EVERY_MS = 30 * 60_000;
const ANALYZE_EVERY_MS = 60_000;

/**
 * What autovacuum does, which the embedded engine lacks: twice an hour everything is vacuumed, so that dead rows do not
 * stay on the disk forever, and every minute tables that have outgrown their statistics are analyzed.
 */
export function startVacuum({ database, clock, log }: VacuumParts): { close(): void } {
  const stops = [
    repeat(VACUUM_EVERY_MS, 'the embedded database could not be vacuumed', () =>
      database.script('vacuum (analyze)'),
    ),
    repeat(ANALYZE_EVERY_MS, 'tables of the embedded database could not be analyzed', () =>
      analyzeGrown(database),
    ),
  ];

  function repeat(everyMs: number, failure: string, work: () => Promise<unknown>): () => void {
    let isClosed = false;
    let timer = clock.after(everyMs, run);
    function run(): void {
      work()
        .catch((error: unknown) => {
          if (!isClosed) log.warn(failure, { error });
        })
        .finally(() => {
          if (!isClosed) timer = clock.after(everyMs, run);
        });
    }
    return () => {
      isClosed = true;
      timer.cancel();
    };
  }

  return {
    close() {
      for (const stop of stops) stop();
    },
  };
}

/**
 * Twice the pages of the last statistics and a megabyte more. Without statistics the planner expects a few hundred calls
 * of a company, reads all of them and sorts them: with 200,000 calls the first page of the log took seconds.
 */
const GROWN = `select oid::regclass::text as name from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace and relpersistence = 'p'
    and pg_relation_size(oid) > current_setting('block_size')::bigint * (2 * relpages::bigint + 128)`;

/** A tenth of the usual sample, because all other statements wait meanwhile; the next vacuum takes the whole. */
async function analyzeGrown(database: VacuumParts['database']): Promise<void> {
  for (const { name } of await database.query<{ name: string }>(GROWN)) {
    await database.transaction(async (transaction) => {
      await transaction.query('set local default_statistics_target = 10');
      await transaction.query(`analyze ${name}`);
    });
  }
}
