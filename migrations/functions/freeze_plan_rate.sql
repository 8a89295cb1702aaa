-- revision: 1
-- Owner: src/domain/catalog
--
-- Trigger on plans: records what a provider price stands for when the price is written. A rate is recorded once; later
-- changes of the plan's price or credits do not change it.
create or replace function freeze_plan_rate() returns trigger language plpgsql as $$
begin
  insert into plan_rates (provider_price_id, currency, plan_id, price_minor, credits_micro)
  values (new.provider_price_id, new.currency, new.id, new.price_minor, new.credits_micro)
  on conflict do nothing;
  return null;
end
$$;
