import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';

export interface WatchedVersion {
  readonly clock: Clock;
  readonly log: Log;
  readonly sharedState: Pick<SharedState, 'subscribe'>;
  /** A message on it says that something has changed. */
  readonly topic: string;
  /** As `the model catalogue`, for the log. */
  readonly what: string;
  /** One row by its only key: every process runs it twice a second. */
  readVersion(): Promise<bigint | null>;
  /** Reads everything again and answers with the version that it is of. */
  load(): Promise<bigint>;
}

/** A change reaches every process within a second (G-15), also where the message about it was lost. */
const POLL_MS = 500;

/**
 * Loads now, and again when a message reports a change, when messages may have been lost, and when the version in the
 * database has moved on. Rejects where the first load does. While the database is unavailable what was loaded last stays in
 * force.
 */
export async function watchVersion(watched: WatchedVersion): Promise<{ close(): Promise<void> }> {
  const { clock, log, sharedState, topic, what } = watched;
  let version: bigint | null = null;
  let timer: Timer | null = null;
  let isClosed = false;
  let isAway = false;

  const reload = oneAtATime(async () => {
    version = await watched.load();
  });
  const reloadOrKeep = () => void withoutThrowing(reload);

  async function withoutThrowing(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      if (isAway) log.info(`${what} can be read again`);
      isAway = false;
    } catch (error) {
      // Said once for an outage: this runs twice a second.
      if (!isAway && !isClosed)
        log.error(`${what} cannot be read: the last known one stays in force`, { error });
      isAway = true;
    }
  }

  async function poll(): Promise<void> {
    await withoutThrowing(async () => {
      if ((await watched.readVersion()) !== version) await reload();
    });
    if (!isClosed) timer = clock.after(POLL_MS, () => void poll());
  }

  // Subscribed first: a change between the two is noticed, and read twice at worst.
  const subscription = await sharedState.subscribe(topic, reloadOrKeep, reloadOrKeep);
  try {
    await reload();
  } catch (error) {
    await subscription.close();
    throw error;
  }
  timer = clock.after(POLL_MS, () => void poll());
  return {
    async close() {
      isClosed = true;
      timer?.cancel();
      await subscription.close();
    },
  };
}

/** A request during a run gets another run after it: what the first has read may be older than what the request is about. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const start = (): Promise<void> => {
    next = null;
    running = work().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (running === null) return start();
    next ??= running.then(start, start);
    return next;
  };
}
