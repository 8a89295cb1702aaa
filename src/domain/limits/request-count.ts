import type { Clock, Timer } from '../../ports/clock.ts';
import type { SharedState, Standing } from '../../ports/shared-state.ts';
import { MINUTE_MS, type StatePlace, windowClaim } from './claims.ts';

export type CountedRequest = { outcome: 'admitted' } | { outcome: 'refused'; retryAfterMs: number };

/** At once where this process has some of its requests in hand. */
export type CountRequest = (whose: string) => CountedRequest | Promise<CountedRequest>;

interface RequestCountParts {
  readonly place: StatePlace;
  readonly clock: Clock;
  /** What is counted, `address`: counts of different kinds do not mix. */
  readonly of: string;
  /** 0 is off. */
  readonly requestsPerMinute: number;
}

/** Requests of one address or user that were counted ahead, for this process to hand out. */
interface RequestsInHand {
  left: number;
  /** How many are counted at once the next time: the fewer, the more are used. */
  nextAmount: number;
  /** Where so few are left the next ones are counted, before anybody waits for them. */
  refillAt: number;
  /** The most that are counted at once: more for one whose requests come fast. */
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
/** Requests that use up in less than this what was counted ahead come fast: twice as many are counted the next time. */
const FAST_MS = 100;
/** How much of what is left until half the limit one process takes at once. */
const SHARE = 8;
/** What is not handed out by then goes back, for the other processes. */
const KEPT_MS = 1_000;
const MOST_COUNTED = 10_000;
const WINDOW = 'requests';
const ADMITTED: CountedRequest = { outcome: 'admitted' };

type RequestWindow = Standing & { readonly state: SharedState };

/**
 * Requests of an address (G-39) or a user. A step of shared state for every request would be most of what admission costs, so
 * while less than half of the limit is used a process counts some requests ahead and hands them out by itself. Beyond
 * half each is counted singly, and what was not handed out is given back after a second: never more than the limit
 * passes, and of several processes none sits on what another one needs. A single process is exact. The next ones are counted
 * when half of the last ones are left, so that in steady use no request waits.
 */
export function createRequestCount({ place, clock, of, requestsPerMinute }: RequestCountParts): CountRequest {
  const inHand = new Map<string, RequestsInHand>();
  /** Where some are counted ahead, requests that come meanwhile wait for what it brings. */
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
    // What was counted ahead for others may fail; this request then counts for itself.
    await ahead.catch(() => {});
    return await count(whose);
  }

  /** `own`: how many of them are the request's that waits for it, 1 or none. */
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
    // The one that came first goes; what it still has goes back by its own timer.
    if (inHand.size > MOST_COUNTED) inHand.delete(inHand.keys().next().value ?? '');
  }

  function giveBack(tag: string, hand: RequestsInHand): void {
    hand.giveBack = null;
    const { left, windowStart, state } = hand;
    if (left === 0) return;
    hand.left = 0;
    // Where it fails they have that much less until its minute is over.
    state.settle(tag, [{ kind: 'window', name: WINDOW, windowStart, delta: -left }]).catch(() => {});
  }

  return (whose) => (requestsPerMinute === 0 ? ADMITTED : count(whose));
}
