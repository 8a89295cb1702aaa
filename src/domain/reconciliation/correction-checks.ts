import type { AuditCheck } from './audit-check.ts';

export const correctionsCheck: AuditCheck = {
  holds: 'what was given back of every call is on the account that paid for it, and is no more than it cost',
  faults: `select case
      when correction.id is null then format('transaction %s of account %s gives back credits of the call %s without a correction',
        posted.version, posted.account_id, posted.source_id)
      when posted.source_id is null then format('%s micro-credits of call %s are to be given back to account %s and were not',
        credits_micro, call_id, correction.account_id)
      else format('%s micro-credits of call %s are to be given back to account %s; transaction %s of account %s has the amount %s',
        credits_micro, call_id, correction.account_id, posted.version, posted.account_id, posted.amount_micro) end
    from charge_corrections as correction
    full join (select * from credit_transactions where source_kind = 'charge-correction') as posted
      on posted.source_id = call_id || '/' || id
    where correction.id is null or posted.source_id is null or posted.amount_micro <> credits_micro
      or posted.account_id <> correction.account_id
    union all
    select format('call %s of company %s cost %s micro-credits, and %s were given back', calls.id, calls.company_id, charge_micro, given)
    from (select call_id, sum(credits_micro) as given from charge_corrections group by call_id) as correction
    join calls on calls.id = call_id where given > charge_micro`,
};

export const returnedUsageCheck: AuditCheck = {
  holds: 'limits and budgets have back what was given back of the calls of their month',
  faults: `select format('company %s: %s micro-credits were given back in the month of their calls, usage by day says %s', company_id,
      coalesce(given, 0), coalesce(returned, 0))
    from (select company_id, sum(credits_micro) as given from charge_corrections where is_running_month group by company_id) as correction
    full join (select company_id, sum(returned_micro) as returned from usage_days where returned_micro <> 0 group by company_id) as days
      using (company_id)
    where coalesce(given, 0) <> coalesce(returned, 0)
    union all
    select format('key %s in %s: %s of %s micro-credits were given back', key_id, to_char(month, 'YYYY-MM'), returned_micro, charge_micro)
    from key_months where returned_micro not between 0 and charge_micro
    union all
    select format('%s %s of company %s in %s: %s of %s micro-credits were given back', scope, subject, company_id,
      to_char(month, 'YYYY-MM'), returned_micro, charge_micro)
    from subject_months where returned_micro not between 0 and charge_micro`,
};

export const creditedInvoicesCheck: AuditCheck = {
  holds:
    'what was credited of every invoice is the sum of its corrections, and every correction of invoiced usage is counted once',
  faults: `select format('invoice %s of company %s has %s micro-credits for %s minor units credited; its corrections sum to %s for %s',
      invoices.id, company_id, credited_micro, credited_minor, coalesce(micro, 0), coalesce(minor, 0))
    from invoices left join (select invoice_id, sum(credits_micro) as micro, sum(amount_minor) as minor
      from invoice_credits where amount_minor is not null group by invoice_id) as credit on invoice_id = invoices.id
    where credited_micro <> coalesce(micro, 0) or credited_minor <> coalesce(minor, 0)`,
};
