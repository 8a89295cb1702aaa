import type { Clock, Timer } from '../../ports/clock.ts';
import type { LimitState, SharedState } from '../../ports/shared-state.ts';
import { MINUTE_MS, type StatePlace, windowClaim } from './claims.ts';

export type CountedRequest = { outcome: 'admitted' } | { outcome: 'refused'; retryAfterMs: number };

/** Synchronous if this process has counted requests ahead. */
export type CountRequest = (whose: string) => CountedRequest | Promise<CountedRequest>;

interface RequestCountParts {
  readonly place: StatePlace;
  readonly clock: Clock;
  /** The kind of count, such as `address`. Kinds are counted separately. */
  readonly of: string;
  /** 0 disables it. */
  readonly requestsPerMinute: number;
}

/** Requests of an address or user that this process has counted ahead. */
interface PrefetchedRequests {
  left: number;
  /** How many are counted at once the next time; fewer as the limit comes nearer. */
  nextAmount: number;
  /** When this few are left, the next ones are counted, before a request has to wait. */
  refillAt: number;
  /** The largest number counted at once; more for frequent requests. */
  most: number;
  countedAtMs: number;
  /** By this process's clock, a little early. */
  readonly endsAtMs: number;
  readonly windowStart: number;
  readonly state: SharedState;
  returnTimer: Timer | null;
}

const FIRST_PREFETCH = 16;
const MOST_PREFETCH = 128;
/** If the requests counted ahead are used up in less than this, twice as many are counted the next time. */
const FAST_MS = 100;
/** The share that one process takes of what is left until half of the limit. */
const SHARE = 8;
/** Unused requests are returned after this time, for other processes. */
const KEPT_MS = 1_000;
const MOST_COUNTED = 10_000;
const WINDOW = 'requests';
const ADMITTED: CountedRequest = { outcome: 'admitted' };

type RequestWindow = LimitState & { readonly state: SharedState };

/**
 * Counts requests of an address (G-39) or a user. A step of shared state per request would be most of the cost of admission,
 * so while less than half of the limit is used, a process counts some requests ahead. Beyond half each is counted singly,
 * and unused ones are returned after a second: the limit is never exceeded, and no process withholds what another needs. A
 * single process is exact. The next requests are counted when half of the last ones are left, so that in steady use no
 * request waits.
 */
export function createRequestCount({ place, clock, of, requestsPerMinute }: RequestCountParts): CountRequest {
  const prefetched = new Map<string, PrefetchedRequests>();
  /** Requests that arrive while others are being counted ahead wait for the result. */
  const prefetching = new Map<string, Promise<CountedRequest>>();

  function count(whose: string): CountedRequest | Promise<CountedRequest> {
    const batch = prefetched.get(whose);
    const isRunning = batch !== undefined && clock.now() < batch.endsAtMs;
    if (isRunning && batch.left > 0) {
      batch.left -= 1;
      if (batch.left <= batch.refillAt && batch.nextAmount > 1 && !prefetching.has(whose)) {
        void prefetch(whose, batch.nextAmount, 0).catch(() => {});
      }
      return ADMITTED;
    }
    const ahead = prefetching.get(whose);
    if (ahead !== undefined) return countAfter(whose, ahead);
    const amount = isRunning ? batch.nextAmount : 1;
    return amount === 1 ? take(whose, 1, 1) : prefetch(whose, amount, 1);
  }

  function prefetch(whose: string, amount: number, own: number): Promise<CountedRequest> {
    const taking = take(whose, amount, own).finally(() => prefetching.delete(whose));
    prefetching.set(whose, taking);
    return taking;
  }

  async function countAfter(whose: string, ahead: Promise<CountedRequest>): Promise<CountedRequest> {
    // If counting ahead fails, this request is counted singly.
    await ahead.catch(() => {});
    return await count(whose);
  }

  /** `own`: 1 if a request waits for it and is one of them, otherwise 0. */
  async function take(whose: string, amount: number, own: number): Promise<CountedRequest> {
    const tag = `${of} ${whose}`;
    const askedAtMs = clock.now();
    const claim = windowClaim(WINDOW, requestsPerMinute, amount);
    const { reservation, state } = await place.reserve(tag, [claim]);
    if (reservation.outcome === 'refused') {
      if (own === 0) return ADMITTED;
      if (amount > 1) return await take(whose, 1, 1);
      return { outcome: 'refused', retryAfterMs: reservation.retryAfterMs ?? MINUTE_MS };
    }
    const limitState = reservation.outcome === 'reserved' ? reservation.limitStates[0] : undefined;
    if (limitState !== undefined) keep(whose, tag, amount - own, askedAtMs, { ...limitState, state });
    return ADMITTED;
  }

  function keep(whose: string, tag: string, more: number, askedAtMs: number, window: RequestWindow): void {
    const { windowStart, state, used, resetMs } = window;
    const known = prefetched.get(whose);
    const isSame = known !== undefined && known.windowStart === windowStart && known.state === state;
    const batch = isSame
      ? known
      : {
          ...{ left: 0, nextAmount: 1, refillAt: 0, most: known?.most ?? FIRST_PREFETCH, countedAtMs: 0 },
          ...{ endsAtMs: askedAtMs + resetMs, windowStart, state, returnTimer: null },
        };
    batch.left += more;
    batch.refillAt = more / 2;
    if (more > 0) {
      const isFast = askedAtMs - batch.countedAtMs < FAST_MS;
      batch.most = isFast ? Math.min(batch.most * 2, MOST_PREFETCH) : FIRST_PREFETCH;
      batch.countedAtMs = askedAtMs;
    }
    const available = Math.floor((requestsPerMinute / 2 - used) / SHARE);
    batch.nextAmount = Math.max(1, Math.min(available, batch.most));
    if (batch.left > 0) batch.returnTimer ??= clock.after(KEPT_MS, () => returnUnused(tag, batch));
    if (isSame) return;
    prefetched.delete(whose);
    prefetched.set(whose, batch);
    // The oldest is removed; its timer returns its unused requests.
    if (prefetched.size > MOST_COUNTED) prefetched.delete(prefetched.keys().next().value ?? '');
  }

  function returnUnused(tag: string, batch: PrefetchedRequests): void {
    batch.returnTimer = null;
    const { left, windowStart, state } = batch;
    if (left === 0) return;
    batch.left = 0;
    // If it fails, the limit is lower by that much until the minute ends.
    state.settle(tag, [{ kind: 'window', name: WINDOW, windowStart, delta: -left }]).catch(() => {});
  }

  return (whose) => (requestsPerMinute === 0 ? ADMITTED : count(whose));
}
