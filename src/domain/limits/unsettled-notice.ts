import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';

/** Tells that a call could not be settled with its limits. */
export type UnsettledNotice = (error: unknown) => void;

const AGAIN_MS = 60_000;

/** An outage meets every call that ends in it: the first says why, and each minute one says how many more. */
export function createUnsettledNotice(clock: Clock, log: Log): UnsettledNotice {
  let quietUntilMs = 0;
  let unsaid = 0;
  return (error) => {
    if (clock.now() < quietUntilMs) {
      unsaid += 1;
      return;
    }
    log.warn('a call could not be settled with its limits', { error, othersSince: unsaid });
    unsaid = 0;
    quietUntilMs = clock.now() + AGAIN_MS;
  };
}
