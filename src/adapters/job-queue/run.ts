import type { Clock } from 'pg-boss';
import type { JobData, JobHandler } from '../../ports/job-queue.ts';
import type { Claim } from './boss-tables.ts';

/** A job as pg-boss hands it out. */
export interface ClaimedJob extends Claim {
  readonly data: JobData;
  readonly expireInSeconds: number;
  readonly heartbeatSeconds: number | null;
}

export type RunOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Told to end, and it did not finish: the job belongs to somebody else, or will. */
  | { readonly kind: 'left' };

export interface Run {
  readonly job: ClaimedJob;
  readonly outcome: Promise<RunOutcome>;
  /** Aborts the signal. The handler may still finish. */
  interrupt(reason: Error): void;
  /** The run counts as left now, whatever its handler does. */
  leave(): void;
}

/**
 * One run of one job. A handler cannot be ended from outside: past its time, or when it is left, its signal is
 * aborted and what it does later is not listened to any more.
 */
export function startRun(job: ClaimedJob, handler: JobHandler, clock: Clock): Run {
  const controller = new AbortController();
  const decided = Promise.withResolvers<RunOutcome>();
  let interrupted = false;

  const expiry = clock.setTimeout(() => {
    const error = new Error(`it ran longer than ${job.expireInSeconds} s`);
    decided.resolve({ kind: 'failed', error });
    controller.abort(error);
  }, job.expireInSeconds * 1000);

  async function handle(): Promise<void> {
    try {
      const { id, data, retryCount } = job;
      await handler({ id, data, attempt: retryCount + 1, signal: controller.signal });
      decided.resolve({ kind: 'done' });
    } catch (error) {
      decided.resolve(interrupted ? { kind: 'left' } : { kind: 'failed', error });
    }
  }
  void handle();

  return {
    job,
    outcome: decided.promise.finally(() => clock.clearTimeout(expiry)),
    interrupt(reason) {
      interrupted = true;
      controller.abort(reason);
    },
    leave: () => decided.resolve({ kind: 'left' }),
  };
}
