-- When an operator recorded that an invoice was paid outside of the payment provider. A payment at the provider after
-- that is a second one and has to be refunded.
alter table invoices add column settled_by_hand_at timestamptz;

-- An invoice that was given up (UNCOLLECTIBLE) is still owed and blocks its company like an open one.
create index invoices_unpaid on invoices (company_id, due_at) where status in ('OPEN', 'UNCOLLECTIBLE');
create index invoices_unpaid_overdue on invoices (due_at)
  where status in ('OPEN', 'UNCOLLECTIBLE') and overdue_mailed_at is null;

-- An event that was given up is still applied when what it waited for arrives.
create index provider_events_awaiting on provider_events using gin (waits_for)
  where status in ('DEFERRED', 'FAILED') and waits_for <> '{}';
