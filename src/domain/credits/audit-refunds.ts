import type { AuditCheck } from './audit-check.ts';

/** A charge may be given back in parts: each is a transaction, whose source is the charge and the sum so far. */
export const refundsCheck: AuditCheck = {
  holds: 'what was given back of every charge has been taken from its account, once',
  faults: `select case
      when due.charge_id is null then format('account %s was taken %s micro-credits for the charge %s, of which nothing was given back',
        taken.account_id, taken.amount, taken.charge_id)
      else format('of the charge %s of company %s, %s micro-credits are to be taken; taken are %s',
        due.charge_id, due.company_id, due.refunded_micro, coalesce(taken.amount, 0)) end
    from (select charge_id, company_id, refunded_micro from charge_refunds) as due
    full join (select account_id, regexp_replace(source_id, ':[0-9]+$', '') as charge_id, -sum(amount_micro) as amount
      from credit_transactions where source_kind = 'charge-refund' group by 1, 2) as taken
      on taken.charge_id = due.charge_id and taken.account_id = due.company_id
    where coalesce(due.refunded_micro, 0) <> coalesce(taken.amount, 0)`,
};
