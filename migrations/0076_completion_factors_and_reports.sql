-- At which factor the completion of a call was charged, where it differs from that of its prompt; null: price_factor_millionths applies.
alter table calls add column completion_factor_millionths integer;

-- When the provider reported what an invoice says, by its own clock; null for invoices from before.
alter table invoices add column reported_at timestamptz;

-- The events of a subscription: since when its payment is past due follows from all of them.
create index provider_events_subscriptions on provider_events (object_id) where type like 'customer.subscription.%';
