-- Who changed what, when and from where. Written in the transaction of the change itself; never changed, never deleted.

create table audit_log (
  id bigint generated always as identity primary key,
  happened_at timestamptz not null,
  -- Whose affair it is; null for what concerns the whole installation. No references: a row outlives everything.
  company_id uuid,
  actor_id uuid,
  -- As it was then: an address may change hands.
  actor_email text check (char_length(actor_email) <= 254),
  -- What was done, as key.minted, and to which thing.
  action text not null check (action ~ '^[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*$' and char_length(action) <= 100),
  object_kind text not null check (char_length(object_kind) <= 100),
  object_id text not null check (char_length(object_id) <= 200),
  -- A few values that say what changed; no secret.
  details jsonb not null check (pg_column_size(details) <= 65536),
  client_address text not null check (char_length(client_address) <= 100),
  request_id text not null check (char_length(request_id) <= 200)
);
create index audit_log_company on audit_log (company_id, id);

create function audit_log_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_log_is_append_only before update or delete or truncate on audit_log
  for each statement execute function audit_log_is_append_only();
