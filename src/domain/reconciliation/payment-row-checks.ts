import type { AuditCheck } from './audit-check.ts';

/** Invoices whose payment brought credits: its refunds take them back. */
const BROUGHT_CREDITS = `exists (select 1 from credit_pack_purchases as bought where bought.invoice_id = invoice.id and bought.status = 'COMPLETED')
  or exists (select 1 from plan_grants as bought where bought.provider_invoice_id = invoice.provider_invoice_id and moved_micro > 0)`;

/** What returned money and cash name as their source. */
const SOURCES = `select 'credit-pack-purchase' as kind, id::text as id, company_id from credit_pack_purchases
  union all select 'plan-invoice', provider_invoice_id, company_id from plan_grants
  union all select 'invoice', id::text, company_id from invoices
  union all select case when starts_with(charge_id, 'cn_') then 'credit-note' else 'charge-refund' end, charge_id, company_id
    from charge_refunds
  union all select 'dispute', dispute_id, company_id from payment_disputes`;

const SOURCE_OF_REFUND = `case refund.source_kind when 'PURCHASE' then 'credit-pack-purchase' when 'PLAN_GRANT' then 'plan-invoice'
  else 'invoice' end`;

/** The checks of money compare amounts with postings and cash; this one compares the rows with those that they name. */
export const paymentRowsCheck: AuditCheck = {
  holds: 'purchases, grants, refunds and cash agree with the invoices, lines and payments that they name',
  faults: `select format('credit-pack-purchase/%s of company %s: its invoice %s %s', purchase.id, purchase.company_id, purchase.invoice_id,
      coalesce(format('is a %s one of company %s, %s, for %s %s', invoice.kind, invoice.company_id, invoice.status,
        invoice.amount_minor, invoice.currency), 'is not there'))
    from credit_pack_purchases as purchase left join invoices as invoice on invoice.id = purchase.invoice_id
    where purchase.status = 'COMPLETED'
      and (invoice.kind, invoice.status, invoice.company_id, invoice.amount_minor, invoice.currency)
        is distinct from ('PACK', 'PAID', purchase.company_id, purchase.amount_minor + tax_minor, purchase.currency)
    union all
    select format('plan-invoice/%s of company %s moved %s micro-credits and has no lines. To mend it: turnpike replay-payments --object %s',
      provider_invoice_id, company_id, moved_micro, provider_invoice_id)
    from plan_grants as granted
    where kind = 'LINES' and not exists (select 1 from plan_grant_lines as line
      where line.provider_invoice_id = granted.provider_invoice_id)
    union all
    select case when source.id is null or source.company_id <> refund.company_id
        then format('charge-refund/%s of company %s is for the %s %s, which is not one of this company', charge_id, refund.company_id,
          ${SOURCE_OF_REFUND}, source_id)
      else format('charge-refund/%s: %s %s were given back of invoice %s, which brought credits, and none are to be taken. To mend it: delete its row of charge_refunds, then turnpike replay-payments --object %s',
        charge_id, refunded_minor, refund.currency, source_id, charge_id) end
    from charge_refunds as refund
    left join (${SOURCES}) as source on source.kind = ${SOURCE_OF_REFUND} and source.id = source_id
    left join invoices as invoice on refund.source_kind = 'INVOICE' and invoice.id::text = source_id
    where source.id is null or source.company_id <> refund.company_id
      or (invoice.id is not null and refunded_minor > 0 and (${BROUGHT_CREDITS}))
    union all
    select format('the failed refund %s of charge %s returned %s micro-credits, and %s were posted', refund_id, charge_id, returned_micro,
      coalesce(posted.amount_micro, 0))
    from failed_refunds left join credit_transactions as posted on posted.source_kind = 'failed-refund' and posted.source_id = refund_id
    where returned_micro <> coalesce(posted.amount_micro, 0)
    union all
    select format('%s/%s of company %s has cash of company %s', cash.source_kind, cash.source_id, source.company_id, cash.company_id)
    from cash_entries as cash join (${SOURCES}) as source on source.kind = cash.source_kind and source.id = cash.source_id
    where cash.company_id <> source.company_id
    union all
    select format('plan-invoice/%s of company %s: %s %s of the customer''s balance paid for it, and the cash of invoice %s says %s',
      spent.provider_invoice_id, spent.company_id, spent.amount_minor, spent.currency, invoice.id, coalesce(cash.minor, 0))
    from balance_uses as spent left join invoices as invoice using (provider_invoice_id)
    left join (select source_id, sum(amount_minor) filter (where account = 'balance') as minor,
        bool_or(starts_with(step, 'correction:')) as is_corrected
      from cash_entries where source_kind = 'invoice' group by source_id) as cash on cash.source_id = invoice.id::text
    where spent.amount_minor <> coalesce(cash.minor, 0) and not coalesce(is_corrected, false)`,
};
