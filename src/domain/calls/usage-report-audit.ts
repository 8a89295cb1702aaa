import type { AuditCheck } from '../credits/audit-check.ts';

const SUMS = ['calls', 'failures', 'prompt_tokens', 'cached_tokens', 'completion_tokens', 'charge_micro'];
const SUMMED = SUMS.map((column) => `sum(${column}) as ${column}`).join(', ');
const listed = (table: string) => SUMS.map((column) => `${table}.${column}`).join(', ');

export const usageMonthsCheck: AuditCheck = {
  holds: 'every month that was added up is the sum of its days, by model and by day',
  faults: `select format('usage of %s in %s, key %s, %s does not sum up', company_id, month, key_id,
      case alias when '' then day::text else alias end)
    from (
      select days.company_id, days.key_id, done.month, coalesce(alias, '') as alias, coalesce(day, done.month) as day,
        ${SUMMED}
      from usage_months_done as done join usage_days as days on days.company_id = done.company_id
        and days.day >= done.month and days.day < done.month + interval '1 month'
      group by grouping sets ((days.company_id, days.key_id, done.month, alias),
        (days.company_id, days.key_id, done.month, day))) as days
    full join (
      select usage_months.* from usage_months join usage_months_done using (company_id, month)) as months
      using (company_id, key_id, month, alias, day)
    where (${listed('days')}) is distinct from (${listed('months')})`,
};
