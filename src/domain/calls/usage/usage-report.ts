import type { Database, Statements } from '../../../ports/database.ts';
import { rangeOf, type Span, spanOf, splitSpan, type UsageRange, widenSpan } from './usage-range.ts';

export type UsageDimension = 'model' | 'day' | 'key';

/** Calls are counted by their start. */
export interface UsageQuestion extends UsageRange {
  readonly companyId: string;
  /** The usage of one key; null is the whole company, including calls that the platform made for it. */
  readonly keyId: string | null;
  /** The requested breakdowns, each a set of dimensions; [] is the totals. At most 8. */
  readonly by: readonly (readonly UsageDimension[])[];
}

/** Tokens are those of successful calls. */
export interface UsageTotals {
  readonly calls: bigint;
  readonly failures: bigint;
  readonly promptTokens: bigint;
  readonly cachedTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly completionTokens: bigint;
  readonly chargeMicro: bigint;
  /** The part of the charge that is for hosted tools. */
  readonly surchargeMicro: bigint;
}

/** Dimensions that are not part of the breakdown are null. */
export interface UsageGroup extends UsageTotals {
  /** The alias as requested. */
  readonly model: string | null;
  readonly day: string | null;
  readonly keyId: string | null;
}

interface UsageReport {
  /** The period covered: the requested one, or the whole days around it if its calls cannot be read individually. */
  readonly range: UsageRange;
  /** For each requested breakdown, in that order: its groups, by day, model and key. */
  readonly groups: readonly (readonly UsageGroup[])[];
}

export const NO_USAGE: UsageTotals = {
  calls: 0n,
  failures: 0n,
  promptTokens: 0n,
  cachedTokens: 0n,
  cacheWriteTokens: 0n,
  completionTokens: 0n,
  chargeMicro: 0n,
  surchargeMicro: 0n,
};

/** The key_id of the rows that count all calls of a company, with any key or none. */
export const ALL_KEYS = '00000000-0000-0000-0000-000000000000';
const MOST_BREAKDOWNS = 8;
/** The largest report, 100 keys by day and model for a month, has 18,000 groups. */
const MOST_GROUPS = 100_000;
/** Calls read individually, for the partial days at the ends of a period: about 0.3 s on the embedded engine. */
const MOST_CALLS_READ = 100_000;

/**
 * Reports usage from the rows that every commit updates: one for each key, day and model, for any number of calls. So a
 * finished call is included at once. Whole months that are over are read from their sums, so that a year costs about as much
 * as a month. All breakdowns show the same point in time.
 *
 * If the period starts or ends within a day, the calls of that part are read individually. If that is impossible, because
 * they are past their retention or too many, the report covers the whole day, as its range shows.
 */
export async function usageReport(
  database: Database,
  question: UsageQuestion,
  mostCallsRead = MOST_CALLS_READ,
): Promise<UsageReport> {
  const { keyId, by } = question;
  if (by.length > MOST_BREAKDOWNS) throw new RangeError(`at most ${MOST_BREAKDOWNS} breakdowns at once`);
  // Keys have rows in addition to the company's: adding up both would count calls twice.
  const isByKey = keyId === null && by.some((dimensions) => dimensions.includes('key'));
  if (isByKey && by.some((dimensions) => !dimensions.includes('key'))) {
    throw new RangeError('a company by key is a report of its own');
  }
  const span = spanOf(question);
  if (by.length === 0) return { range: rangeOf(span), groups: [] };
  const read = async (statements: Statements): Promise<UsageReport> => {
    const exact = await readGroups(statements, question, { span, isByKey, mostCallsRead });
    if (exact !== null) return { range: rangeOf(span), groups: exact };
    const widened = widenSpan(span);
    const groups = await readGroups(statements, question, { span: widened, isByKey, mostCallsRead });
    return { range: rangeOf(widened), groups: groups ?? [] };
  };
  return isByKey ? await plannedForCompany(database, read) : await read(database);
}

/** A generic plan expects few rows and sorts them, which takes twice as long for a company with a hundred thousand. */
export async function plannedForCompany<T>(
  database: Database,
  work: (statements: Statements) => Promise<T>,
): Promise<T> {
  if (database.engine === 'pglite') return await work(database);
  return await database.transaction(async (transaction) => {
    await transaction.script('set local plan_cache_mode = force_custom_plan');
    return await work(transaction);
  });
}

interface Reading {
  readonly span: Span;
  readonly isByKey: boolean;
  readonly mostCallsRead: number;
}

type NamedGroup = UsageGroup & { readonly name: string };

/** Null if the partial days cannot be read call by call. */
async function readGroups(
  statements: Statements,
  { companyId, keyId, by }: UsageQuestion,
  { span, isByKey, mostCallsRead }: Reading,
): Promise<UsageReport['groups'] | null> {
  const { days, parts } = splitSpan(span);
  const range = days ?? NO_DAYS;
  const whole = wholeMonths(range.from, range.to);
  const sql = usageSql(by, { isByKey, mostCallsRead: parts.length === 0 ? 0 : mostCallsRead });
  const moments = (of: (part: Span) => number) => parts.map((part) => new Date(of(part)).toISOString());
  const ofParts =
    parts.length === 0 ? [] : [moments((part) => part.fromMs), moments((part) => part.beforeMs)];
  const rows = await statements.query<NamedGroup>(`${sql} order by 3, 2, 4 limit ${MOST_GROUPS}`, [
    companyId,
    keyId ?? ALL_KEYS,
    range.from,
    range.to,
    whole.from,
    whole.before,
    ...ofParts,
  ]);
  const groupsBy = Map.groupBy(rows, ({ name }) => name);
  const read = groupsBy.get(PARTS_READ)?.[0];
  if (read !== undefined && !isWholeRead(read, parts, mostCallsRead)) return null;
  return by.map((dimensions) => (groupsBy.get(breakdownName(dimensions)) ?? []).map(withoutName));
}

/** In the row PARTS_READ, `calls` is the number of calls read, and `model` is the id before which calls were retired. */
function isWholeRead(read: NamedGroup, parts: readonly Span[], mostCallsRead: number): boolean {
  const retiredBeforeMs = read.model === null ? 0 : timeOfId(read.model) + ID_BEFORE_START_MS;
  return read.calls <= BigInt(mostCallsRead) && parts.every(({ fromMs }) => fromMs >= retiredBeforeMs);
}

/** A call gets its id before it starts, so some that started just after the boundary were retired too. */
const ID_BEFORE_START_MS = 60_000;

/** A UUIDv7 starts with its milliseconds. */
function timeOfId(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}

/** The first day of the first calendar month wholly within the range, and of the month after the last one. */
export function wholeMonths(from: string, to: string): { readonly from: string; readonly before: string } {
  const [fromYear = 0, fromMonth = 0, fromDay = 0] = from.split('-').map(Number);
  const first = new Date(Date.UTC(fromYear, fromDay === 1 ? fromMonth - 1 : fromMonth));
  const [toYear = 0, toMonth = 0, toDay = 0] = to.split('-').map(Number);
  const after = new Date(Date.UTC(toYear, toMonth - 1, toDay + 1));
  const before = new Date(Date.UTC(after.getUTCFullYear(), after.getUTCMonth()));
  if (first >= before) return { from, before: from };
  return { from: first.toISOString().slice(0, 10), before: before.toISOString().slice(0, 10) };
}

function withoutName({ name: _, ...group }: NamedGroup): UsageGroup {
  return group;
}

/** An empty period. */
const NO_DAYS: UsageRange = { from: '2000-01-02', to: '2000-01-01' };
/** The row that shows how the partial days were read; no breakdown has this name. */
const PARTS_READ = '#';

type Breakdown = readonly UsageDimension[];

const DIMENSIONS: Breakdown = ['model', 'day', 'key'];
const COLUMN = { model: 'alias', day: 'day', key: 'key_id' } as const;
const SHOWN = { model: 'alias', day: "to_char(day, 'YYYY-MM-DD')", key: 'key_id' } as const;
const SUM_NAMES = {
  calls: 'calls',
  failures: 'failures',
  prompt_tokens: 'promptTokens',
  cached_tokens: 'cachedTokens',
  cache_write_tokens: 'cacheWriteTokens',
  completion_tokens: 'completionTokens',
  charge_micro: 'chargeMicro',
  surcharge_micro: 'surchargeMicro',
} as const;
/** The columns that every usage table sums up. */
export const USAGE_SUMS = Object.keys(SUM_NAMES);
const NUMBERS = USAGE_SUMS.join(', ');
/** The same limit as charge_calls applies by day, so that absurd reports cannot overflow a sum. */
const MOST_COUNTED_TOKENS = 2 ** 40;
const sumOfTokens = (column: string) =>
  `coalesce(sum(least(coalesce(${column}, 0), ${MOST_COUNTED_TOKENS})) filter (where price_id is not null), 0)`;
/** USAGE_SUMS computed from rows of calls, which COUNTED_CALLS selects. */
export const SUMS_OF_CALLS = `count(*), count(*) filter (where outcome = 'FAILED'),
      ${['prompt_tokens', 'cached_tokens', 'cache_write_tokens', 'completion_tokens'].map(sumOfTokens).join(',\n      ')}, sum(charge_micro),
      coalesce(sum(surcharge_micro), 0)`;
export const COUNTED_CALLS = "outcome <> 'REFUSED' and alias is not null";
const SUMMED = Object.entries(SUM_NAMES)
  .map(([column, name]) => `total(${column}) as "${name}"`)
  .join(', ');

/**
 * The end of the months of company $1 that are read from their sums: from the first whole month ($5) up to the first that is
 * not added up, or the end ($6). The days around them are read individually. There is nothing to add up before the company's
 * first call, whose row is found at once because ALL_KEYS sorts first.
 */
export const monthsDone = (condition = 'true') => `
  done as materialized (
    select coalesce((
      select min(month)::date
      from generate_series(
        greatest($5::date, (select date_trunc('month', day) from usage_days where company_id = $1 order by key_id, day limit 1)),
        $6::date::timestamp - interval '1 month', interval '1 month') as month
      where not exists (
        select 1 from usage_months_done as known
        where known.company_id = $1 and known.month = month.month::date and ${condition})), $6::date) as until)`;

/**
 * The calls of the partial days, which start at $7 and end before $8, by the company's index. One more than allowed is read,
 * to detect that there are too many.
 */
const callsOfParts = (isByKey: boolean, mostCallsRead: number) => `
  read_calls as materialized (
    select key_id, alias, started_at, outcome, price_id, prompt_tokens, cached_tokens, cache_write_tokens,
      completion_tokens, charge_micro, surcharge_micro
    from unnest($7::timestamptz[], $8::timestamptz[]) as part (since, before), lateral (
      -- In the order of the index, so that it is used for a company with a large part of all calls too.
      select * from calls where company_id = $1 and started_at >= since and started_at < before
      order by started_at limit ${mostCallsRead + 1}) as calls
    limit ${mostCallsRead + 1}),
  parts (key_id, alias, day, ${NUMBERS}) as (
    select ${isByKey ? 'key_id' : '$2::uuid'}, alias, (started_at at time zone 'utc')::date, ${SUMS_OF_CALLS}
    from read_calls
    where ${COUNTED_CALLS} and ${isByKey ? 'key_id is not null' : `($2::uuid = '${ALL_KEYS}' or key_id = $2::uuid)`}
    group by 1, 2, 3)`;

/** The sums of bigints are numerics. */
const SUMS_OF_PARTS = USAGE_SUMS.map((column) => `${column}::bigint`).join(', ');
const HOW_READ = `select '${PARTS_READ}', (select before_id::text from calls_retirement), ''::text, null, count(*), 0::bigint,
    0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint from read_calls`;

/** What a breakdown is read from. Only the rows of days are by model and day at once. */
const SOURCES = ['models', 'days', 'both'] as const;
type Source = (typeof SOURCES)[number];

/**
 * $2 is the requested key; in a report by key it is ALL_KEYS, whose rows are excluded. usage_months has two types of rows, by
 * model and by day, see the migration.
 */
function rowsOf(source: Source, isByKey: boolean): string {
  const own = `company_id = $1 and key_id ${isByKey ? '<>' : '='} $2::uuid`;
  const shown = `key_id, alias, ${source === 'models' ? 'null::date as day' : 'day'}, ${NUMBERS}`;
  const days = `select ${shown} from usage_days where ${own}`;
  if (source === 'both') return `${days} and day >= $3::date and day <= $4::date`;
  return `${days} and day >= $3::date and day < $5::date
    union all ${days} and day >= (select until from done) and day <= $4::date
    union all select ${shown} from usage_months where ${own}
      and month >= $5::date and month < (select until from done) and alias ${source === 'models' ? '>' : '='} ''`;
}

function breakdownName(breakdown: Breakdown): string {
  return DIMENSIONS.filter((dimension) => breakdown.includes(dimension)).join(' ');
}

/** Parameters: company, key, first day, last day, first whole month, the month after the last one; and the partial days. */
function usageSql(
  by: readonly Breakdown[],
  { isByKey, mostCallsRead }: { readonly isByKey: boolean; readonly mostCallsRead: number },
): string {
  const hasParts = mostCallsRead > 0;
  const selects = SOURCES.flatMap((source) => {
    const sql = rowsOf(source, isByKey);
    const own = by.filter((breakdown) => sourceOf(breakdown) === source);
    const once = [...new Map(own.map((breakdown) => [breakdownName(breakdown), breakdown])).values()];
    const whole = hasParts ? `${sql} union all select key_id, alias, day, ${SUMS_OF_PARTS} from parts` : sql;
    return once.length === 0 ? [] : [selectFrom(whole, once)];
  });
  const parts = hasParts ? `, ${callsOfParts(isByKey, mostCallsRead)}` : '';
  const rows = [...selects, ...(hasParts ? [HOW_READ] : [])].join(' union all ');
  return `with ${monthsDone()}${parts} ${rows}`;
}

function sourceOf(breakdown: Breakdown): Source {
  if (!breakdown.includes('day')) return 'models';
  return breakdown.includes('model') ? 'both' : 'days';
}

function selectFrom(source: string, by: readonly Breakdown[]): string {
  const used = DIMENSIONS.filter((dimension) => by.some((breakdown) => breakdown.includes(dimension)));
  const shown = (dimension: UsageDimension) => (used.includes(dimension) ? SHOWN[dimension] : 'null');
  const sets = by.map((breakdown) => `(${columnsOf(breakdown)})`).join(', ');
  return `select ${nameSql(by, used)} as name, ${shown('model')}::text as model, ${shown('day')}::text as day,
      ${shown('key')}::text as "keyId", ${SUMMED}
    from (${source}) as source group by grouping sets (${sets}) having count(*) > 0`;
}

/** grouping() sets a bit for each of its columns that a group is not by; the last column is the lowest bit. */
function nameSql(by: readonly Breakdown[], used: Breakdown): string {
  if (used.length === 0) return "''";
  const cases = by.map((breakdown) => {
    const without = used.reduce((bits, dimension) => bits * 2 + (breakdown.includes(dimension) ? 0 : 1), 0);
    return `when ${without} then '${breakdownName(breakdown)}'`;
  });
  return `case grouping(${columnsOf(used)}) ${cases.join(' ')} end`;
}

function columnsOf(breakdown: Breakdown): string {
  const dimensions = DIMENSIONS.filter((dimension) => breakdown.includes(dimension));
  return dimensions.map((dimension) => COLUMN[dimension]).join(', ');
}
