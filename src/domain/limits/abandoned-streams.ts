import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { createKeyReports, REPORT_WITHIN_MS } from './key-reports.ts';

/** The key and company of a stream. */
interface StreamOwner {
  readonly id: string;
  readonly companyId: string;
}

/** How many streams a key has abandoned without usage in its hour, for display. */
export interface AbandonedCount {
  readonly limit: number;
  readonly used: number;
  readonly resetMs: number;
  /** Whether its company is limited to one stream at a time for now. */
  readonly isLimited: boolean;
}

/** Why a stream is read on, as its call is recorded: in mode drain, or because the free ones of the hour are used up. */
export type DrainReason = 'drained' | 'drained-beyond-free';

/**
 * Streams whose client disconnects before the usage block has arrived (G-31). The specification makes them free, so each
 * costs the operator. How they are handled:
 *
 *   mode free, within the key's and the company's allowance   the upstream is aborted, nothing is charged
 *   mode free beyond it, or mode drain                        the upstream is read to its usage block, and charged
 *   drained without usage, beyond the allowance               the company is limited to one stream until its hour ends
 */
export interface AbandonedStreams {
  readonly drainMs: number;
  /** A client has disconnected. */
  left(key: StreamOwner): Promise<'free' | DrainReason>;
  /** A drain has ended. */
  drained(key: StreamOwner, isBilled: boolean): Promise<void>;
  /** Synchronous, for admission. */
  isLimited(companyId: string): boolean;
  look(key: StreamOwner): Promise<AbandonedCount>;
  /** Since the start of this process. */
  counts(): {
    readonly free: number;
    readonly billed: number;
    readonly unbilled: number;
    readonly limited: number;
  };
  /** Runs until its end, or until `stop` is called because the process shuts down. */
  track(drain: Promise<void>, stop: () => void): void;
  /** The number of streams that this process is draining. */
  draining(): number;
  /** Stops all drains, and waits for them to end. */
  close(): Promise<void>;
}

export interface AbandonedStreamsParts {
  readonly sharedState: SharedState;
  /** While shared state is unavailable, this process counts alone. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  readonly mode: 'free' | 'drain';
  readonly freePerHour: number;
  readonly drainMs: number;
}

/** `COMPANY_ID UNTIL_MS`: that company has one stream at a time until then. */
const LIMITED_STREAMS_TOPIC = 'limited-streams';
const HOUR_MS = 3_600_000;
const COMPANY_FACTOR = 10;
const MOST_COMPANIES = 10_000;
const COMPANY_WINDOW = 'abandoned';

const keyWindow = ({ id }: StreamOwner) => `abandoned ${id}`;
const limitedKey = (companyId: string) => `limited-streams ${companyId}`;

export async function createAbandonedStreams(parts: AbandonedStreamsParts): Promise<AbandonedStreams> {
  const { sharedState, ownState, clock, log, mode, freePerHour, drainMs } = parts;
  const limited = createLimitedCompanies(parts);
  const subscription = await sharedState.subscribe(
    LIMITED_STREAMS_TOPIC,
    (message) => {
      const [companyId = '', until = ''] = message.split(' ');
      limited.add(companyId, Number(until));
    },
    limited.readAgain,
  );
  const drains = new Map<Promise<void>, () => void>();
  const counts = { free: 0, billed: 0, unbilled: 0 };
  const reports = createKeyReports({ clock, first: 1 });
  let isClosed = false;

  /** Counts in both windows or in neither: a key beyond its own allowance does not use its company's. */
  async function take(key: StreamOwner, amount: 0 | 1) {
    const claims = [
      { kind: 'window', name: keyWindow(key), amount, limit: freePerHour, windowMs: HOUR_MS },
      {
        kind: 'window',
        name: COMPANY_WINDOW,
        amount,
        limit: freePerHour * COMPANY_FACTOR,
        windowMs: HOUR_MS,
      },
    ] as const;
    return await sharedState
      .reserve(key.companyId, claims)
      .catch(() => ownState.reserve(key.companyId, claims));
  }

  async function isWithinAllowance(key: StreamOwner): Promise<boolean> {
    const taken = await take(key, 1);
    if (taken.outcome === 'reserved') return true;
    const { id: keyId, companyId } = key;
    const count = reports.note(keyId);
    if (count !== null) {
      log.warn(
        'streams of a key keep being abandoned beyond the free ones: they are read to their end and billed',
        { keyId, companyId, freePerHour, count, withinMs: REPORT_WITHIN_MS },
      );
    }
    return false;
  }

  async function limit({ id: keyId, companyId }: StreamOwner): Promise<void> {
    const until = clock.now() + HOUR_MS;
    limited.add(companyId, until);
    log.error('an abandoned stream ended without usage: its company has one stream at a time for an hour', {
      ...{ keyId, companyId },
    });
    try {
      await sharedState.set(limitedKey(companyId), String(until), HOUR_MS);
      await sharedState.publish(LIMITED_STREAMS_TOPIC, `${companyId} ${until}`);
    } catch (error) {
      log.warn(
        'a company that is limited to one stream at a time could not be published to other processes',
        {
          companyId,
          error,
        },
      );
    }
  }

  return {
    drainMs,
    async left(key) {
      if (isClosed) return 'free';
      const isFree = mode === 'free' && (await isWithinAllowance(key));
      if (isFree) counts.free += 1;
      if (isFree || isClosed) return 'free';
      return mode === 'drain' ? 'drained' : 'drained-beyond-free';
    },
    async drained(key, isBilled) {
      counts[isBilled ? 'billed' : 'unbilled'] += 1;
      if (isBilled || isClosed) return;
      // In mode free the allowance was used up before the drain began.
      if (mode === 'free' || !(await isWithinAllowance(key))) await limit(key);
    },
    isLimited: limited.has,
    async look(key) {
      const looked = await take(key, 0);
      const own = looked.outcome === 'level-unknown' ? undefined : looked.limitStates[0];
      const isLimited = limited.has(key.companyId);
      return { limit: freePerHour, used: own?.used ?? 0, resetMs: own?.resetMs ?? 0, isLimited };
    },
    counts: () => ({ ...counts, limited: limited.size() }),
    track(drain, stop) {
      drains.set(drain, stop);
      void drain.finally(() => drains.delete(drain));
    },
    draining: () => drains.size,
    async close() {
      isClosed = true;
      for (const stop of drains.values()) stop();
      await Promise.allSettled(drains.keys());
      limited.close();
      await subscription.close();
    },
  };
}

interface LimitedCompanies {
  add(companyId: string, untilMs: number): void;
  has(companyId: string): boolean;
  size(): number;
  readAgain(): void;
  close(): void;
}

/**
 * In memory, because every stream is checked against it. A message informs all processes. One that started later, or lost
 * the message, reads the stored value with a company's first stream, without delaying that stream.
 */
function createLimitedCompanies(
  parts: Pick<AbandonedStreamsParts, 'sharedState' | 'clock'>,
): LimitedCompanies {
  const { sharedState, clock } = parts;
  const untilMs = new Map<string, number>();
  const known = new Set<string>();
  const timers = new Map<string, Timer>();

  function add(companyId: string, until: number): void {
    const restMs = until - clock.now();
    if (!(restMs > 0) || until <= (untilMs.get(companyId) ?? 0)) return;
    if (untilMs.size >= MOST_COMPANIES && !untilMs.has(companyId)) return;
    untilMs.set(companyId, until);
    timers.get(companyId)?.cancel();
    timers.set(
      companyId,
      clock.after(restMs, () => forget(companyId)),
    );
  }

  function forget(companyId: string): void {
    untilMs.delete(companyId);
    timers.delete(companyId);
  }

  function readStored(companyId: string): void {
    if (known.size >= MOST_COMPANIES) known.clear();
    known.add(companyId);
    sharedState.get(limitedKey(companyId)).then(
      (stored) => add(companyId, Number(stored ?? 0)),
      () => known.delete(companyId),
    );
  }

  return {
    add,
    has(companyId) {
      if (!known.has(companyId)) readStored(companyId);
      return untilMs.size > 0 && untilMs.has(companyId);
    },
    size: () => untilMs.size,
    readAgain: () => known.clear(),
    close() {
      for (const timer of timers.values()) timer.cancel();
    },
  };
}
