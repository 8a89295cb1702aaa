import type { Reservation } from '../../ports/shared-state.ts';
import type { CreditHold } from './credit-hold.ts';
import type { KeyLimits } from './key-claims.ts';

export interface SinglyCounted {
  readonly key: KeyLimits;
  readonly callId: string;
  readonly tokens: number;
  readonly holds: readonly CreditHold[];
  readonly reservation: Reservation;
}

export interface LeaseSize {
  readonly count: number;
  /** Of each place: more than the call it is measured by needs, as the next one may be longer. */
  readonly tokensEach: number;
  readonly creditsEach: number;
}

/** Fewer are not worth a step. */
const LEAST = 4;
const MOST = 64;
/** Of what a tenth of a second brings, so that a lease is used up before it goes back. */
const PART_OF_A_TENTH = 4;
/** Of what is left until half of a limit one process takes at once. */
const PART_OF_WINDOW = 8;
/** Of the credits that nobody holds: who is near the end of their money is counted call by call. */
const PART_OF_CREDITS = 32;
const PART_OF_PLACES = 4;
const ALLOWANCE = 1.25;

/** Null where calls come slowly, or a limit is near. */
export function sizeOfLease(
  { key, tokens, holds, reservation }: SinglyCounted,
  perTenth: number,
): LeaseSize | null {
  if (reservation.outcome !== 'reserved') return null;
  const [credits, requests, counted, places] = reservation.standings;
  const [hold] = holds;
  if (credits === undefined || requests === undefined || counted === undefined || hold === undefined)
    return null;
  const tokensEach = Math.ceil(tokens * ALLOWANCE);
  const creditsEach = Math.ceil(hold.amount * ALLOWANCE);
  const count = Math.floor(
    Math.min(
      MOST,
      perTenth / PART_OF_A_TENTH,
      (key.requestsPerMinute / 2 - requests.used) / PART_OF_WINDOW,
      (key.tokensPerMinute / 2 - counted.used) / PART_OF_WINDOW / Math.max(1, tokensEach),
      (credits.limit - credits.used) / PART_OF_CREDITS / Math.max(1, creditsEach),
      key.maxCallsInFlight === null ? MOST : (key.maxCallsInFlight - (places?.used ?? 0)) / PART_OF_PLACES,
    ),
  );
  return count >= LEAST ? { count, tokensEach, creditsEach } : null;
}
