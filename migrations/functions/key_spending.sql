-- revision: 2
-- Owner: src/domain/credits
--
-- What a key has spent in a month together with those that it was rotated from and to: what their monthly spending limits and
-- their budget are held against. What corrections gave back is subtracted.
create or replace function key_spending(given_key uuid, given_month date) returns bigint
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
declare
  root constant uuid := coalesce((select rotation_root_id from api_keys where id = given_key), given_key);
begin
  return coalesce((select sum(charge_micro - returned_micro) from key_months where month = given_month and key_id = any (
    array(select id from api_keys where rotation_root_id = root) || root)), 0);
end
$$;
