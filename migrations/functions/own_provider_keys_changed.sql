-- revision: 1
-- Owner: src/domain/own-keys
--
-- Trigger on own_provider_keys: raises the version of the list, so that running processes read it again even after a change
-- made by hand.
create or replace function own_provider_keys_changed() returns trigger language plpgsql as $$
begin
  update own_key_catalogue set version = version + 1;
  return null;
end
$$;
