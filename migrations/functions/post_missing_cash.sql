-- revision: 4
-- Owner: src/domain/payments
--
-- Posts the cash of every purchase, paid invoice, refund, credit note and lost dispute that has none: history from before the
-- cash accounts, and what processes of the version before wrote since. What is posted is left as it is. Returns how many
-- entries were added. An event that was not applied, as because of an amount that cannot be read, says nothing about it; an
-- invoice whose event waits is left to that event.
create or replace function post_missing_cash() returns bigint language plpgsql as $$
declare
  posted bigint := 0;
  more bigint;
begin
  insert into cash_entries (company_id, account, currency, amount_minor, source_kind, source_id, happened_at)
  select company_id, 'received', currency, amount_minor + tax_minor, 'credit-pack-purchase', id::text, completed_at
  from credit_pack_purchases as purchase
  where status = 'COMPLETED' and not exists (select 1 from cash_entries
    where source_kind = 'credit-pack-purchase' and source_id = purchase.id::text);
  get diagnostics posted = row_count;

  -- What an invoice was paid with is in its event; where that is gone, it is what was counted or asked for.
  with paid as (
    select invoice.id, invoice.company_id, invoice.currency, coalesce(invoice.paid_at, invoice.updated_at) as paid_at,
      invoice.settled_by_hand_at is not null or coalesce(told ->> 'paid_out_of_band' = 'true', false) as outside,
      case
        when told is null then coalesce(grants.amount_minor, invoice.amount_minor)
        when told ->> 'paid_out_of_band' = 'true' then coalesce((told ->> 'total')::bigint, invoice.amount_minor)
          - coalesce((told ->> 'pre_payment_credit_notes_amount')::bigint, 0) - balance
        else coalesce((told ->> 'amount_paid')::bigint, 0) end as received,
      balance
    from invoices as invoice
    left join plan_grants as grants on grants.provider_invoice_id = invoice.provider_invoice_id
    left join lateral (
      select payload -> 'data' -> 'object' as told from provider_events
      where object_id = invoice.provider_invoice_id and type = 'invoice.paid' and status = 'PROCESSED'
      order by happened_at desc limit 1) as event on true
    cross join lateral (
      select coalesce((told ->> 'ending_balance')::bigint - coalesce((told ->> 'starting_balance')::bigint, 0), 0) as balance)
      as applied
    where invoice.status = 'PAID' and invoice.kind <> 'PACK' and not exists (select 1 from cash_entries
        where source_kind = 'invoice' and source_id = invoice.id::text)
      and not exists (select 1 from provider_events where object_id = invoice.provider_invoice_id and type = 'invoice.paid'
        and status in ('RECEIVED', 'DEFERRED')))
  insert into cash_entries (company_id, account, currency, amount_minor, outside, source_kind, source_id, happened_at)
  select company_id, 'received', currency, received, outside, 'invoice', id::text, paid_at from paid where received > 0
  union all
  select company_id, 'balance', currency, balance, false, 'invoice', id::text, paid_at from paid where balance <> 0;
  get diagnostics more = row_count;
  posted := posted + more;

  insert into cash_entries (company_id, account, currency, amount_minor, source_kind, source_id, step, happened_at)
  select company_id, 'refunded', currency, refunded_minor, 'charge-refund', charge_id, 'history', updated_at
  from charge_refunds as refund
  where refunded_minor > 0 and not starts_with(charge_id, 'cn_')
    and not exists (select 1 from payment_disputes where dispute_id = refund.charge_id)
    and not exists (select 1 from cash_entries where source_kind = 'charge-refund' and source_id = refund.charge_id);
  get diagnostics more = row_count;
  posted := posted + more;

  -- The part of a credit note that was returned outside of the provider left; the rest is on the customer's balance.
  with noted as (
    select refund.*, least(refunded_minor, coalesce((select (payload -> 'data' -> 'object' ->> 'out_of_band_amount')::bigint
      from provider_events where object_id = charge_id and type = 'credit_note.created' and status = 'PROCESSED'
      limit 1), 0)) as outside_minor
    from charge_refunds as refund
    where refunded_minor > 0 and starts_with(charge_id, 'cn_') and not exists (select 1 from cash_entries
      where source_kind = 'credit-note' and source_id = charge_id))
  insert into cash_entries (company_id, account, currency, amount_minor, outside, source_kind, source_id, happened_at)
  select company_id, 'refunded', currency, outside_minor, true, 'credit-note', charge_id, updated_at from noted
  where outside_minor > 0
  union all
  select company_id, 'balance', currency, outside_minor - refunded_minor, false, 'credit-note', charge_id, updated_at
  from noted where outside_minor < refunded_minor;
  get diagnostics more = row_count;
  posted := posted + more;

  insert into cash_entries (company_id, account, currency, amount_minor, source_kind, source_id, happened_at)
  select company_id, 'disputed', currency, amount_minor, 'dispute', dispute_id, updated_at
  from payment_disputes as dispute
  where status = 'lost' and amount_minor > 0 and not exists (select 1 from cash_entries
    where source_kind = 'dispute' and source_id = dispute_id);
  get diagnostics more = row_count;
  return posted + more;
end
$$;
