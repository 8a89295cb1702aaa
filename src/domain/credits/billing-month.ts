/** A calendar month, UTC: from `start`, before `end`. */
export interface BillingMonth {
  readonly start: Date;
  readonly end: Date;
}

/**
 * The month that a call belongs to: the one in which it began, also if it ends after midnight. Usage, limits, budgets and
 * invoices all count it there. A charge that is committed after the invoice of its month was made is on the next one.
 */
export function billingMonth(startedAt: Date): BillingMonth {
  const [year, month] = [startedAt.getUTCFullYear(), startedAt.getUTCMonth()];
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) };
}

/** Its first day, as `key_months` and `subject_months` name it: 'YYYY-MM-01'. */
export function firstDayOfMonth(startedAtMs: number): string {
  return `${new Date(startedAtMs).toISOString().slice(0, 7)}-01`;
}

/** `YYYY-MM`; null for anything else. */
export function monthNamed(text: string): BillingMonth | null {
  return /^20\d\d-(0[1-9]|1[0-2])$/.test(text) ? billingMonth(new Date(`${text}-01T00:00:00Z`)) : null;
}
