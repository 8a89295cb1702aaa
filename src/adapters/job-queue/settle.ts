import type { Clock, PgBoss } from 'pg-boss';
import type { Log } from '../../ports/log.ts';
import type { BossDatabase } from './boss-database.ts';
import type { BossTables } from './boss-tables.ts';
import { errorText } from './error-text.ts';
import type { Lookout } from './lookout.ts';
import type { ClaimedJob, RunOutcome } from './run.ts';

/** A database that restarts is back within these; past them the job runs again when its claim lapses. */
const WAITS_MS = [100, 500, 1_000, 2_000, 5_000, 10_000, 10_000];

/** Never rejects. */
export type Settle = (queue: string, job: ClaimedJob, outcome: RunOutcome) => Promise<void>;

interface SettleOptions {
  readonly boss: PgBoss;
  readonly bossDatabase: BossDatabase;
  readonly tables: BossTables;
  readonly lookout: Lookout;
  readonly clock: Clock;
  readonly log: Log;
  /** Once true, a database that does not answer is not waited for. */
  readonly isStopping: () => boolean;
}

/**
 * Writes down how a run ended. Each statement names the claim of that run, so one that comes too late, or a
 * second time because the first answer was lost, changes nothing.
 */
export function createSettle(options: SettleOptions): Settle {
  const { boss, bossDatabase, tables, lookout, clock, log, isStopping } = options;

  async function write(queue: string, job: ClaimedJob, outcome: RunOutcome): Promise<void> {
    const claim = { id: job.id, retryCount: job.retryCount };
    if (outcome.kind === 'done') {
      await boss.complete(queue, claim);
    } else if (outcome.kind === 'failed') {
      await boss.fail(queue, claim, { message: errorText(outcome.error) });
      // Only a look tells when the retry is due.
      lookout.look();
    } else {
      await tables.putBack(queue, [claim]);
      const channel = bossDatabase.channel();
      if (channel !== null) await tables.notify(boss.getDb(), channel, queue);
    }
  }

  return async (queue, job, outcome) => {
    const context = { queue, jobId: job.id, attempt: job.retryCount + 1 };
    if (outcome.kind === 'failed') {
      log.warn('a job run failed', { ...context, error: outcome.error });
    }
    for (const waitMs of [...WAITS_MS, null]) {
      try {
        return await write(queue, job, outcome);
      } catch (error) {
        if (waitMs === null || isStopping()) {
          log.error('the end of a job run could not be stored: the job will run again', {
            ...context,
            error,
          });
          return;
        }
        lookout.lookAfterFailure(error);
        await new Promise<void>((resolve) => clock.setTimeout(resolve, waitMs));
      }
    }
  };
}
