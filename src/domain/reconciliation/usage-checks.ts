import { chargeOf, IS_CHARGED, mayHavePriceOf } from '../calls/settlement/due-charge.ts';
import { ALIAS_NAMES } from '../models/aliases.ts';
import type { AuditCheck } from './audit-check.ts';

/** A call id as text: calls with lower ids were deleted by retention. No id is lower than the empty text. */
export const RETIRED_BEFORE = "coalesce((select before_id::text from calls_retirement), '')";

/** Deleted calls cannot be named one by one, so a company's charges for them are compared as one sum. */
export const retiredChargesCheck: AuditCheck = {
  holds: 'what companies were charged for calls that were deleted by retention is what those had cost',
  faults: `select format('company %s was charged %s micro-credits for calls that were deleted by retention, which had cost %s',
      company_id, coalesce(charged, 0), coalesce(cost, 0))
    from (select company_id, sum(charge_micro) as cost from retired_usage
      where key_id = '00000000-0000-0000-0000-000000000000' group by company_id) as retired
    full join (
      select coalesce(account.company_id, account_id) as company_id, -sum(amount_micro) as charged
      from credit_transactions as posted left join credit_accounts as account on account.id = account_id
      where exists (select 1 from calls_retirement) and source_kind in ('call', 'withheld-usage') and source_id < ${RETIRED_BEFORE}
        and not exists (select 1 from calls where calls.id::text = posted.source_id
          and calls.id < (select before_id from calls_retirement))
      group by 1) as posted using (company_id)
    where coalesce(cost, 0) <> coalesce(charged, 0)`,
};

/**
 * A constraint of the ledger allows one posting per source, so duplicates need no check. Calls that were deleted by
 * retention are not missed here; `retiredChargesCheck` compares their sums with the ledger.
 */
export const chargesCheck: AuditCheck = {
  holds:
    'every charged call has its USAGE transaction, with what was withheld and posted later, and there is no other',
  faults: `select case
      when call.id is null then format('transaction %s of account %s charges for call %s, which is not a charged one',
        posted.version, posted.account_id, posted.source_id)
      when posted.source_id is null then format('call %s of company %s costs %s micro-credits and was not charged',
        call.id, call.company_id, call.charge_micro)
      else format('call %s of company %s costs %s micro-credits; transaction %s of account %s has the amount %s',
        call.id, call.company_id, call.charge_micro, posted.version, posted.account_id, posted.amount_micro) end
    from (select id, company_id, coalesce(payer_id, company_id) as payer, charge_micro from calls
      where charge_micro <> 0) as call
    full join (select account_id, max(version) as version, sum(amount_micro) as amount_micro, source_id,
        bool_and(source_kind in ('call', 'withheld-usage')) as is_of_call
      from credit_transactions where source_kind in ('call', 'withheld-usage') or type = 'USAGE'
      group by account_id, source_id) as posted on posted.source_id = call.id::text
    where (call.id is null and not (is_of_call and source_id < ${RETIRED_BEFORE})) or source_id is null
      or posted.amount_micro <> -call.charge_micro or posted.account_id <> call.payer`,
};

const SERVED = 'coalesce(served_by, alias)';
/** The stored share of a surcharge is rounded up, while the charge is rounded up once, over tokens and surcharge. */
const ROUNDED_TWICE =
  'case when charge_share_millionths is null or surcharge_micro is null then 0 else 1 end';

/** Limits below which the sum of three products of price and tokens fits into a bigint. */
const SMALL_PRICE = '1000000000';
const FEW_TOKENS = 2 ** 26 - 1;

/** A price that was set for a time that had passed has no call that was charged before it was recorded. */
const SINCE = 'coalesce(other.recorded_at, other.in_force_from)';
/**
 * Prices with the start of the next one (`until`), and with columns for a quick test of a call's alias. It joins the
 * other prices of the alias: a correlated subquery or a window function would keep PostgreSQL from reading the calls
 * with parallel workers.
 */
const PRICES = `select price.*, min(${SINCE}) filter (where other.in_force_from > price.in_force_from) as until,
      not bool_or(${SINCE} < price.in_force_from) as is_first,
      greatest(price.prompt_micro, price.cached_micro, price.completion_micro) <= ${SMALL_PRICE} as is_small,
      case when strpos(price.alias, '/') = 0 then price.alias end as plain,
      case when price.alias in (${ALIAS_NAMES.map(({ name }) => `'${name}'`).join(', ')}) then '%/' || price.alias end as ending
    from model_prices as price join model_prices as other on other.alias = price.alias
    group by price.id`;

/** The cost of a call's tokens at its price with the surcharge, less what was withheld. */
const DUE = `(${chargeOf('prompt_tokens', 'completion_tokens')} - coalesce(excess_micro, 0))`;

/** A quick test with a few integer operations: true for nearly all correctly priced calls, and for no others. */
const IS_PLAINLY_RIGHT = `is_small and ${IS_CHARGED} and excess_micro is null and charge_share_millionths is null
      and price_factor_millionths is null and completion_factor_millionths is null and cache_write_tokens is null and surcharge_micro is null
      and (prompt_tokens | completion_tokens) between 0 and ${FEW_TOKENS} and cached_tokens between 0 and prompt_tokens
      and charge_micro = ((prompt_tokens - cached_tokens) * prompt_micro + cached_tokens * cached_micro
        + completion_tokens * completion_micro + 999999) / 1000000
      and in_force_from <= started_at and (until is null or started_at < until)
      and (${SERVED} = plain or ${SERVED} like ending)`;

/** The columns of a call's price. */
export const PRICE_COLUMNS = `price.id as price, price.alias as of_alias, in_force_from, until, is_first, is_small, plain, ending,
        prompt_micro, cached_micro, cache_write_micro, completion_micro`;
export const PRICED_CALLS = `calls left join (${PRICES}) as price on price.id = price_id`;
/** Amounts withheld from calls and not posted. */
export const WITHHELD =
  "select call_id, excess_micro from withheld_usage where resolution is distinct from 'POSTED'";

/**
 * A condition on a call with its price and its withheld amount, `excess_micro`. A new price that took effect at once
 * may be missed by calls that ended while it was being written: such a call may have the previous price if it began
 * within ten seconds of the change. An amount that was withheld and not posted is not in the charge. A call with a
 * share of the price costs that share. If a gateway's clock is behind, a call may begin before the first price of its
 * alias, and has that price. The price with the all-zero id is from before there were prices.
 */
export const IS_PRICED_RIGHT = `case
      when ${IS_PLAINLY_RIGHT} then true
      when not ${IS_CHARGED} then charge_micro = 0 and price_id is null and surcharge_micro is null
      when price_id = '00000000-0000-0000-0000-000000000000' then charge_micro = 0
      when price is null then false
      else charge_micro between ${DUE} - ${ROUNDED_TWICE} and ${DUE} and ${mayHavePriceOf('of_alias')} and (in_force_from <= started_at or is_first)
        and (until is null or started_at < until + interval '10 seconds') end`;

export const pricesCheck: AuditCheck = {
  holds: 'every call costs its tokens at the price that was in force when it began',
  faults: `select case
      when ${IS_CHARGED} and price_id is null then format('call %s succeeded with tokens and has no price', id)
      when not ${IS_CHARGED} then format('call %s is not to be charged and costs %s micro-credits', id, charge_micro)
      when price is null then format('call %s has the price %s, which there is not', id, price_id)
      when charge_micro not between ${DUE} - ${ROUNDED_TWICE} and ${DUE} then format('call %s costs %s micro-credits; its tokens cost %s', id, charge_micro, ${DUE})
      else format('call %s has the price %s, which was not in force for it', id, price_id) end
    from (select calls.*, ${PRICE_COLUMNS}, excess_micro
      from ${PRICED_CALLS} left join (${WITHHELD}) as withheld on withheld.call_id = calls.id) as calls
    where not ${IS_PRICED_RIGHT}`,
};

export const payersCheck: AuditCheck = {
  holds: 'every call was paid by its company or by one of its users',
  faults: `select format('call %s of company %s was paid by account %s, which holds credits of company %s', calls.id,
      calls.company_id, account.id, account.company_id)
    from calls join credit_accounts as account on account.id = calls.payer_id
    where account.company_id is distinct from calls.company_id`,
};

const ALL_KEYS = "'00000000-0000-0000-0000-000000000000'::uuid";
const DAY_SUMS =
  'calls, failures, prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, charge_micro, surcharge_micro';
const DAYS_SUMMED = DAY_SUMS.replaceAll(/\w+/g, 'sum($&)::bigint');

export const usageDaysCheck: AuditCheck = {
  holds: 'usage by day is the sum of its calls and of those that were deleted by retention',
  faults: `select format('usage of company %s, key %s, on %s, %s: kept is %s, its calls sum to %s',
      company_id, key_id, day, alias, coalesce(kept.sums::text, 'nothing'), coalesce(counted.sums::text, 'nothing'))
    from (select company_id, key_id, day, alias, row(${DAY_SUMS}) as sums from usage_days) as kept
    full join (
      select company_id, key_id, day, alias, row(${DAYS_SUMMED}) as sums
      from (select company_id, key_id, day, alias, ${DAY_SUMS} from retired_usage
        union all
        select company_id, coalesce(key_id, ${ALL_KEYS}) as key_id, day, alias, count(*) as calls,
          count(*) filter (where outcome = 'FAILED') as failures,
          coalesce(sum(least(prompt_tokens, 1099511627776)) filter (where price_id is not null), 0)::bigint as prompt_tokens,
          coalesce(sum(least(cached_tokens, 1099511627776)) filter (where price_id is not null), 0)::bigint as cached_tokens,
          coalesce(sum(least(coalesce(cache_write_tokens, 0), 1099511627776)) filter (where price_id is not null), 0)::bigint as cache_write_tokens,
          coalesce(sum(least(completion_tokens, 1099511627776)) filter (where price_id is not null), 0)::bigint as completion_tokens,
          sum(charge_micro)::bigint as charge_micro, coalesce(sum(surcharge_micro), 0)::bigint as surcharge_micro
        from (select *, (started_at at time zone 'utc')::date as day from calls) as dated
        where outcome <> 'REFUSED' and alias is not null
        group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))
        having grouping(key_id) = 1 or key_id is not null) as summed
      group by company_id, key_id, day, alias) as counted
      using (company_id, key_id, day, alias)
    where kept.sums is distinct from counted.sums`,
};

export const costDaysCheck: AuditCheck = {
  holds:
    'costs by day are the sums of the calls whose cost is known, and of those that were deleted by retention',
  faults: `select format('costs of company %s on %s, %s, target %s: stored is %s, its calls sum to %s',
      company_id, day, alias, target_id, coalesce(stored.sums::text, 'nothing'), coalesce(counted.sums::text, 'nothing'))
    from (select company_id, day, alias, target_id, row(calls, charge_micro, cost_micro) as sums from cost_days) as stored
    full join (
      select company_id, day, alias, target_id,
        row(sum(calls)::bigint, sum(charge_micro)::bigint, sum(cost_micro)::bigint) as sums
      from (select company_id, day, alias, target_id, calls, charge_micro, cost_micro from retired_costs
        union all
        select company_id, (started_at at time zone 'utc')::date, ${SERVED}, coalesce(target_id, ''), count(*),
          sum(charge_micro), sum(cost_micro)
        from calls where cost_micro is not null and outcome <> 'REFUSED' and alias is not null
        group by 1, 2, 3, 4) as summed
      group by company_id, day, alias, target_id) as counted using (company_id, day, alias, target_id)
    where stored.sums is distinct from counted.sums`,
};

/** The columns of usage by day and by month. */
export const STORED_SUMS = [
  'calls',
  'failures',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'charge_micro',
  'surcharge_micro',
];
const MONTHS_SUMMED = STORED_SUMS.map((column) => `sum(${column}) as ${column}`).join(', ');
const listed = (table: string) => STORED_SUMS.map((column) => `${table}.${column}`).join(', ');

/** Compares the stored months, by key or by name (`kind` and `subject`), with the sums of their days. */
function monthFaults(
  { days, months, done }: { readonly days: string; readonly months: string; readonly done: string },
  names: readonly string[],
  hasTotals: boolean,
): string {
  const own = names.join(', ');
  const groups = ['alias', 'day', ...(hasTotals ? [''] : [])].map(
    (column) => `(${['company_id', own, 'month', column].filter((name) => name !== '').join(', ')})`,
  );
  return `select format('usage of %s in %s, ${names.map((name) => `${name} %s`).join(', ')}, %s does not sum up', company_id, month, ${own},
      case alias when '' then day::text else alias end)
    from (
      select company_id, ${own}, month, case when grouping(alias) = 0 then alias when grouping(day) = 0 then '' else '*' end as alias,
        coalesce(day, month) as day, ${MONTHS_SUMMED}
      from (select *, date_trunc('month', day)::date as month from ${days}) as days
        join (select company_id, month from usage_months_done where ${done}) as done using (company_id, month)
      group by grouping sets (${groups.join(', ')})) as days
    full join (
      select ${months}.* from ${months}
        join (select company_id, month from usage_months_done where ${done}) as done using (company_id, month)) as months
      using (company_id, ${own}, month, alias, day)
    where (${listed('days')}) is distinct from (${listed('months')})`;
}

export const usageMonthsCheck: AuditCheck = {
  holds: 'every month that was added up is the sum of its days, by model and by day',
  faults: `${monthFaults({ days: 'usage_days', months: 'usage_months', done: 'true' }, ['key_id'], false)}
    union all
    ${monthFaults({ days: 'usage_subject_days', months: 'usage_subject_months', done: 'has_subjects' }, ['kind', 'subject'], true)}`,
};

/** Compares days of which no call was deleted. If a day has more names than rows, its names are compared as one. */
export const usageSubjectsCheck: AuditCheck = {
  holds: 'usage by project, end user and tag is the sum of the calls that carry them',
  faults: `select format('usage of company %s by %s on %s, %s, key %s, %s: stored is %s, its calls sum to %s',
      company_id, kind, day, subject, key_id, alias, coalesce(stored.sums::text, 'nothing'),
      coalesce(counted.sums::text, 'nothing'))
    from (select company_id, kind, day, case when is_shared then '(other)' else subject end as subject, key_id, alias,
        row(${DAYS_SUMMED}) as sums
      from (select *, bool_or(subject = '(other)') over (partition by company_id, kind, day) as is_shared
        from usage_subject_days) as days
      where not exists (select 1 from retired_usage where retired_usage.company_id = days.company_id
        and retired_usage.day = days.day)
      group by 1, 2, 3, 4, 5, 6) as stored
    full join (
      select company_id, kind, day, case when is_shared then '(other)' else subject end as subject, key_id, alias,
        row(count(*), count(*) filter (where outcome = 'FAILED'),
          coalesce(sum(least(prompt_tokens, 1099511627776)) filter (where price_id is not null), 0)::bigint,
          coalesce(sum(least(cached_tokens, 1099511627776)) filter (where price_id is not null), 0)::bigint,
          coalesce(sum(least(coalesce(cache_write_tokens, 0), 1099511627776)) filter (where price_id is not null), 0)::bigint,
          coalesce(sum(least(completion_tokens, 1099511627776)) filter (where price_id is not null), 0)::bigint,
          sum(charge_micro)::bigint, coalesce(sum(surcharge_micro), 0)::bigint) as sums
      from (select dated.*, carried.kind, carried.subject, exists (select 1 from usage_subject_days as shared
            where shared.company_id = dated.company_id and shared.kind = carried.kind and shared.day = dated.day
              and shared.subject = '(other)') as is_shared
        from (select *, (started_at at time zone 'utc')::date as day from calls
          where (project is not null or end_user is not null or tags is not null) and outcome <> 'REFUSED'
            and alias is not null and key_id is not null) as dated,
          lateral (select 'PROJECT' as kind, project collate "C" as subject where project is not null
            union all select 'END_USER', end_user collate "C" where end_user is not null
            union all select 'TAG', tag collate "C" from unnest(tags) as tag) as carried
        -- Days whose sums are past their retention have none.
        where exists (select 1 from usage_subject_counts as known where known.company_id = dated.company_id
            and known.kind = carried.kind and known.day = dated.day)
          and not exists (select 1 from retired_usage where retired_usage.company_id = dated.company_id
            and retired_usage.day = dated.day)) as named
      group by 1, 2, 3, 4, 5, 6) as counted using (company_id, kind, day, subject, key_id, alias)
    where stored.sums is distinct from counted.sums`,
};

/** The sums that budgets are compared with, for months of which no call was deleted. */
export const subjectMonthsCheck: AuditCheck = {
  holds: 'what projects and end users have spent in a month is the sum of their calls',
  faults: `select format('%s %s of company %s in %s: stored is %s micro-credits, its calls sum to %s', scope, subject,
      company_id, to_char(month, 'YYYY-MM'), stored.charge_micro, coalesce(spent, 0))
    from subject_months as stored
    left join (select company_id, scope, date_trunc('month', started_at at time zone 'utc')::date as month, subject,
        sum(charge_micro) as spent
      from calls, lateral (select 'PROJECT' as scope, project collate "C" as subject where project is not null
        union all select 'END_USER', end_user collate "C" where end_user is not null) as carried
      where key_id is not null and (project is not null or end_user is not null)
      group by 1, 2, 3, 4) as called using (company_id, scope, month, subject)
    where stored.charge_micro <> coalesce(spent, 0)
      and not exists (select 1 from retired_usage where retired_usage.company_id = stored.company_id
        and retired_usage.day >= stored.month and retired_usage.day < stored.month + interval '1 month')`,
};

export const keyMonthsCheck: AuditCheck = {
  holds: 'what a key has spent in a month is the sum of its calls',
  faults: `select format('key %s in %s: kept is %s micro-credits, its calls sum to %s', key_id, to_char(month, 'YYYY-MM'),
      coalesce(kept.charge_micro, 0), coalesce(spent, 0))
    from key_months as kept
    full join (select key_id, date_trunc('month', day)::date as month, sum(charge_micro) as spent from usage_days
      where key_id <> ${ALL_KEYS} group by 1, 2) as days using (key_id, month)
    where coalesce(kept.charge_micro, 0) <> coalesce(spent, 0)`,
};
