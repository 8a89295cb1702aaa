import type { AuditCheck } from './audit-check.ts';

/** Paid or written off, an invoice for usage gives that usage back: once, and as what it was. */
export const invoicesCheck: AuditCheck = {
  holds: 'every settled invoice for usage has given it back, and no other has',
  faults: `select case
      when due.id is null then format('transaction %s of account %s is for the %s %s, which is not settled so',
        posted.version, posted.account_id, posted.source_kind, posted.source_id)
      when posted.source_id is null then format('invoice %s of company %s is %s, its %s micro-credits are not given back',
        due.id, due.company_id, due.status, due.usage_micro)
      else format('invoice %s of company %s is for %s micro-credits; transaction %s of account %s has the amount %s',
        due.id, due.company_id, due.usage_micro, posted.version, posted.account_id, posted.amount_micro) end
    from (select id::text, company_id, status, usage_micro,
        case status when 'PAID' then 'invoice' else 'invoice-void' end as kind
      from invoices where status in ('PAID', 'VOID') and usage_micro is not null) as due
    full join (select * from credit_transactions where source_kind in ('invoice', 'invoice-void')) as posted
      on posted.source_kind = due.kind and posted.source_id = due.id
    where due.id is null or posted.source_id is null or posted.amount_micro <> due.usage_micro
      or posted.account_id <> due.company_id`,
};
