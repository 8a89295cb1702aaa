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

/** Requests that were counted ahead in one step. */
interface Prefetched {
  left: number;
  /** None is used later, by this process's uptime: shared state counts them until a minute after this. */
  readonly untilMs: number;
  readonly bucket: number;
  readonly state: SharedState;
  readonly timer: Timer;
}

/** The requests of an address or user in this process. */
interface Requests {
  /** The oldest come first, and are used first. */
  readonly prefetched: Prefetched[];
  /** The sum of what is left. */
  left: number;
  /** How many are counted at once the next time; fewer as the limit comes nearer. */
  nextAmount: number;
  /** When this few are left, the next ones are counted, before a request has to wait. */
  refillAt: number;
  /** The largest number counted at once; more for frequent requests. */
  most: number;
  /** When requests were counted last, by this process's uptime. */
  countedAtMs: number;
}

const FIRST_PREFETCH = 16;
const MOST_PREFETCH = 128;
/** If the requests counted ahead are used up in less than this, twice as many are counted the next time. */
const FAST_MS = 100;
/** The share that one process takes of what is left until half of the limit. */
const SHARE = 8;
/** No request that was counted ahead is used after this time: the rest is returned, for other processes. */
const KEPT_MS = 1_000;
const MOST_COUNTED = 10_000;
const WINDOW = 'requests';
const ADMITTED: CountedRequest = { outcome: 'admitted' };

type Counted = Pick<LimitState, 'used' | 'bucket'> & {
  readonly state: SharedState;
  readonly askedAtMs: number;
};

/**
 * Counts requests of an address (G-39) or a user. A step of shared state per request would be most of the cost of admission,
 * so while less than half of the limit is used, a process counts some requests ahead. Beyond half each is counted singly,
 * and unused ones are returned after a second: no minute exceeds the limit, and no process withholds what another needs. A
 * single process is exact. The next requests are counted when half of the last ones are left, so that in steady use no
 * request waits.
 */
export function createRequestCount({ place, clock, of, requestsPerMinute }: RequestCountParts): CountRequest {
  const all = new Map<string, Requests>();
  /** Requests that arrive while others are being counted ahead wait for the result. */
  const prefetching = new Map<string, Promise<CountedRequest>>();

  function count(whose: string): CountedRequest | Promise<CountedRequest> {
    const requests = all.get(whose);
    if (requests !== undefined && isTaken(whose, requests)) {
      if (requests.left <= requests.refillAt && requests.nextAmount > 1 && !prefetching.has(whose)) {
        void prefetch(whose, requests.nextAmount, 0).catch(() => {});
      }
      return ADMITTED;
    }
    const ahead = prefetching.get(whose);
    if (ahead !== undefined) return countAfter(whose, ahead);
    const isFrequent = requests !== undefined && clock.uptimeMs() - requests.countedAtMs < KEPT_MS;
    const amount = isFrequent ? requests.nextAmount : 1;
    return amount === 1 ? take(whose, 1, 1) : prefetch(whose, amount, 1);
  }

  /** Uses one that was counted ahead, if there is any. */
  function isTaken(whose: string, requests: Requests): boolean {
    if (requests.left === 0) return false;
    const nowMs = clock.uptimeMs();
    for (let first = requests.prefetched[0]; first !== undefined; first = requests.prefetched[0]) {
      if (first.left > 0 && nowMs < first.untilMs) {
        first.left -= 1;
        requests.left -= 1;
        return true;
      }
      returnUnused(whose, requests, first);
    }
    return false;
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
    // Before shared state counts them: they end here before they may no longer be used there.
    const askedAtMs = clock.uptimeMs();
    const claim = windowClaim(WINDOW, requestsPerMinute, amount, amount > own ? KEPT_MS : 0);
    const { reservation, state } = await place.reserve(tagOf(whose), [claim]);
    if (reservation.outcome === 'refused') {
      if (own === 0) return ADMITTED;
      if (amount > 1) return await take(whose, 1, 1);
      return { outcome: 'refused', retryAfterMs: reservation.retryAfterMs ?? MINUTE_MS };
    }
    const limitState = reservation.outcome === 'reserved' ? reservation.limitStates[0] : undefined;
    if (limitState !== undefined) keep(whose, amount - own, { ...limitState, state, askedAtMs });
    return ADMITTED;
  }

  function keep(whose: string, more: number, { used, bucket, state, askedAtMs }: Counted): void {
    const known = all.get(whose);
    const requests: Requests = known ?? {
      prefetched: [],
      left: 0,
      nextAmount: 1,
      refillAt: 0,
      most: FIRST_PREFETCH,
      countedAtMs: 0,
    };
    requests.refillAt = more / 2;
    if (more > 0) {
      const isFast = askedAtMs - requests.countedAtMs < FAST_MS;
      requests.most = isFast ? Math.min(requests.most * 2, MOST_PREFETCH) : FIRST_PREFETCH;
      const untilMs = askedAtMs + KEPT_MS;
      const timer = clock.after(Math.max(0, untilMs - clock.uptimeMs()), () =>
        returnUnused(whose, requests, added),
      );
      const added: Prefetched = { left: more, untilMs, bucket, state, timer };
      requests.prefetched.push(added);
      requests.left += more;
    }
    requests.countedAtMs = askedAtMs;
    const available = Math.floor((requestsPerMinute / 2 - used) / SHARE);
    requests.nextAmount = Math.max(1, Math.min(available, requests.most));
    if (known !== undefined) return;
    all.set(whose, requests);
    // The oldest is removed; its timers return its unused requests.
    if (all.size > MOST_COUNTED) all.delete(all.keys().next().value ?? '');
  }

  function returnUnused(whose: string, requests: Requests, ended: Prefetched): void {
    const { left, bucket, state, timer } = ended;
    timer.cancel();
    const at = requests.prefetched.indexOf(ended);
    if (at < 0) return;
    requests.prefetched.splice(at, 1);
    requests.left -= left;
    if (left === 0) return;
    // If it fails, the limit is lower by that much for a minute.
    state.settle(tagOf(whose), [{ kind: 'window', name: WINDOW, bucket, delta: -left }]).catch(() => {});
  }

  const tagOf = (whose: string) => `${of} ${whose}`;

  return (whose) => (requestsPerMinute === 0 ? ADMITTED : count(whose));
}
