/** When events that are not done with are looked at again by the timer. */
const FIRST_MS = 60_000;
const LONGEST_MS = 6 * 60 * 60_000;
/** The provider itself keeps its events for so long; what has not arrived by then will not arrive. */
const GIVE_UP_MS = 30 * 24 * 60 * 60_000;
/** Of our own faults; spread over some two days. */
const MOST_FAULTS = 16;

/** Null when it has waited long enough: it is not dropped, but a person has to look. */
export function deferredUntil(
  { receivedAt, attempts }: { readonly receivedAt: Date; readonly attempts: number },
  now: Date,
): Date | null {
  if (now.getTime() - receivedAt.getTime() >= GIVE_UP_MS) return null;
  return new Date(now.getTime() + backoffMs(attempts));
}

/** `attempts` counts the one that has just failed. Null after too many. */
export function triedAgainAt(attempts: number, now: Date): Date | null {
  return attempts >= MOST_FAULTS ? null : new Date(now.getTime() + backoffMs(attempts - 1));
}

function backoffMs(attempts: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(0, attempts), 20));
}
