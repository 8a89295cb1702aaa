-- Finished calls from a gateway's journal that cannot be charged as they are: their record cannot be read, or the
-- database refuses it. They are money, so they stay until an operator has repaired or dropped them
-- (`turnpike set-aside-calls`, `turnpike repair-calls`).
create table set_aside_calls (
  -- The call's, as its journal had it.
  id text primary key,
  -- As its journal had it, which need not be text that this database takes.
  record bytea not null,
  reason text not null,
  journal_file text not null,
  set_aside_at timestamptz not null default now(),
  -- How often it was tried to charge it.
  tries integer not null default 1,
  resolved_at timestamptz,
  resolution text check (resolution in ('CHARGED', 'DROPPED')),
  -- Why it was dropped.
  note text,
  check ((resolved_at is null) = (resolution is null))
);
create index set_aside_calls_open on set_aside_calls (id) where resolved_at is null;

-- Which idempotency key a call had: an idempotency key's own row goes by its age, and a journal may be replayed later
-- than that. Two calls of one key are found by this, for as long as calls are stored.
alter table calls add column idempotency_sha256 bytea check (octet_length(idempotency_sha256) = 32);
create index calls_idempotency on calls (key_id, idempotency_sha256) where idempotency_sha256 is not null;
