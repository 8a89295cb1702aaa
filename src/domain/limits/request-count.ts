import type { Clock, Timer } from '../../ports/clock.ts';
import type { SharedState, Standing } from '../../ports/shared-state.ts';
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
interface RequestsInHand {
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
  giveBack: Timer | null;
}

const FIRST_IN_HAND = 16;
const MOST_IN_HAND = 128;
/** If the requests counted ahead are used up in less than this, twice as many are counted the next time. */
const FAST_MS = 100;
/** The share that one process takes of what is left until half of the limit. */
const SHARE = 8;
/** Unused requests are returned after this time, for other processes. */
const KEPT_MS = 1_000;
const MOST_COUNTED = 10_000;
const WINDOW = 'requests';
const ADMITTED: CountedRequest = { outcome: 'admitted' };

type RequestWindow = Standing & { readonly state: SharedState };

/**
 * Counts requests of an address (G-39) or a user. A step of shared state per request would be most of the cost of admission,
 * so while less than half of the limit is used, a process counts some requests ahead. Beyond half each is counted singly,
 * and unused ones are returned after a second: the limit is never exceeded, and no process withholds what another needs. A
 * single process is exact. The next requests are counted when half of the last ones are left, so that in steady use no
 * request waits.
 */
export function createRequestCount({ place, clock, of, requestsPerMinute }: RequestCountParts): CountRequest {
  const inHand = new Map<string, RequestsInHand>();
  /** Requests that arrive while others are being counted ahead wait for the result. */
  const takingAhead = new Map<string, Promise<CountedRequest>>();

  function count(whose: string): CountedRequest | Promise<CountedRequest> {
    const hand = inHand.get(whose);
    const isRunning = hand !== undefined && clock.now() < hand.endsAtMs;
    if (isRunning && hand.left > 0) {
      hand.left -= 1;
      if (hand.left <= hand.refillAt && hand.nextAmount > 1 && !takingAhead.has(whose)) {
        void takeAhead(whose, hand.nextAmount, 0).catch(() => {});
      }
      return ADMITTED;
    }
    const ahead = takingAhead.get(whose);
    if (ahead !== undefined) return countAfter(whose, ahead);
    const amount = isRunning ? hand.nextAmount : 1;
    return amount === 1 ? take(whose, 1, 1) : takeAhead(whose, amount, 1);
  }

  function takeAhead(whose: string, amount: number, own: number): Promise<CountedRequest> {
    const taking = take(whose, amount, own).finally(() => takingAhead.delete(whose));
    takingAhead.set(whose, taking);
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
    const standing = reservation.outcome === 'reserved' ? reservation.standings[0] : undefined;
    if (standing !== undefined) keep(whose, tag, amount - own, askedAtMs, { ...standing, state });
    return ADMITTED;
  }

  function keep(whose: string, tag: string, more: number, askedAtMs: number, window: RequestWindow): void {
    const { windowStart, state, used, resetMs } = window;
    const known = inHand.get(whose);
    const isSame = known !== undefined && known.windowStart === windowStart && known.state === state;
    const hand = isSame
      ? known
      : {
          ...{ left: 0, nextAmount: 1, refillAt: 0, most: known?.most ?? FIRST_IN_HAND, countedAtMs: 0 },
          ...{ endsAtMs: askedAtMs + resetMs, windowStart, state, giveBack: null },
        };
    hand.left += more;
    hand.refillAt = more / 2;
    if (more > 0) {
      const isFast = askedAtMs - hand.countedAtMs < FAST_MS;
      hand.most = isFast ? Math.min(hand.most * 2, MOST_IN_HAND) : FIRST_IN_HAND;
      hand.countedAtMs = askedAtMs;
    }
    const wanted = Math.floor((requestsPerMinute / 2 - used) / SHARE);
    hand.nextAmount = Math.max(1, Math.min(wanted, hand.most));
    if (hand.left > 0) hand.giveBack ??= clock.after(KEPT_MS, () => giveBack(tag, hand));
    if (isSame) return;
    inHand.delete(whose);
    inHand.set(whose, hand);
    // The oldest is removed; its timer returns its unused requests.
    if (inHand.size > MOST_COUNTED) inHand.delete(inHand.keys().next().value ?? '');
  }

  function giveBack(tag: string, hand: RequestsInHand): void {
    hand.giveBack = null;
    const { left, windowStart, state } = hand;
    if (left === 0) return;
    hand.left = 0;
    // If it fails, the limit is lower by that much until the minute ends.
    state.settle(tag, [{ kind: 'window', name: WINDOW, windowStart, delta: -left }]).catch(() => {});
  }

  return (whose) => (requestsPerMinute === 0 ? ADMITTED : count(whose));
}
