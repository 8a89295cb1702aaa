import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';

export interface ForgetEventsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** More than the thirty days for which the provider sends an event again. */
  readonly eventsKeepDays: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Some milliseconds of work each, so that nobody waits long behind one. */
const CHUNK_ROWS = 1_000;

/**
 * Removes events past their age that are done with. Whatever still waits or has failed stays, for a person to look at.
 * An event that came again after this would change nothing: every effect knows its own fact. Also at several places at
 * once. Returns how many were removed.
 */
export async function forgetEvents(
  { database, clock, log, eventsKeepDays }: ForgetEventsParts,
  signal?: AbortSignal,
): Promise<number> {
  const before = new Date(clock.now() - eventsKeepDays * DAY_MS);
  let removed = 0;
  for (;;) {
    signal?.throwIfAborted();
    const rows = await database.query(REMOVE, [before]);
    removed += rows.length;
    if (rows.length < CHUNK_ROWS) break;
  }
  if (removed > 0) log.info('payment events past their age were removed', { removed });
  return removed;
}

const REMOVE = `delete from provider_events where id = any (array(
    select id from provider_events where status in ('PROCESSED', 'IGNORED') and received_at < $1
    order by received_at limit ${CHUNK_ROWS} for update skip locked))
  returning 1`;
