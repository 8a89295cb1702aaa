-- Cash accounts: the money behind credits, per currency, so that what was sold can be compared with what was paid and credits
-- outstanding can be stated in currency.

-- Append-only. Each account counts in its own direction: `received` is money in, `refunded` and `disputed` money out,
-- `balance` what invoices took from the customer's balance at the provider (below zero: what was added to it).
create table cash_entries (
  id bigint generated always as identity primary key,
  company_id uuid not null references companies (id),
  account text not null check (account in ('received', 'refunded', 'disputed', 'balance')),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  amount_minor bigint not null check (amount_minor <> 0),
  -- By bank transfer or in another way that the provider does not know.
  outside boolean not null default false,
  source_kind text collate "C" not null check (source_kind in
    ('credit-pack-purchase', 'invoice', 'charge-refund', 'credit-note', 'dispute')),
  source_id text collate "C" not null check (char_length(source_id) between 1 and 200),
  -- A refund comes in steps, and an operator may correct an entry: each is posted once.
  step text collate "C" not null default '' check (char_length(step) <= 200),
  reason text check (char_length(reason) <= 500),
  happened_at timestamptz not null,
  created_at timestamptz not null default now(),
  unique (source_kind, source_id, account, step)
);
create index cash_entries_company on cash_entries (company_id, currency);
create index cash_entries_happened on cash_entries (happened_at);
create trigger cash_entries_append_only before update or delete or truncate on cash_entries
  for each statement execute function refuse_change();

-- What an invoice was paid with is looked up in its event.
create index provider_events_paid on provider_events (object_id) where type in ('invoice.paid', 'credit_note.created');

-- What a pack has cost and brought, each version once: a purchase is compared with the version it was made by.
create table pack_rates (
  credit_pack_id uuid not null,
  currency text not null check (currency ~ '^[a-z]{3}$'),
  price_minor bigint not null check (price_minor > 0),
  credits_micro bigint not null check (credits_micro > 0),
  created_at timestamptz not null default now(),
  primary key (credit_pack_id, currency, price_minor, credits_micro)
);
create trigger pack_rates_append_only before update or delete or truncate on pack_rates
  for each statement execute function refuse_change();

insert into pack_rates (credit_pack_id, currency, price_minor, credits_micro)
select id, currency, price_minor, credits_micro from credit_packs
union
-- Versions that were sold before they were recorded.
select credit_pack_id, currency, amount_minor, credits_micro from credit_pack_purchases where status = 'COMPLETED';

create function freeze_pack_rate() returns trigger language plpgsql as $$
begin
  insert into pack_rates (credit_pack_id, currency, price_minor, credits_micro)
  values (new.id, new.currency, new.price_minor, new.credits_micro)
  on conflict do nothing;
  return null;
end
$$;
create trigger freeze_pack_rate after insert or update of currency, price_minor, credits_micro on credit_packs
  for each row execute function freeze_pack_rate();

-- History has its cash from the beginning; the daily audit calls it again.
create function post_missing_cash() returns bigint language plpgsql as $$
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
      where object_id = invoice.provider_invoice_id and type = 'invoice.paid' order by happened_at desc limit 1) as event on true
    cross join lateral (
      select coalesce((told ->> 'ending_balance')::bigint - coalesce((told ->> 'starting_balance')::bigint, 0), 0) as balance)
      as applied
    where invoice.status = 'PAID' and invoice.kind <> 'PACK' and not exists (select 1 from cash_entries
      where source_kind = 'invoice' and source_id = invoice.id::text))
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
      from provider_events where object_id = charge_id and type = 'credit_note.created' limit 1), 0)) as outside_minor
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
select post_missing_cash();
