-- revision: 1
-- Owner: src/domain/models
--
-- Trigger on model_targets and model_prices: raises the version of the model catalogue, so that running processes
-- reload it even after a change made by hand.
create or replace function model_targets_changed() returns trigger language plpgsql as $$
begin
  update model_catalogue set version = version + 1;
  return null;
end
$$;
