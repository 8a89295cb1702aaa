import type { AuditCheck } from './audit-check.ts';

/** Both sides of every transfer cancel out; so do what all accounts hold and what the contra accounts gave. */
export const ledgerTotalCheck: AuditCheck = {
  holds: 'everything sums to zero',
  faults: `select format('both sides of all transactions sum to %s micro-credits, not to 0', total)
    from (select coalesce(sum(amount_micro), 0) as total from credit_entries) as entries where total <> 0
    union all
    select format('all accounts hold %s micro-credits, the contra accounts gave %s', held, given)
    from (select coalesce(sum(balance_micro), 0) as held from credit_accounts) as accounts,
      (select coalesce(-sum(amount_micro), 0) as given from credit_entries
        where account in ('sales', 'usage', 'grants', 'receivables', 'adjustments', 'expired')) as contra
    where held <> given`,
};
