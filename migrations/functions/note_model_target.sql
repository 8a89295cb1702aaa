-- revision: 1
-- Owner: src/domain/models
--
-- Trigger on model_targets: remembers every target that there was. Target ids are new where address, model or provider
-- change, so a row is never changed.
create or replace function note_model_target() returns trigger language plpgsql as $$
begin
  insert into model_target_history (id, alias, provider, host, model)
  values (new.id::text, new.alias, new.provider, coalesce(substring(new.base_url from '^[a-z]+://([^/]+)'), ''), new.model)
  on conflict (id) do nothing;
  return null;
end
$$;
