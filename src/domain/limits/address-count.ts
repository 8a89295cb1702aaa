import type { Clock, Timer } from '../../ports/clock.ts';
import type { SharedState, Standing } from '../../ports/shared-state.ts';
import type { StatePlace } from './state-place.ts';

export type AddressOutcome = { outcome: 'admitted' } | { outcome: 'refused'; retryAfterMs: number };

export interface AddressCountParts {
  readonly place: StatePlace;
  readonly clock: Clock;
  /** 0 is off. */
  readonly requestsPerMinute: number;
}

/** At once where this process has some of the address's requests in hand. */
export type CountAddress = (address: string) => AddressOutcome | Promise<AddressOutcome>;

/** Requests of one address that were counted ahead, for this process to hand out. */
interface InHand {
  left: number;
  /** How many are counted at once the next time: the fewer, the more are used. */
  nextAmount: number;
  /** By this process's clock, a little early. */
  readonly endsAtMs: number;
  readonly windowStart: number;
  readonly state: SharedState;
  giveBack: Timer | null;
}

const MINUTE_MS = 60_000;
const MOST_IN_HAND = 16;
/** How much of what is left until half the limit one process takes at once. */
const SHARE = 8;
/** What is not handed out by then goes back, for the other processes. */
const KEPT_MS = 1_000;
const MOST_ADDRESSES = 10_000;
const WINDOW = 'requests';
const ADMITTED: AddressOutcome = { outcome: 'admitted' };

/**
 * Requests of an address (G-39). A step of shared state for every request would be most of what admission costs, so
 * while less than half of the limit is used a process counts some requests ahead and hands them out by itself. Beyond
 * half each is counted singly, and what was not handed out is given back after a second: never more than the limit
 * passes, and of several processes none sits on what another one needs. A single process is exact.
 */
export function createAddressCount({ place, clock, requestsPerMinute }: AddressCountParts): CountAddress {
  const inHand = new Map<string, InHand>();
  /** Where some are counted ahead, those who ask meanwhile wait for what it brings. */
  const takingAhead = new Map<string, Promise<AddressOutcome>>();

  function count(address: string): AddressOutcome | Promise<AddressOutcome> {
    const hand = inHand.get(address);
    const isRunning = hand !== undefined && clock.now() < hand.endsAtMs;
    if (isRunning && hand.left > 0) {
      hand.left -= 1;
      return ADMITTED;
    }
    const ahead = takingAhead.get(address);
    if (ahead !== undefined) return countAfter(address, ahead);
    const amount = isRunning ? hand.nextAmount : 1;
    if (amount === 1) return take(address, 1);
    const mine = take(address, amount).finally(() => takingAhead.delete(address));
    takingAhead.set(address, mine);
    return mine;
  }

  async function countAfter(address: string, ahead: Promise<AddressOutcome>): Promise<AddressOutcome> {
    await ahead;
    return await count(address);
  }

  async function take(address: string, amount: number): Promise<AddressOutcome> {
    const tag = `address ${address}`;
    const askedAtMs = clock.now();
    const claim = {
      kind: 'window',
      name: WINDOW,
      amount,
      limit: requestsPerMinute,
      windowMs: MINUTE_MS,
    } as const;
    const { reservation, state } = await place.reserve(tag, [claim]);
    if (reservation.outcome === 'refused') {
      if (amount > 1) return await take(address, 1);
      return { outcome: 'refused', retryAfterMs: reservation.retryAfterMs ?? MINUTE_MS };
    }
    const standing = reservation.outcome === 'reserved' ? reservation.standings[0] : undefined;
    if (standing !== undefined) keep(address, tag, amount - 1, askedAtMs, { ...standing, state });
    return ADMITTED;
  }

  function keep(address: string, tag: string, more: number, askedAtMs: number, window: Window): void {
    const { windowStart, state, used, resetMs } = window;
    const known = inHand.get(address);
    const isSame = known !== undefined && known.windowStart === windowStart && known.state === state;
    const hand = isSame
      ? known
      : { left: 0, nextAmount: 1, endsAtMs: askedAtMs + resetMs, windowStart, state, giveBack: null };
    hand.left += more;
    const wanted = Math.floor((requestsPerMinute / 2 - used) / SHARE);
    hand.nextAmount = Math.max(1, Math.min(wanted, MOST_IN_HAND));
    if (hand.left > 0) hand.giveBack ??= clock.after(KEPT_MS, () => giveBack(tag, hand));
    if (isSame) return;
    inHand.delete(address);
    inHand.set(address, hand);
    // The one that came first goes; what it still has goes back by its own timer.
    if (inHand.size > MOST_ADDRESSES) inHand.delete(inHand.keys().next().value ?? '');
  }

  function giveBack(tag: string, hand: InHand): void {
    hand.giveBack = null;
    const { left, windowStart, state } = hand;
    if (left === 0) return;
    hand.left = 0;
    // Where it fails the address has that much less until its minute is over.
    state.settle(tag, [{ kind: 'window', name: WINDOW, windowStart, delta: -left }]).catch(() => {});
  }

  return (address) => (requestsPerMinute === 0 ? ADMITTED : count(address));
}

type Window = Standing & { readonly state: SharedState };
