import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { JobHandler, QueueDefinition } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';

/** Removes sessions, resets and invitations that are long over. */
export const ACCOUNTS_UPKEEP_QUEUE: QueueDefinition = {
  name: 'accounts-upkeep',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 600,
  heartbeatSeconds: 60,
};
export const ACCOUNTS_UPKEEP_CRON = '52 3 * * *';

export interface AccountsUpkeepParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Some milliseconds of work each, so that nobody waits long behind one. */
const CHUNK_ROWS = 1_000;

/** By their expiry. An invitation that was accepted long ago tells who came by it; the audit log tells it for good. */
const KEPT_DAYS = { sessions: 1, password_resets: 1, invitations: 400 } as const;

/** Sessions go when their owner logs in again; these are of people who never did. Also at several places at once. */
export async function forgetTokens(
  { database, clock, log }: AccountsUpkeepParts,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (const [table, days] of Object.entries(KEPT_DAYS)) {
    for (;;) {
      signal?.throwIfAborted();
      const rows = await database.query(
        `delete from ${table} where id = any (array(
           select id from ${table} where expires_at < $1 order by expires_at limit ${CHUNK_ROWS} for update skip locked))
         returning 1`,
        [new Date(clock.now() - days * DAY_MS)],
      );
      removed += rows.length;
      if (rows.length < CHUNK_ROWS) break;
    }
  }
  if (removed > 0) log.info('sessions, resets and invitations that are long over were removed', { removed });
  return removed;
}

/** The handler of ACCOUNTS_UPKEEP_QUEUE. */
export function createAccountsUpkeepHandler(parts: AccountsUpkeepParts): JobHandler {
  return async ({ signal }) => void (await forgetTokens(parts, signal));
}
