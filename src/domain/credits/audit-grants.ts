import type { AuditCheck } from './audit-check.ts';

/**
 * What was sold and granted, each beside its transaction: by the kind of source under which it is posted, which is
 * written here a second time on purpose.
 */
export const grantsCheck: AuditCheck = {
  holds: 'every completed purchase and plan grant has its one transaction, and there is no other',
  faults: `with due as (
      select 'credit-pack-purchase' as kind, id::text, company_id, credits_micro as amount from credit_pack_purchases
      where status = 'COMPLETED'
      union all
      select 'plan-invoice', provider_invoice_id, company_id, credits_micro from plan_grants)
    select case
      when due.id is null then format('transaction %s of account %s is for the %s %s, which is not there or not complete',
        posted.version, posted.account_id, posted.source_kind, posted.source_id)
      when posted.source_id is null then format('the %s %s of company %s is complete, its %s micro-credits are not posted',
        due.kind, due.id, due.company_id, due.amount)
      else format('the %s %s of company %s is for %s micro-credits; transaction %s of account %s has the amount %s',
        due.kind, due.id, due.company_id, due.amount, posted.version, posted.account_id, posted.amount_micro) end
    from due
    full join (select * from credit_transactions where source_kind in ('credit-pack-purchase', 'plan-invoice')) as posted
      on posted.source_kind = due.kind and posted.source_id = due.id
    where due.id is null or posted.source_id is null or posted.amount_micro <> due.amount
      or posted.account_id <> due.company_id`,
};
