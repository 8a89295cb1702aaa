import type Stripe from 'stripe';

const DAY = 86_400;

/**
 * The end of the period that begins at `start`: the first of the anchor's anniversaries after it. Counted from the
 * anchor and not from the last period, so that a subscription of the 31st comes back to the 31st after February.
 */
export function periodEnd(
  anchor: number,
  start: number,
  recurring: Pick<Stripe.Price.Recurring, 'interval' | 'interval_count'>,
): number {
  const { interval, interval_count: count } = recurring;
  if (interval === 'day' || interval === 'week') {
    const length = count * (interval === 'day' ? DAY : 7 * DAY);
    return anchor + (Math.floor((start - anchor) / length) + 1) * length;
  }
  const months = count * (interval === 'month' ? 1 : 12);
  let steps = Math.max(0, Math.floor(monthsBetween(anchor, start) / months));
  while (plusMonths(anchor, steps * months) <= start) steps += 1;
  return plusMonths(anchor, steps * months);
}

function monthsBetween(from: number, to: number): number {
  const [one, other] = [new Date(from * 1000), new Date(to * 1000)];
  const years = other.getUTCFullYear() - one.getUTCFullYear();
  return years * 12 + other.getUTCMonth() - one.getUTCMonth();
}

/** The same day of a later month, or its last one; UTC. */
function plusMonths(seconds: number, months: number): number {
  const from = new Date(seconds * 1000);
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(from.getUTCDate(), lastDay);
  const midnight = Date.UTC(from.getUTCFullYear(), from.getUTCMonth(), from.getUTCDate());
  return (Date.UTC(year, month, day) + (from.getTime() - midnight)) / 1000;
}

/** How long before a renewal its invoice is announced: a week, or a seventh of a short period. */
export function announcedAt(start: number, end: number): number {
  return end - Math.min(7 * DAY, Math.floor((end - start) / 7));
}

export const TRIAL_WARNING_SECONDS = 3 * DAY;
