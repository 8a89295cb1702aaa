import { type DataOf, graphql } from '../../session/graphql.ts';

export const USAGE = graphql(`query($from: DateTime, $to: DateTime, $groupBy: [UsageGroup!]) {
  usage(from: $from, to: $to, groupBy: $groupBy) {
    totals { calls failures credits toolCredits promptTokens cachedTokens cacheWriteTokens completionTokens }
    rows { day alias keyId project endUser tag totals { calls failures credits toolCredits promptTokens cachedTokens cacheWriteTokens completionTokens } }
  }
}`);

export type UsageData = DataOf<typeof USAGE>;
export type UsageRow = UsageData['usage']['rows'][number];

const DAY_MS = 86_400_000;

/** A day in UTC, so that the query stays the same all day. */
export function daysAgo(days: number, nowMs: number): string {
  return new Date(Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS).toISOString().slice(0, 10);
}

/** The first and the last day of a span, by its name in the URL. Days are those of UTC, as usage is counted. */
export function daysOf(span: string, nowMs: number): { readonly from: string; readonly to: string } {
  if (span === 'today') return { from: daysAgo(0, nowMs), to: daysAgo(0, nowMs) };
  if (span === 'yesterday') return { from: daysAgo(1, nowMs), to: daysAgo(1, nowMs) };
  return { from: daysAgo(Number(span) - 1, nowMs), to: daysAgo(0, nowMs) };
}

/** The most expensive first; days stay in their order. */
export function dearestFirst<Row extends Pick<UsageRow, 'day' | 'totals'>>(
  rows: readonly Row[],
): readonly Row[] {
  if (rows.some(({ day }) => day !== null)) return rows;
  return rows.toSorted((one, other) => other.totals.credits - one.totals.credits);
}

interface RequestsOf {
  readonly from: string;
  readonly to: string;
  readonly code: string | null;
  readonly status: number;
  readonly day?: string | null;
  readonly alias?: string | null;
  readonly keyId?: string | null;
}

/** The address of the log of requests with those of these days that ended so. */
export function requestsHref({ from, to, code, status, day, alias, keyId }: RequestsOf): string {
  const [first, last] = [day ?? from, day ?? to];
  const search = new URLSearchParams({
    time: 'own',
    from: localTime(Date.parse(first)),
    to: localTime(Date.parse(last) + DAY_MS),
    ...(code === null ? { status: String(status) } : { code }),
    ...(alias == null ? {} : { model: alias }),
    ...(keyId == null ? {} : { key: keyId }),
  });
  return `/requests?${search}`;
}

/** As a field for a date and a time has it, in the browser's time zone. */
function localTime(ms: number): string {
  const at = new Date(ms);
  return new Date(ms - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** One point per day, including days without calls. */
export function byDay(rows: readonly UsageRow[], from: string, to: string) {
  const found = new Map(rows.map((row) => [row.day, row.totals]));
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  const series = (of: (totals: UsageRow['totals']) => number) =>
    days.map((day) => {
      const totals = found.get(day);
      return totals === undefined ? 0 : of(totals);
    });
  return { days, series };
}

interface NamedSpend {
  readonly name: string;
  readonly day: string | null;
  readonly totals: { readonly credits: number };
}

/** The names that cost the most in `sums`, with what `lines` say of each day. */
export function dearestByDay(
  sums: readonly NamedSpend[],
  lines: readonly NamedSpend[],
  days: readonly string[],
  most: number,
): readonly { readonly name: string; readonly values: readonly number[] }[] {
  const dearest = sums.toSorted((one, other) => other.totals.credits - one.totals.credits);
  const names = [...new Set(dearest.map(({ name }) => name))].slice(0, most);
  return names.map((name) => {
    const spent = new Map<string | null, number>();
    for (const line of lines) {
      if (line.name === name) spent.set(line.day, (spent.get(line.day) ?? 0) + line.totals.credits);
    }
    return { name, values: days.map((day) => spent.get(day) ?? 0) };
  });
}

type DayOfSpend = Omit<NamedSpend, 'name'>;
const RECENT_DAYS = 7;

/** Credits are low if they do not last for as many days again. A company that has spent nothing yet has enough. */
export function balanceWarning(balance: number, rows: readonly DayOfSpend[], nowMs: number): string | null {
  if (balance <= 0) return 'There are no credits: calls are refused.';
  const since = daysAgo(RECENT_DAYS - 1, nowMs);
  const recent = rows.filter(({ day }) => day !== null && day >= since);
  const spent = recent.reduce((sum, { totals }) => sum + totals.credits, 0);
  return balance < spent
    ? `Credits are running low: the last ${RECENT_DAYS} days cost more than is left.`
    : null;
}
