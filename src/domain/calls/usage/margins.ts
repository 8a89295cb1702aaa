import type { Statements } from '../../../ports/database.ts';

/** What cost_days and retired_costs sum up, and how of calls: only of those whose cost is known. */
export const COST_SUMS = ['calls', 'charge_micro', 'cost_micro'] as const;
export const COST_ALIAS = 'coalesce(served_by, alias)';
export const COSTS_OF_CALLS = 'count(*), sum(charge_micro), sum(cost_micro)';
export const COSTED_CALLS = "cost_micro is not null and outcome <> 'REFUSED' and alias is not null";

export const MARGIN_GROUPS = ['MODEL', 'PROVIDER', 'COMPANY', 'DAY'] as const;
export type MarginGroup = (typeof MARGIN_GROUPS)[number];

/** Whole days, UTC, as 2031-12-31; both included. */
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
  /** As people read it: the name of a company, else the key. */
  readonly name: string;
}

export interface MarginReport {
  /** The largest cost first; by day in the order of days. At most MOST_MARGIN_ROWS. */
  readonly rows: readonly MarginRow[];
  readonly totals: Margin;
  /** Calls that were charged and whose cost is not known, because their target had none: they are in no row. */
  readonly uncosted: Pick<Margin, 'calls' | 'revenueMicro'>;
}

export const MOST_MARGIN_ROWS = 1_000;

const PROVIDER = "coalesce(target.provider || ' at ' || target.host, 'unknown')";
const KEYS: Readonly<Record<MarginGroup, { readonly key: string; readonly name: string }>> = {
  MODEL: { key: 'day.alias', name: 'day.alias' },
  PROVIDER: { key: PROVIDER, name: PROVIDER },
  COMPANY: { key: 'day.company_id::text', name: 'company.name' },
  DAY: { key: "to_char(day.day, 'YYYY-MM-DD')", name: "to_char(day.day, 'YYYY-MM-DD')" },
};

/** Of all companies, for super admins. */
export async function marginReport(statements: Statements, question: MarginQuestion): Promise<MarginReport> {
  const { from, to, groupBy } = question;
  const { key, name } = KEYS[groupBy];
  const rows = await statements.query<MarginRow & { readonly isTotal: boolean }>(
    `select ${key} as key, ${name} as name, false as "isTotal", ${SUMMED}
     from cost_days as day left join model_target_history as target on target.id = day.target_id
       left join companies as company on company.id = day.company_id
     where day.day between $1::date and $2::date group by 1, 2
     order by ${groupBy === 'DAY' ? '1' : '"costMicro" desc, 1'} limit ${MOST_MARGIN_ROWS}`,
    [from, to],
  );
  const [totals] = await statements.query<Margin & { allCalls: bigint; allMicro: bigint }>(
    `select summed.*, charged.calls as "allCalls", charged.micro as "allMicro"
     from (select ${SUMMED} from cost_days as day where day.day between $1::date and $2::date) as summed,
       (select coalesce(sum(calls - failures), 0)::bigint as calls, coalesce(sum(charge_micro), 0)::bigint as micro from usage_days
        where day between $1::date and $2::date and key_id = '00000000-0000-0000-0000-000000000000') as charged`,
    [from, to],
  );
  if (totals === undefined) throw new Error('the margins could not be summed');
  const { calls, costMicro, revenueMicro, allCalls, allMicro } = totals;
  return {
    rows,
    totals: { calls, costMicro, revenueMicro },
    uncosted: { calls: atLeastNone(allCalls - calls), revenueMicro: atLeastNone(allMicro - revenueMicro) },
  };
}

const SUMMED = `coalesce(sum(day.calls), 0)::bigint as calls, coalesce(sum(day.cost_micro), 0)::bigint as "costMicro",
  coalesce(sum(day.charge_micro), 0)::bigint as "revenueMicro"`;

function atLeastNone(value: bigint): bigint {
  return value < 0n ? 0n : value;
}

/** Null without revenue. In percent of the revenue, to two decimals. */
export function marginPercent({
  costMicro,
  revenueMicro,
}: Pick<Margin, 'costMicro' | 'revenueMicro'>): number | null {
  if (revenueMicro === 0n) return null;
  return Number(((revenueMicro - costMicro) * 10_000n) / revenueMicro) / 100;
}
