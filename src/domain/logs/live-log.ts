import type { Clock, Timer } from '../../ports/clock.ts';
import type { LogContext, LogEntry, LogLevel, LogSink } from '../../ports/log.ts';
import type { SharedState, StateSubscription } from '../../ports/shared-state.ts';
import { SERVICES, SHARED_SERVICE } from './log-queries.ts';

interface LiveLogParts {
  readonly sharedState: SharedState;
  readonly clock: Clock;
}

interface LiveLog extends LogSink {
  droppedCount(): number;
}

/** Each message is one entry as JSON: timestamp, level, message, context. */
const LIVE_LOG_TOPIC = 'logs';
/** A larger burst would fill the memory while shared state is slow, and no viewer reads that fast. */
const MAX_UNDER_WAY = 200;
/**
 * After a failure nothing is published for this long. Shared state logs its own failures, and those entries arrive
 * here: without the pause, publishing them would fail again in an endless loop.
 */
const PAUSE_MS = 1_000;

/** A sink that publishes entries to current subscribers. Best effort: the stored log is the record. */
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
      pausedUntil = clock.uptimeMs() + PAUSE_MS;
    } finally {
      underWay -= 1;
    }
  }

  return {
    take(entry) {
      if (underWay >= MAX_UNDER_WAY || clock.uptimeMs() < pausedUntil) dropped += 1;
      else void publish(JSON.stringify(entry));
    },
    droppedCount: () => dropped,
  };
}

export interface LogWatchersParts {
  readonly sharedState: Pick<SharedState, 'subscribe'>;
  readonly clock: Clock;
  readonly maxWatchers?: number;
}

export interface LogWatcher {
  /** The lines since the last call, oldest first; waits until there is one. Null once it is closed. */
  next(): Promise<readonly LogEntry[] | null>;
  close(): void;
}

type Watching =
  | { readonly outcome: 'watching'; readonly watcher: LogWatcher }
  | { readonly outcome: 'too-many'; readonly most: number };

export interface LogWatchers {
  /** Rejects if the subscription to shared state fails. */
  watch(filter: LogFilter): Promise<Watching>;
  count(): number;
  close(): Promise<void>;
}

interface Subscriber {
  readonly matches: ReturnType<typeof createLogFilter>;
  readonly buffer: LineBuffer;
  /** Set while a call of `next` waits. */
  waiting: ((lines: readonly LogEntry[] | null) => void) | null;
  isClosed: boolean;
}

const MOST_WATCHERS = 2_000;
/**
 * Lines are batched for this long before subscribers are woken: at 200 lines per second, a thousand subscribers are
 * woken 40 times per second instead of 200, without a visible delay.
 */
const GATHER_MS = 25;
const GAP_NOTICE = 'lines may be missing here: this process was cut off from the others for a while';

/**
 * The subscribers of the live log of all processes. They share one subscription, and a line is parsed once for all of
 * them. Each has its own limited buffer: a slow subscriber loses its oldest lines and gets their number, without
 * affecting the others.
 */
export function createLogWatchers(parts: LogWatchersParts): LogWatchers {
  const { sharedState, clock, maxWatchers = MOST_WATCHERS } = parts;
  const subscribers = new Set<Subscriber>();
  let subscription: Promise<StateSubscription> | null = null;
  let timer: Timer | null = null;

  /** Kept for the lifetime of the process: without watchers a line costs one comparison. */
  async function subscribe(): Promise<void> {
    subscription ??= sharedState.subscribe(LIVE_LOG_TOPIC, onMessage, onGap);
    await subscription.catch((error: unknown) => {
      subscription = null;
      throw error;
    });
  }

  function onMessage(message: string): void {
    if (subscribers.size === 0) return;
    const line = readLine(message);
    if (line === null) return;
    for (const { matches, buffer } of subscribers) if (matches(line)) buffer.add(line.entry, message.length);
    wakeSoon();
  }

  function onGap(): void {
    const timestamp = new Date(clock.now()).toISOString();
    const entry: LogEntry = { timestamp, level: 'warn', message: GAP_NOTICE, context: {} };
    for (const { buffer } of subscribers) buffer.add(entry, GAP_NOTICE.length);
    wakeSoon();
  }

  function wakeSoon(): void {
    timer ??= clock.after(GATHER_MS, () => {
      timer = null;
      for (const subscriber of subscribers) {
        if (subscriber.waiting === null || subscriber.buffer.isEmpty()) continue;
        subscriber.waiting(subscriber.buffer.takeAll());
        subscriber.waiting = null;
      }
    });
  }

  function leave(subscriber: Subscriber): void {
    subscriber.isClosed = true;
    subscribers.delete(subscriber);
    subscriber.waiting?.(null);
    subscriber.waiting = null;
  }

  return {
    async watch(filter) {
      if (subscribers.size >= maxWatchers) return { outcome: 'too-many', most: maxWatchers };
      const buffer = createLineBuffer(clock);
      const subscriber: Subscriber = {
        matches: createLogFilter(filter),
        buffer,
        waiting: null,
        isClosed: false,
      };
      subscribers.add(subscriber);
      try {
        await subscribe();
      } catch (error) {
        leave(subscriber);
        throw error;
      }
      return {
        outcome: 'watching',
        watcher: {
          async next() {
            if (subscriber.isClosed) return null;
            if (!buffer.isEmpty()) return buffer.takeAll();
            return await new Promise((resolve) => {
              subscriber.waiting = resolve;
            });
          },
          close: () => leave(subscriber),
        },
      };
    },
    count: () => subscribers.size,
    async close() {
      timer?.cancel();
      for (const subscriber of [...subscribers]) leave(subscriber);
      const opened = subscription;
      subscription = null;
      await (await opened?.catch(() => null))?.close();
    },
  };
}

export interface LogFilter {
  /** The lowest level; null matches all. */
  readonly minLevel: LogLevel | null;
  /** Must occur in the message or the context, ignoring case; null matches all. */
  readonly contains: string | null;
  /**
   * Null matches all values of these context fields; the service `shared` matches lines that name none of our services.
   */
  readonly service?: string | null;
  readonly requestId?: string | null;
  readonly companyId?: string | null;
}

/** A received line. Its searchable text is computed when the first filter needs it. */
interface WatchedLine {
  readonly entry: LogEntry;
  readonly rank: number;
  searchable(): string;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

function createLogFilter(filter: LogFilter): (line: WatchedLine) => boolean {
  const { minLevel, contains, service = null, requestId = null, companyId = null } = filter;
  const least = minLevel === null ? 0 : LEVELS.indexOf(minLevel);
  const searched = (contains ?? '').toLowerCase();
  const isOfService = ({ service: named }: LogContext) =>
    service === null || (service === SHARED_SERVICE ? !SERVICES.includes(String(named)) : named === service);
  return (line) => {
    const { context } = line.entry;
    return (
      line.rank >= least &&
      isOfService(context) &&
      (requestId === null || context.requestId === requestId) &&
      (companyId === null || context.companyId === companyId) &&
      (searched === '' || line.searchable().includes(searched))
    );
  };
}

/** Null if the message is not an entry: another version of this program may be running. */
function readLine(message: string): WatchedLine | null {
  const entry = entryIn(message);
  if (entry === null) return null;
  let text: string | null = null;
  return {
    entry,
    rank: LEVELS.indexOf(entry.level),
    searchable() {
      text ??= `${entry.message} ${JSON.stringify(entry.context)}`.toLowerCase();
      return text;
    },
  };
}

function entryIn(message: string): LogEntry | null {
  let value: Partial<LogEntry> | null;
  try {
    value = JSON.parse(message) as Partial<LogEntry> | null;
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { timestamp, level, message: text, context } = value;
  if (level === undefined || !LEVELS.includes(level) || typeof text !== 'string') return null;
  if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))) return null;
  if (typeof context !== 'object' || context === null) return null;
  return { timestamp, level, message: text, context };
}

interface LineBuffer {
  /** `size` is in characters and counts towards the limit. */
  add(entry: LogEntry, size: number): void;
  isEmpty(): boolean;
  /** All lines, oldest first, after a notice with the number of lost lines, if any. */
  takeAll(): readonly LogEntry[];
}

/** A few seconds of a busy log. The entries themselves are shared by all watchers. */
const MOST_BUFFERED_LINES = 500;
const MOST_BUFFERED_CHARACTERS = 256 * 1024;

/**
 * Drops the oldest lines when it is full: the lost lines directly precede the kept ones, so the notice is in the right
 * place.
 */
function createLineBuffer(clock: Clock): LineBuffer {
  let lines: { readonly entry: LogEntry; readonly size: number }[] = [];
  let characters = 0;
  let lostLines = 0;

  return {
    add(entry, size) {
      lines.push({ entry, size });
      characters += size;
      while (
        lines.length > MOST_BUFFERED_LINES ||
        (characters > MOST_BUFFERED_CHARACTERS && lines.length > 1)
      ) {
        characters -= lines.shift()?.size ?? 0;
        lostLines += 1;
      }
    },
    isEmpty: () => lines.length === 0,
    takeAll() {
      const entries = lines.map(({ entry }) => entry);
      if (lostLines > 0) entries.unshift(lossNotice(lostLines, clock.now()));
      lines = [];
      characters = 0;
      lostLines = 0;
      return entries;
    },
  };
}

function lossNotice(lostLines: number, nowMs: number): LogEntry {
  const message = `${lostLines} lines were lost here: they came faster than they were read`;
  return { timestamp: new Date(nowMs).toISOString(), level: 'warn', message, context: { lostLines } };
}
