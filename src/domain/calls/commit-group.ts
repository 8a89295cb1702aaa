import type { Clock } from '../../ports/clock.ts';
import type { Database, DatabaseFailure } from '../../ports/database.ts';
import { type ChargedCalls, chargeCalls } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';
import { isAway } from './replay-journal.ts';

/** Nobody knows whether it took effect. */
export interface InDoubt {
  readonly outcome: 'in-doubt';
  readonly error: unknown;
  /** What the database says in the end, where it has only not answered in time; null where it will say nothing. */
  readonly late: Promise<ChargedCalls> | null;
}

export type Tried =
  | { readonly outcome: 'committed'; readonly charged: ChargedCalls }
  | { readonly outcome: 'refused'; readonly error: unknown }
  | InDoubt;

export interface CommitParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly deadlineMs: number;
}

/**
 * One try. The deadline is kept here and not by the server: a paused one, or one behind a broken network, ends
 * nothing. Its connection's own time-out comes later and serves the `late` answer.
 */
export function commitGroup(
  { database, clock, deadlineMs }: CommitParts,
  calls: readonly FinishedCall[],
): Promise<Tried> {
  return new Promise((resolve) => {
    const late = chargeCalls(database, calls);
    const timer = clock.after(deadlineMs, () => {
      const error = new Error(`the database has not answered a commit within ${deadlineMs} ms`);
      resolve({ outcome: 'in-doubt', error, late });
    });
    late.then(
      (charged) => {
        timer.cancel();
        resolve({ outcome: 'committed', charged });
      },
      (error: unknown) => {
        timer.cancel();
        resolve(
          isRefused(error) ? { outcome: 'refused', error } : { outcome: 'in-doubt', error, late: null },
        );
      },
    );
  });
}

/** By the database, for what stands in the rows. Any other failure may have come after the commit. */
function isRefused(error: unknown): boolean {
  return (error as Partial<DatabaseFailure>).name === 'DatabaseFailure' && !isAway(error);
}
