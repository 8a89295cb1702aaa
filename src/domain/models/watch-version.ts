import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';

interface WatchedVersion {
  readonly clock: Clock;
  readonly log: Log;
  readonly sharedState: Pick<SharedState, 'subscribe'>;
  /** A message on this topic reports a change. */
  readonly topic: string;
  /** For the log, for example `the model catalogue`. */
  readonly what: string;
  /** Reads one row by its only key: every process runs this twice a second. */
  readVersion(): Promise<bigint | null>;
  /** Reads everything again and returns its version. */
  load(): Promise<bigint>;
}

/** A change reaches every process within a second (G-15), even if its message was lost. */
const POLL_MS = 500;

/**
 * Loads now, and again when a message reports a change, when messages may have been lost, and when the version in the
 * database has changed. Rejects if the first load does. While the database is unavailable, the last loaded version
 * stays in force.
 */
export async function watchVersion(watched: WatchedVersion): Promise<{ close(): Promise<void> }> {
  const { clock, log, sharedState, topic, what } = watched;
  let version: bigint | null = null;
  let timer: Timer | null = null;
  let isClosed = false;
  let isUnavailable = false;

  const reload = oneAtATime(async () => {
    version = await watched.load();
  });
  const reloadOrKeep = () => void withoutThrowing(reload);

  async function withoutThrowing(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      if (isUnavailable) log.info(`${what} can be read again`);
      isUnavailable = false;
    } catch (error) {
      // Logged once per outage: this runs twice a second.
      if (!isUnavailable && !isClosed)
        log.error(`${what} cannot be read: the last known one stays in force`, { error });
      isUnavailable = true;
    }
  }

  async function poll(): Promise<void> {
    await withoutThrowing(async () => {
      if ((await watched.readVersion()) !== version) await reload();
    });
    if (!isClosed) timer = clock.after(POLL_MS, () => void poll());
  }

  // Subscribes first: a change in between is noticed, and at worst read twice.
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

/** A request during a run starts another run after it: the current run may have read older data. */
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
