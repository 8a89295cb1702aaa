-- revision: 1
-- Owner: src/domain/catalog
--
-- Trigger on credit_packs: records what a version of a pack costs and brings. A version is recorded once.
create or replace function freeze_pack_rate() returns trigger language plpgsql as $$
begin
  insert into pack_rates (credit_pack_id, currency, price_minor, credits_micro)
  values (new.id, new.currency, new.price_minor, new.credits_micro)
  on conflict do nothing;
  return null;
end
$$;
