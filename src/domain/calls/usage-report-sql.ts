import type { UsageDimension } from './usage-report.ts';

type Breakdown = readonly UsageDimension[];

const DIMENSIONS: Breakdown = ['model', 'day', 'key'];
const COLUMN = { model: 'alias', day: 'day', key: 'key_id' } as const;
const SHOWN = { model: 'alias', day: "to_char(day, 'YYYY-MM-DD')", key: 'key_id' } as const;
const SUMS = {
  calls: 'calls',
  failures: 'failures',
  prompt_tokens: 'promptTokens',
  cached_tokens: 'cachedTokens',
  completion_tokens: 'completionTokens',
  charge_micro: 'chargeMicro',
} as const;
const NUMBERS = Object.keys(SUMS).join(', ');
const SUMMED = Object.entries(SUMS)
  .map(([column, name]) => `sum(${column})::bigint as "${name}"`)
  .join(', ');

/** Every key that the company $1 has used is found by hopping along the index, however many rows each has. */
const nextKey = (after: string) =>
  `(select key_id from usage_days where company_id = $1 and key_id > ${after} order by key_id limit 1)`;
const keysFrom = (first: string) => `keys (id) as (
    select ${first}
    union all
    select ${nextKey('keys.id')} from keys where id is not null)`;

/** That of the whole company, and all of its keys. */
export const KEYS_IN_USE = keysFrom("'00000000-0000-0000-0000-000000000000'::uuid");
const ONE_KEY = 'keys (id) as (select $2::uuid)';
const ITS_KEYS = keysFrom(nextKey('$2::uuid'));

/**
 * The months that are added up, from the first whole one ($5) up to the first that is not done, or the end ($6); and
 * the days around them. `months` has two kinds of rows, by model and by day, see the migration.
 */
const PARTS = `
  done as materialized (
    select coalesce((
      select min(month)::date
      from generate_series($5::date::timestamp, $6::date::timestamp - interval '1 month', interval '1 month') as month
      where not exists (
        select 1 from usage_months_done as known
        where known.company_id = $1 and known.month = month.month::date)), $6::date) as until),
  days as (
    select key_id, alias, day, ${NUMBERS} from keys, usage_days
    where company_id = $1 and key_id = keys.id and day >= $3::date and day < $5::date
    union all
    select key_id, alias, day, ${NUMBERS} from keys, usage_days
    where company_id = $1 and key_id = keys.id and day >= (select until from done) and day <= $4::date),
  months as (
    select key_id, alias, day, ${NUMBERS} from keys, usage_months
    where company_id = $1 and key_id = keys.id and month >= $5::date and month < (select until from done))`;

/** What a breakdown is read from: by model and by day at once only the days themselves know. */
const SOURCES = {
  models: `select key_id, alias, day, ${NUMBERS} from days
    union all select key_id, alias, day, ${NUMBERS} from months where alias <> ''`,
  days: `select key_id, alias, day, ${NUMBERS} from days
    union all select key_id, alias, day, ${NUMBERS} from months where alias = ''`,
  both: `select key_id, alias, day, ${NUMBERS} from keys, usage_days
    where company_id = $1 and key_id = keys.id and day >= $3::date and day <= $4::date`,
} as const;

export function breakdownName(breakdown: Breakdown): string {
  return DIMENSIONS.filter((dimension) => breakdown.includes(dimension)).join(' ');
}

/** Takes company, key, first day, last day, first whole month, the month after the last. */
export function usageSql(by: readonly Breakdown[], { isByKey }: { readonly isByKey: boolean }): string {
  const selects = Object.entries(SOURCES).flatMap(([source, sql]) => {
    const own = by.filter((breakdown) => sourceOf(breakdown) === source);
    const once = [...new Map(own.map((breakdown) => [breakdownName(breakdown), breakdown])).values()];
    return once.length === 0 ? [] : [selectFrom(sql, once)];
  });
  return `with recursive ${isByKey ? ITS_KEYS : ONE_KEY}, ${PARTS} ${selects.join(' union all ')}`;
}

function sourceOf(breakdown: Breakdown): keyof typeof SOURCES {
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

/** grouping() counts a bit for each of its columns that a group is not by, the last one lowest. */
function nameSql(by: readonly Breakdown[], used: Breakdown): string {
  if (used.length === 0) return "''";
  const cases = by.map((breakdown) => {
    const without = used.reduce((bits, dimension) => bits * 2 + (breakdown.includes(dimension) ? 0 : 1), 0);
    return `when ${without} then '${breakdownName(breakdown)}'`;
  });
  return `case grouping(${columnsOf(used)}) ${cases.join(' ')} end`;
}

function columnsOf(breakdown: Breakdown): string {
  const wanted = DIMENSIONS.filter((dimension) => breakdown.includes(dimension));
  return wanted.map((dimension) => COLUMN[dimension]).join(', ');
}
