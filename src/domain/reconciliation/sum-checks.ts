import type { AuditCheck } from './audit-check.ts';
import { RETIRED_BEFORE } from './usage-checks.ts';

/** Resolved usage is deleted with its call. What is open is compared with the price of its call. */
export const postedUsageCheck: AuditCheck = {
  holds: 'withheld usage that was posted has its one transaction, and no other has one',
  faults: `select format('withheld usage of call %s is %s micro-credits of account %s that were posted; transaction %s of account %s has the amount %s',
      coalesce(withheld.id, posted.source_id), coalesce(excess_micro, 0), coalesce(payer::text, 'none'),
      coalesce(posted.version::text, 'none'), coalesce(posted.account_id::text, 'none'), coalesce(posted.amount_micro, 0))
    from (select call_id::text as id, excess_micro, coalesce(payer_id, company_id) as payer from withheld_usage
      where resolution = 'POSTED') as withheld
    full join (select * from credit_transactions where source_kind = 'withheld-usage') as posted on posted.source_id = withheld.id
    where (withheld.id is null and posted.source_id >= ${RETIRED_BEFORE}) or posted.source_id is null
      or posted.amount_micro <> -excess_micro or posted.account_id <> payer`,
};

/**
 * Also for months of which calls were deleted. The days of a name may be in `(other)`, so a month with such rows may have more
 * than its days.
 */
export const subjectDaysCheck: AuditCheck = {
  holds: 'what projects and end users have spent in a month is the sum of their days',
  faults: `select format('%s %s of company %s in %s: stored is %s micro-credits, its days sum to %s', scope, subject, company_id,
      to_char(month, 'YYYY-MM'), coalesce(stored.charge_micro, 0), spent)
    from (select company_id, kind as scope, date_trunc('month', day)::date as month, subject, sum(charge_micro) as spent,
        bool_or(subject = '(other)') over (partition by company_id, kind, date_trunc('month', day)::date) as is_shared
      from usage_subject_days where kind in ('PROJECT', 'END_USER') group by 1, 2, 3, 4) as days
    left join subject_months as stored using (company_id, scope, month, subject)
    where subject <> '(other)' and (coalesce(stored.charge_micro, 0) < spent
      or not is_shared and coalesce(stored.charge_micro, 0) <> spent)`,
};

const COSTS = 'row(sum(calls)::bigint, sum(charge_micro)::bigint, sum(cost_micro)::bigint) as sums';

export const costSumsCheck: AuditCheck = {
  holds: 'costs of all companies by day, and of a company by month, are the sums of its days',
  faults: `select format('costs of all companies on %s, model %s, target %s: stored is %s, the days of companies sum to %s', day, alias,
      target_id, coalesce(stored.sums::text, 'nothing'), coalesce(counted.sums::text, 'nothing'))
    from (select day, alias, target_id, row(calls, charge_micro, cost_micro) as sums
      from platform_days where day in (select day from platform_days_done)) as stored
    full join (
      select day, alias collate "C" as alias, target_id collate "C" as target_id, ${COSTS} from cost_days
      where day in (select day from platform_days_done) group by 1, 2, 3
      union all
      select day, '', '', row(sum(calls - failures)::bigint, sum(charge_micro)::bigint, 0::bigint) from usage_days
      where key_id = '00000000-0000-0000-0000-000000000000' and day in (select day from platform_days_done)
      group by 1) as counted using (day, alias, target_id)
    where stored.sums is distinct from counted.sums
    union all
    select format('costs of company %s in %s: stored is %s, its days sum to %s', company_id, to_char(month, 'YYYY-MM'),
      coalesce(stored.sums::text, 'nothing'), coalesce(counted.sums::text, 'nothing'))
    from (select company_id, month, row(calls, charge_micro, cost_micro) as sums
      from company_cost_months where month in (select month from company_cost_months_done)) as stored
    full join (
      select company_id, date_trunc('month', day)::date as month, ${COSTS} from cost_days
      where date_trunc('month', day)::date in (select month from company_cost_months_done) group by 1, 2) as counted
      using (company_id, month)
    where stored.sums is distinct from counted.sums`,
};
