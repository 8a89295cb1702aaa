import type { AuditCheck } from './audit-check.ts';

export const balanceCheck: AuditCheck = {
  holds: 'the balance of every account is the sum of its transactions',
  faults: `select case
      when account.id is null then format('account %s has %s transactions and no row of its own', posted.id, postings)
      when balance_micro <> coalesce(posted.sum, 0) then format('account %s holds %s micro-credits, but its transactions sum to %s',
        account.id, balance_micro, coalesce(posted.sum, 0))
      else format('account %s is at version %s, behind its transaction %s', account.id, account.version, posted.version) end
    from credit_accounts as account
    full join (select account_id as id, sum(amount_micro) as sum, max(version) as version, count(*) as postings
      from credit_transactions group by account_id) as posted on posted.id = account.id
    where account.id is null or balance_micro <> coalesce(posted.sum, 0) or account.version < posted.version`,
};
