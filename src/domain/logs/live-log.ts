import type { Clock } from '../../ports/clock.ts';
import type { LogSink } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';

export interface LiveLogParts {
  readonly sharedState: SharedState;
  readonly clock: Clock;
}

export interface LiveLog extends LogSink {
  droppedCount(): number;
}

/** Each message is one entry as JSON: timestamp, level, message, context. */
export const LIVE_LOG_TOPIC = 'logs';
/** A burst beyond this would fill the memory while shared state is slow, and no person reads that fast. */
const MAX_UNDER_WAY = 200;
/**
 * After a failure nothing is published for this long. What shared state logs about its own failure comes back
 * here as an entry, and publishing that one would fail again: without the pause it would never end.
 */
const PAUSE_MS = 1_000;

/** A sink that publishes entries for whoever watches at this moment. Best effort: the kept log is the record. */
export function createLiveLog({ sharedState, clock }: LiveLogParts): LiveLog {
  let underWay = 0;
  let dropped = 0;
  let pausedUntil = 0;

  async function publish(message: string): Promise<void> {
    underWay += 1;
    try {
      await sharedState.publish(LIVE_LOG_TOPIC, message);
    } catch {
      dropped += 1;
      pausedUntil = clock.now() + PAUSE_MS;
    } finally {
      underWay -= 1;
    }
  }

  return {
    take(entry) {
      if (underWay >= MAX_UNDER_WAY || clock.now() < pausedUntil) dropped += 1;
      else void publish(JSON.stringify(entry));
    },
    droppedCount: () => dropped,
  };
}
