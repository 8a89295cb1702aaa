import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { JobHandler, QueueDefinition } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';

/** Removes idempotency keys and their answers past their age. */
export const IDEMPOTENCY_UPKEEP_QUEUE: QueueDefinition = {
  name: 'idempotency-upkeep',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 600,
  heartbeatSeconds: 60,
};
export const IDEMPOTENCY_UPKEEP_CRON = '*/10 * * * *';

export interface IdempotencyUpkeepParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** From the first call with a key on. */
  readonly keepMs: number;
}

/** With the largest answers that are kept by default, 200 MB: nobody waits long behind one. */
const CHUNK_ROWS = 200;

/** Also at several places at once. What still runs stays, however old. Returns how many were removed. */
export async function removeOldIdempotencyKeys(
  { database, clock, log, keepMs }: IdempotencyUpkeepParts,
  signal?: AbortSignal,
): Promise<number> {
  const before = new Date(clock.now() - keepMs);
  let removed = 0;
  for (;;) {
    signal?.throwIfAborted();
    const rows = await database.query(REMOVE, [before]);
    removed += rows.length;
    if (rows.length < CHUNK_ROWS) break;
  }
  if (removed > 0) log.info('idempotency keys past their age were removed', { removed });
  return removed;
}

/** The handler of IDEMPOTENCY_UPKEEP_QUEUE. */
export function createIdempotencyUpkeepHandler(parts: IdempotencyUpkeepParts): JobHandler {
  return async ({ signal }) => void (await removeOldIdempotencyKeys(parts, signal));
}

const REMOVE = `delete from idempotency_keys as present
  using (select key_id, idempotency_key from idempotency_keys
    where created_at < $1 and (ended_at is not null or leased_until < now())
    order by created_at limit ${CHUNK_ROWS} for update skip locked) as old
  where present.key_id = old.key_id and present.idempotency_key = old.idempotency_key
  returning 1`;
