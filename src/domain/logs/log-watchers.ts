import type { Clock, Timer } from '../../ports/clock.ts';
import type { LogEntry } from '../../ports/log.ts';
import type { SharedState, StateSubscription } from '../../ports/shared-state.ts';
import { createLineBuffer, type LineBuffer } from './line-buffer.ts';
import { LIVE_LOG_TOPIC } from './live-log.ts';
import { createLogFilter, type LogFilter, readLine } from './log-filter.ts';

export interface LogWatchersParts {
  readonly sharedState: Pick<SharedState, 'subscribe'>;
  readonly clock: Clock;
  readonly maxWatchers?: number;
}

export interface LogWatcher {
  /** The lines since the last look, the oldest first; waits until there is one. Null once it is closed. */
  next(): Promise<readonly LogEntry[] | null>;
  close(): void;
}

export type Watching =
  | { readonly outcome: 'watching'; readonly watcher: LogWatcher }
  | { readonly outcome: 'too-many'; readonly most: number };

export interface LogWatchers {
  /** Rejects where shared state cannot be subscribed to. */
  watch(filter: LogFilter): Promise<Watching>;
  count(): number;
  close(): Promise<void>;
}

interface Seat {
  readonly matches: ReturnType<typeof createLogFilter>;
  readonly buffer: LineBuffer;
  /** Whoever waits for the next line. */
  waiting: ((lines: readonly LogEntry[] | null) => void) | null;
  isClosed: boolean;
}

const MOST_WATCHERS = 2_000;
/**
 * Lines gather for so long before watchers are woken: at 200 lines a second a thousand watchers are then woken 40 times
 * a second, not 200, and nobody sees the difference.
 */
const GATHER_MS = 25;
const GAP_NOTICE = 'lines may be missing here: this process was cut off from the others for a while';

/**
 * Whoever watches the log of all processes live. One subscription serves all watchers, and a line is read once
 * whatever their number. Each has a buffer of its own with a bound: a watcher that reads slowly loses its oldest lines
 * and is told how many, and nobody else notices.
 */
export function createLogWatchers(parts: LogWatchersParts): LogWatchers {
  const { sharedState, clock, maxWatchers = MOST_WATCHERS } = parts;
  const seats = new Set<Seat>();
  let subscription: Promise<StateSubscription> | null = null;
  let timer: Timer | null = null;

  /** Kept for as long as the process lives: without watchers a line costs one comparison. */
  async function subscribe(): Promise<void> {
    subscription ??= sharedState.subscribe(LIVE_LOG_TOPIC, onMessage, onGap);
    await subscription.catch((error: unknown) => {
      subscription = null;
      throw error;
    });
  }

  function onMessage(message: string): void {
    if (seats.size === 0) return;
    const line = readLine(message);
    if (line === null) return;
    for (const { matches, buffer } of seats) if (matches(line)) buffer.add(line.entry, message.length);
    wakeSoon();
  }

  function onGap(): void {
    const timestamp = new Date(clock.now()).toISOString();
    const entry: LogEntry = { timestamp, level: 'warn', message: GAP_NOTICE, context: {} };
    for (const { buffer } of seats) buffer.add(entry, GAP_NOTICE.length);
    wakeSoon();
  }

  function wakeSoon(): void {
    timer ??= clock.after(GATHER_MS, () => {
      timer = null;
      for (const seat of seats) {
        if (seat.waiting === null || seat.buffer.isEmpty()) continue;
        seat.waiting(seat.buffer.takeAll());
        seat.waiting = null;
      }
    });
  }

  function leave(seat: Seat): void {
    seat.isClosed = true;
    seats.delete(seat);
    seat.waiting?.(null);
    seat.waiting = null;
  }

  return {
    async watch(filter) {
      if (seats.size >= maxWatchers) return { outcome: 'too-many', most: maxWatchers };
      const buffer = createLineBuffer(clock);
      const seat: Seat = { matches: createLogFilter(filter), buffer, waiting: null, isClosed: false };
      seats.add(seat);
      try {
        await subscribe();
      } catch (error) {
        leave(seat);
        throw error;
      }
      return {
        outcome: 'watching',
        watcher: {
          async next() {
            if (seat.isClosed) return null;
            if (!buffer.isEmpty()) return buffer.takeAll();
            return await new Promise((resolve) => {
              seat.waiting = resolve;
            });
          },
          close: () => leave(seat),
        },
      };
    },
    count: () => seats.size,
    async close() {
      timer?.cancel();
      for (const seat of [...seats]) leave(seat);
      const opened = subscription;
      subscription = null;
      await (await opened?.catch(() => null))?.close();
    },
  };
}
