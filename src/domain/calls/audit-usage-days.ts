import type { AuditCheck } from '../credits/audit-check.ts';

const ALL_KEYS = "'00000000-0000-0000-0000-000000000000'::uuid";
const SUMS = 'calls, failures, prompt_tokens, cached_tokens, completion_tokens, charge_micro';
const SUMMED = SUMS.replaceAll(/\w+/g, 'sum($&)::bigint');

export const usageDaysCheck: AuditCheck = {
  holds: 'usage by day is the sum of its calls and of those that were let go of',
  faults: `select format('usage of company %s, key %s, on %s, %s: kept is %s, its calls sum to %s',
      company_id, key_id, day, alias, coalesce(kept.sums::text, 'nothing'), coalesce(counted.sums::text, 'nothing'))
    from (select company_id, key_id, day, alias, row(${SUMS}) as sums from usage_days) as kept
    full join (
      select company_id, key_id, day, alias, row(${SUMMED}) as sums
      from (select company_id, key_id, day, alias, ${SUMS} from retired_usage
        union all
        select company_id, coalesce(key_id, ${ALL_KEYS}) as key_id, day, alias, count(*) as calls,
          count(*) filter (where outcome = 'FAILED') as failures,
          coalesce(sum(prompt_tokens) filter (where price_id is not null), 0)::bigint as prompt_tokens,
          coalesce(sum(cached_tokens) filter (where price_id is not null), 0)::bigint as cached_tokens,
          coalesce(sum(completion_tokens) filter (where price_id is not null), 0)::bigint as completion_tokens,
          sum(charge_micro)::bigint as charge_micro
        from (select *, (started_at at time zone 'utc')::date as day from calls) as dated
        where outcome <> 'REFUSED' and alias is not null
        group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))
        having grouping(key_id) = 1 or key_id is not null) as summed
      group by company_id, key_id, day, alias) as counted
      using (company_id, key_id, day, alias)
    where kept.sums is distinct from counted.sums`,
};
