-- revision: 1
-- Owner: src/domain/audit
--
-- Trigger on audit_log: refuses updates, deletes and truncation.
create or replace function audit_log_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;
