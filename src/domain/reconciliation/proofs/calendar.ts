/** Days with their months, as the first two values of a statement. */
export const CALENDAR = 'unnest($1::date[], $2::date[]) as calendar (day, month)';

const DAY_MS = 24 * 60 * 60_000;

/** A sum whose day is not among them is not taken for sound: its check itself is run. */
export function calendarDays(): readonly [days: readonly string[], months: readonly string[]] {
  const days: string[] = [];
  for (let ms = Date.UTC(2020); ms < Date.UTC(2045); ms += DAY_MS) {
    days.push(new Date(ms).toISOString().slice(0, 10));
  }
  return [days, days.map((day) => `${day.slice(0, 7)}-01`)];
}
