import type { Statements } from '../../../ports/database.ts';
import { ALL_KEYS } from './usage-report.ts';

/** The sums in cost_days and retired_costs, and how they are computed from calls: only from those with a known cost. */
export const COST_SUMS = ['calls', 'charge_micro', 'cost_micro'] as const;
export const COST_ALIAS = 'coalesce(served_by, alias)';
export const COSTS_OF_CALLS = 'count(*), sum(charge_micro), sum(cost_micro)';
export const COSTED_CALLS = "cost_micro is not null and outcome <> 'REFUSED' and alias is not null";

export const MARGIN_GROUPS = ['MODEL', 'PROVIDER', 'COMPANY', 'DAY'] as const;
export type MarginGroup = (typeof MARGIN_GROUPS)[number];

/** Whole days in UTC, such as 2031-12-31; both inclusive. */
export interface MarginQuestion {
  readonly from: string;
  readonly to: string;
  readonly groupBy: MarginGroup;
}

export interface Margin {
  readonly calls: bigint;
  readonly costMicro: bigint;
  /** What the calls were charged. */
  readonly revenueMicro: bigint;
}

export interface MarginRow extends Margin {
  /** The alias, the provider with its host, the company's id, or the day. */
  readonly key: string;
  /** The display name: the name of a company, otherwise the key. */
  readonly name: string;
}

export interface MarginReport {
  /** The largest cost first; by day in chronological order. At most MOST_MARGIN_ROWS. */
  readonly rows: readonly MarginRow[];
  readonly totals: Margin;
  /** Charged calls whose cost is unknown, because their target had none; they are in no row. */
  readonly uncosted: Pick<Margin, 'calls' | 'revenueMicro'>;
  /**
   * Calls whose provider reported a cost that no price covers, as long as they are stored. They are in the rows if their
   * target has a cost, without what is not covered.
   */
  readonly unpriced: UnpricedSums;
}

interface UnpricedSums {
  readonly calls: bigint;
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
}

export const MOST_MARGIN_ROWS = 1_000;

const PROVIDER = "coalesce(target.provider || ' at ' || target.host, 'unknown')";
const DAY = "to_char(day.day, 'YYYY-MM-DD')";
const KEYS: Readonly<Record<MarginGroup, { readonly key: string; readonly name: string }>> = {
  MODEL: { key: 'day.alias', name: 'day.alias' },
  PROVIDER: { key: PROVIDER, name: PROVIDER },
  COMPANY: { key: 'day.company_id::text', name: 'company.name' },
  DAY: { key: DAY, name: DAY },
};

/**
 * Days that are added up are read from the sums over all companies (margin-sums.ts), the others from those of each company.
 * The days are given as arrays, so that the server uses the indexes by day.
 */
const OPEN_DAYS = `array(
    select day::date from generate_series($1::date::timestamp, $2::date::timestamp, interval '1 day') as day
    where not exists (select 1 from platform_days_done as done where done.day = day.day::date))`;
const ALL_DAYS = `day as (
    select day, alias, target_id, calls, charge_micro, cost_micro from platform_days
    where day between $1::date and $2::date and exists (select 1 from platform_days_done as done where done.day = platform_days.day)
    union all
    select day, alias, target_id, calls, charge_micro, cost_micro from cost_days where day = any (${OPEN_DAYS})
    union all
    select day, '', '', calls - failures, charge_micro, 0 from usage_days
    where day = any (${OPEN_DAYS}) and key_id = '${ALL_KEYS}')`;

/** Months that lie wholly within the period and are added up are read from their sums. */
const WHOLE_MONTHS = `array(
    select month from company_cost_months_done
    where month >= $1::date and month + interval '1 month' <= $2::date + interval '1 day')`;
const COMPANY_DAYS = `day as (
    select company_id, calls, charge_micro, cost_micro from company_cost_months where month = any (${WHOLE_MONTHS})
    union all
    select company_id, calls, charge_micro, cost_micro from cost_days where day = any (array(
      select day::date from generate_series($1::date::timestamp, $2::date::timestamp, interval '1 day') as day
      where date_trunc('month', day)::date <> all (${WHOLE_MONTHS}))))`;

/** Of all companies, for super admins. */
export async function marginReport(statements: Statements, question: MarginQuestion): Promise<MarginReport> {
  const { from, to, groupBy } = question;
  const { key, name } = KEYS[groupBy];
  const order = groupBy === 'DAY' ? '1' : '"costMicro" desc, 1';
  const rowsRead = statements.query<MarginRow>(
    groupBy === 'COMPANY'
      ? `with ${COMPANY_DAYS},
         highest as (select company_id, ${SUMMED} from day group by 1 order by ${order} limit ${MOST_MARGIN_ROWS})
         select ${key} as key, ${name} as name, calls, "costMicro", "revenueMicro"
         from highest as day left join companies as company on company.id = day.company_id order by ${order}`
      : `with ${ALL_DAYS}
         select ${key} as key, ${name} as name, ${SUMMED}
         from (select day, alias, target_id, ${SUMS} from day where alias <> '' group by 1, 2, 3) as day
         left join model_target_history as target on target.id = day.target_id
         group by 1, 2 order by ${order} limit ${MOST_MARGIN_ROWS}`,
    [from, to],
  );
  const totalsRead = statements.query<Margin & { allCalls: bigint; allMicro: bigint }>(
    `with ${ALL_DAYS}
     select ${['calls', 'cost_micro', 'charge_micro'].map(costed).join(', ')},
       ${['calls', 'charge_micro'].map(charged).join(', ')} from day`,
    [from, to],
  );
  const unpricedRead = statements.query<UnpricedSums>(UNPRICED_CALLS, [from, to]);
  const [rows, [totals], [unpriced]] = await Promise.all([rowsRead, totalsRead, unpricedRead]);
  if (totals === undefined || unpriced === undefined) throw new Error('the margins could not be summed');
  const { calls, costMicro, revenueMicro, allCalls, allMicro } = totals;
  return {
    rows,
    totals: { calls, costMicro, revenueMicro },
    uncosted: { calls: atLeastNone(allCalls - calls), revenueMicro: atLeastNone(allMicro - revenueMicro) },
    unpriced,
  };
}

const UNPRICED_CALLS = `select count(*) as calls,
    coalesce(sum(least(prompt_tokens, 1099511627776)), 0)::bigint as "promptTokens",
    coalesce(sum(least(completion_tokens, 1099511627776)), 0)::bigint as "completionTokens"
  from calls where unpriced is not null and started_at >= $1::date::timestamp at time zone 'utc'
    and started_at < ($2::date + 1)::timestamp at time zone 'utc'`;

const NAMES = { calls: 'calls', cost_micro: 'costMicro', charge_micro: 'revenueMicro' } as const;
const SUMS = 'total(calls) as calls, total(charge_micro) as charge_micro, total(cost_micro) as cost_micro';
const SUMMED = Object.entries(NAMES)
  .map(([column, shown]) => `total(day.${column}) as "${shown}"`)
  .join(', ');
const costed = (column: string) =>
  `total(${column}) filter (where alias <> '') as "${NAMES[column as keyof typeof NAMES]}"`;
const charged = (column: string) =>
  `total(${column}) filter (where alias = '') as "${column === 'calls' ? 'allCalls' : 'allMicro'}"`;

function atLeastNone(value: bigint): bigint {
  return value < 0n ? 0n : value;
}

/** The margin in percent of the revenue, to two decimals; null without revenue. */
export function marginPercent({
  costMicro,
  revenueMicro,
}: Pick<Margin, 'costMicro' | 'revenueMicro'>): number | null {
  if (revenueMicro === 0n) return null;
  return Number(((revenueMicro - costMicro) * 10_000n) / revenueMicro) / 100;
}
