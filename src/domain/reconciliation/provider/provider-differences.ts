/**
 * Compares the provider's objects with ours in both directions, within the database. `$1` is the audit, `$2` and `$3`
 * its range. Each select has kind, subject, expected, found and remedy. An object that changed recently is left to the
 * next audit: its event may not have arrived yet.
 */
const AUDIT = '$1::uuid';
const read = (kind: string) =>
  `(select * from audit_provider_objects where audit_id = ${AUDIT} and kind = '${kind}')`;
const replay = (id: string) => `'turnpike replay-payments --object ' || ${id}`;
const refund = (id: string) => `'refund charge ' || ${id} || ' at the payment provider'`;
const money = (minor: string, currency: string) => `format('%s %s', ${minor}, ${currency})`;
const credits = (micro: string) => `trim_scale((${micro})::numeric / 1000000)`;

const CASH = `select source_kind, source_id, coalesce(sum(amount_minor) filter (where account = 'received'), 0) as received,
    coalesce(sum(amount_minor) filter (where account = 'received' and outside), 0) as outside,
    coalesce(sum(amount_minor) filter (where account = 'refunded'), 0) as refunded,
    coalesce(sum(amount_minor) filter (where account = 'disputed'), 0) as disputed,
    coalesce(sum(amount_minor) filter (where account in ('refunded')), 0)
      - coalesce(sum(amount_minor) filter (where account = 'balance'), 0) as noted,
    bool_or(starts_with(step, 'correction:')) as is_corrected
  from cash_entries group by source_kind, source_id`;

/** Two lookups, each by its own index: a join on either column would compare every charge with every company. */
const companyOf = (
  object: string,
) => `select id from companies where provider_customer_id = ${object}.customer_id
    union all select id from companies where id = ${object}.company_id::uuid limit 1`;

/**
 * Charges with the purchase, invoice or grant that they paid for, matched by the rules for events, and with their
 * company.
 */
const CHARGES = `select charge.*, purchase.id as our_purchase, purchase.status as purchase_status,
    purchase.provider_session_id as session_id, purchase.provider_payment_intent_id as purchase_payment,
    invoice.id as our_invoice, invoice.status as invoice_status, invoice.settled_by_hand_at, invoice.kind as invoice_kind,
    grants.provider_invoice_id as grant_invoice,
    coalesce(purchase.company_id, invoice.company_id, grants.company_id, company.id) as our_company
  from ${read('charge')} as charge
  left join lateral (
    select * from credit_pack_purchases where provider_payment_intent_id = charge.payment_id
    union all select * from credit_pack_purchases where id = charge.purchase_id::uuid limit 1) as purchase on true
  left join invoices as invoice on invoice.provider_invoice_id = charge.invoice_id
  left join lateral (
    select * from plan_grants where provider_invoice_id = charge.invoice_id
    union all select * from plan_grants where provider_charge_id = charge.object_id limit 1) as grants on true
  left join lateral (${companyOf('charge')}) as company on true`;

const isBooked = `coalesce(purchase_status = 'COMPLETED' and (purchase_payment is null or purchase_payment = payment_id)
  or invoice_status = 'PAID' and settled_by_hand_at is null or grant_invoice is not null, false)`;

/** Money that the provider received for us and that paid for nothing here. */
const CHARGE_NOT_BOOKED = `select 'CHARGE_NOT_BOOKED' as kind, 'charge/' || object_id as subject,
    ${money('amount_minor - returned_minor', 'currency')} || ' received' as expected,
    case when our_purchase is not null then format('purchase %s is %s%s', our_purchase, purchase_status,
        case when purchase_payment <> payment_id then ' and paid by ' || purchase_payment else '' end)
      when our_invoice is not null then format('invoice %s is %s%s', our_invoice, invoice_status,
        case when settled_by_hand_at is not null then ', settled by hand' else '' end)
      else format('nothing of company %s', our_company) end as found,
    case when purchase_status <> 'COMPLETED' and session_id is not null then ${replay('session_id')}
      when our_purchase is null and invoice_id is not null and coalesce(invoice_status, 'OPEN') not in ('PAID', 'VOID')
        then ${replay('invoice_id')}
      else ${refund('object_id')} end as remedy
  from charges as charge
  where our_company is not null and not ${isBooked} and amount_minor > returned_minor and not is_recent
    and coalesce(invoice_kind, '') <> 'PACK'
    -- Its invoice says the same.
    and not (our_purchase is null and invoice_status is distinct from 'VOID' and settled_by_hand_at is null
      and exists (select 1 from ${read('invoice')} as paid where paid.object_id = charge.invoice_id and paid.status = 'paid'))`;

const CHARGE_AMOUNT = `select 'CHARGE_AMOUNT' as kind, 'credit-pack-purchase/' || our_purchase as subject,
    ${money('amount_minor', 'currency')} || ' received by charge ' || object_id as expected,
    ${money('coalesce(cash.received, 0)', 'currency')} as found,
    format('turnpike correct credit-pack-purchase/%s --cash-minor=%s', our_purchase, amount_minor - coalesce(cash.received, 0))
      as remedy
  from charges as charge
  left join cash on cash.source_kind = 'credit-pack-purchase' and cash.source_id = our_purchase::text
  where our_purchase is not null and ${isBooked} and coalesce(cash.received, 0) <> amount_minor`;

/** Refunds of a charge that differ from what was booked for them here. */
const REFUNDS = `select case when returned_minor > coalesce(cash.refunded, 0) then 'REFUND_NOT_BOOKED' else 'REFUND_UNKNOWN' end as kind,
    'charge-refund/' || object_id as subject, ${money('returned_minor', 'charge.currency')} || ' refunded' as expected,
    ${money('coalesce(cash.refunded, 0)', 'charge.currency')} as found,
    case when returned_minor > coalesce(cash.refunded, 0) or exists (select 1 from ${read('refund')} as failed
        where failed.charge_id = charge.object_id and failed.status in ('failed', 'canceled')) then ${replay('object_id')}
      else format('turnpike correct charge-refund/%s --credits=%s --cash-minor=%s', object_id,
        ${credits('coalesce(booked.taken_micro, booked.refunded_micro, 0)')}, returned_minor - cash.refunded) end as remedy
  from charges as charge
  left join cash on cash.source_kind = 'charge-refund' and cash.source_id = object_id
  left join charge_refunds as booked on booked.charge_id = object_id
  where ${isBooked} and not is_recent and returned_minor <> coalesce(cash.refunded, 0)`;

/** Refunds, credit notes and disputes that are booked here and that the provider does not have. */
const UNKNOWN_RETURNS = `select case when dispute_id is not null then 'DISPUTE_UNKNOWN'
      when starts_with(booked.charge_id, 'cn_') then 'CREDIT_NOTE_UNKNOWN' else 'REFUND_UNKNOWN' end as kind,
    'charge-refund/' || booked.charge_id as subject, 'nothing returned' as expected,
    ${money('booked.refunded_minor', 'booked.currency')} as found,
    format('turnpike correct charge-refund/%s --credits=%s --cash-minor=%s', booked.charge_id,
      ${credits('coalesce(booked.taken_micro, booked.refunded_micro)')},
      case when starts_with(booked.charge_id, 'cn_') then coalesce(cash.noted, 0)
        else -coalesce(cash.refunded + cash.disputed, 0) end) as remedy
  from charge_refunds as booked
  left join payment_disputes as dispute on dispute.dispute_id = booked.charge_id
  left join cash on cash.source_id = booked.charge_id
    and cash.source_kind in ('charge-refund', 'credit-note', 'dispute')
  where booked.updated_at between $2 and $3 and booked.refunded_minor > 0 and not coalesce(cash.is_corrected, false)
    and not exists (select 1 from audit_provider_objects as read where audit_id = ${AUDIT} and read.object_id = booked.charge_id
      and case read.kind when 'charge' then true when 'credit_note' then status = 'issued' else status = 'lost' end)`;

const DISPUTES = `select 'DISPUTE_NOT_BOOKED' as kind, 'dispute/' || dispute.object_id as subject,
    format('%s: %s', dispute.status, ${money('dispute.amount_minor', 'dispute.currency')}) as expected,
    case when ours.dispute_id is null then 'nothing'
      else format('%s: %s', ours.status, ${money('ours.amount_minor', 'ours.currency')}) end as found,
    ${replay('dispute.object_id')} as remedy
  from ${read('dispute')} as dispute
  join charges as charge on charge.object_id = dispute.charge_id
  left join payment_disputes as ours on ours.dispute_id = dispute.object_id
  where ${isBooked.replaceAll(/\b(purchase_status|purchase_payment|payment_id|invoice_status|settled_by_hand_at|grant_invoice)\b/g, 'charge.$1')}
    and (ours.dispute_id is null or (dispute.status in ('won', 'lost') and dispute.status <> ours.status))`;

/** A credit note counts up to the amount paid for its invoice. Its refunded part is counted with the refund. */
const CREDIT_NOTES = `select 'CREDIT_NOTE_NOT_BOOKED' as kind, 'credit-note/' || object_id as subject,
    ${money('due', 'note.currency')} || ' credited' as expected, ${money('coalesce(cash.noted, 0)', 'note.currency')} as found,
    ${replay('object_id')} as remedy
  from (select note.*, least(note.amount_minor - note.returned_minor, coalesce(grants.amount_minor, invoice.amount_minor)) as due
    from ${read('credit_note')} as note
    join invoices as invoice on invoice.provider_invoice_id = note.invoice_id and invoice.status = 'PAID' and invoice.kind <> 'PACK'
    left join plan_grants as grants on grants.provider_invoice_id = note.invoice_id
    where note.status = 'issued') as note
  left join cash on cash.source_kind = 'credit-note' and cash.source_id = object_id
  where due > 0 and coalesce(cash.noted, 0) <> due and not coalesce(cash.is_corrected, false)`;

/** The provider's invoices with ours. Those of customers that are not companies of ours are omitted. */
const INVOICES = `select theirs.*, ours.id as our_id, ours.kind as our_kind, ours.status as our_status, ours.settled_by_hand_at,
    grants.moved_micro as our_moved, grants.kind as grant_kind, coalesce(cash.received, 0) as our_received,
    coalesce(cash.is_corrected, false) as is_corrected
  from ${read('invoice')} as theirs
  left join invoices as ours on ours.provider_invoice_id = theirs.object_id
  left join lateral (${companyOf('theirs')}) as company on true
  left join plan_grants as grants on grants.provider_invoice_id = theirs.object_id
  left join cash on cash.source_kind = 'invoice' and cash.source_id = ours.id::text
  where not is_recent and (ours.id is not null or company.id is not null)`;

const INVOICE_STATUS = `select case when status = 'paid' then 'INVOICE_NOT_BOOKED' when our_status = 'PAID' then 'PAID_WITHOUT_PAYMENT'
      else 'INVOICE_STATUS' end as kind,
    'invoice/' || object_id as subject, status as expected, coalesce(our_status, 'nothing') as found,
    case when status = 'paid' and our_status = 'VOID' then format('refund invoice %s at the payment provider', object_id)
      when our_status = 'PAID' and settled_by_hand_at is not null then 'turnpike mark-invoice-paid ' || our_id
      when our_status = 'PAID' then format('turnpike correct plan-invoice/%s --credits=%s --cash-minor=%s', object_id,
        ${credits("-coalesce((select sum(amount_micro) from credit_transactions where source_kind = 'plan-invoice' and source_id = object_id), 0)")},
        -our_received)
      when our_status = 'VOID' then 'turnpike void-invoice ' || our_id || ' "Void here"'
      else ${replay('object_id')} end as remedy
  from invoices_there as invoice
  where case when status = 'paid' then our_status is distinct from 'PAID'
    when our_status = 'PAID' then not (is_corrected and our_received = 0)
    when status = 'void' then our_status is distinct from 'VOID'
    else our_status is null or our_status = 'VOID' end`;

const INVOICE_AMOUNT = `select 'INVOICE_AMOUNT' as kind, 'invoice/' || object_id as subject,
    ${money('amount_minor', 'currency')} || ' received' as expected, ${money('our_received', 'currency')} as found,
    format('turnpike correct invoice/%s --cash-minor=%s', our_id, amount_minor - our_received) as remedy
  from invoices_there as invoice
  where status = 'paid' and our_status = 'PAID' and our_kind <> 'PACK' and amount_minor <> our_received
    and settled_by_hand_at is null`;

const INVOICE_LINES = `select 'INVOICE_LINES' as kind, 'plan-invoice/' || object_id as subject,
    format('lines that move %s credits at our rates', ${credits('moved_micro')}) as expected,
    coalesce(format('%s credits', ${credits('our_moved')}), 'nothing granted') as found,
    ${replay('object_id')} as remedy
  from invoices_there as invoice
  where status = 'paid' and our_status = 'PAID' and moved_micro is not null and settled_by_hand_at is null
    and (our_moved is distinct from moved_micro) and not (our_moved is null and (grant_kind is not null or moved_micro = 0))`;

/** Completed purchases without a payment at the provider, and invoices that the provider does not have. */
const UNPAID = `select 'PURCHASE_WITHOUT_PAYMENT' as kind, 'credit-pack-purchase/' || purchase.id as subject,
    ${money('amount_minor + tax_minor', 'currency')} || ' paid at the provider' as expected,
    format('no payment %s there', coalesce(provider_payment_intent_id, '')) as found,
    format('turnpike correct credit-pack-purchase/%s --credits=%s --cash-minor=%s', purchase.id,
      ${credits('-credits_micro')}, -coalesce(cash.received, 0)) as remedy
  from credit_pack_purchases as purchase
  left join cash on cash.source_kind = 'credit-pack-purchase' and cash.source_id = purchase.id::text
  where status = 'COMPLETED' and completed_at between $2 and $3 and not (coalesce(is_corrected, false) and cash.received = 0)
    and not exists (select 1 from audit_provider_objects as read where audit_id = ${AUDIT} and kind = 'charge'
      and (read.payment_id = provider_payment_intent_id or read.purchase_id = purchase.id::text))
  union all
  select 'INVOICE_UNKNOWN', 'invoice/' || provider_invoice_id, 'an invoice at the provider', status || ' here, unknown there',
    case when status = 'PAID' then format('turnpike correct plan-invoice/%s --credits=%s --cash-minor=%s', provider_invoice_id,
        ${credits("-coalesce((select sum(amount_micro) from credit_transactions where source_kind = 'plan-invoice' and source_id = provider_invoice_id), 0)")},
        -coalesce(cash.received, 0))
      else format('turnpike void-invoice %s "Unknown to the payment provider"', id) end
  from invoices left join cash on cash.source_kind = 'invoice' and cash.source_id = invoices.id::text
  where provider_invoice_id is not null and status not in ('DRAFT', 'VOID') and coalesce(paid_at, created_at) between $2 and $3
    and not (coalesce(is_corrected, false) and cash.received = 0) and not exists (select 1 from audit_provider_objects as read
      where audit_id = ${AUDIT} and kind = 'invoice' and read.object_id = provider_invoice_id)`;

/** All selects in one statement, so that they see one snapshot. */
export const PROVIDER_DIFFERENCES = `with cash as materialized (${CASH}), charges as materialized (${CHARGES}),
  invoices_there as materialized (${INVOICES})
  ${[
    ...[CHARGE_NOT_BOOKED, CHARGE_AMOUNT, REFUNDS, UNKNOWN_RETURNS, DISPUTES, CREDIT_NOTES],
    ...[INVOICE_STATUS, INVOICE_AMOUNT, INVOICE_LINES, UNPAID],
  ]
    .map((select) => `select kind, subject, expected, found, remedy from (${select}) as one`)
    .join(' union all ')}`;

/** Charges of customers that are not companies of ours are counted, but not compared. */
export const FOREIGN_CHARGES = `select count(*) as count from (${CHARGES}) as charge where our_company is null`;
