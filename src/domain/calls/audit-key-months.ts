import type { AuditCheck } from '../credits/audit-check.ts';

export const keyMonthsCheck: AuditCheck = {
  holds: 'what a key has spent in a month is the sum of its calls',
  faults: `select format('key %s in %s: kept is %s micro-credits, its calls sum to %s', key_id, to_char(month, 'YYYY-MM'),
      kept.charge_micro, coalesce(spent, 0))
    from key_months as kept
    left join (select key_id, date_trunc('month', day)::date as month, sum(charge_micro) as spent from usage_days
      group by 1, 2) as days using (key_id, month)
    where kept.charge_micro <> coalesce(spent, 0)`,
};
