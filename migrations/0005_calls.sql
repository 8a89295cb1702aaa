-- Every call of a valid key: what it was, how it ended, what it used. No text of a prompt or an answer.
-- Company and key are not declared as references: their rows are never deleted, and a check for each row would be
-- paid on every call.

create table calls (
  id uuid primary key,
  company_id uuid not null,
  key_id uuid,
  request_id text not null,
  endpoint text not null,
  alias text,
  target_id text,
  outcome text not null check (outcome in ('SUCCEEDED', 'FAILED', 'REFUSED')),
  -- Why it failed or was refused, in a word.
  reason text,
  http_status integer not null,
  streamed boolean not null,
  -- Null where the upstream did not tell.
  prompt_tokens bigint,
  cached_tokens bigint,
  completion_tokens bigint,
  estimated_tokens bigint not null,
  started_at timestamptz not null,
  first_byte_ms integer,
  duration_ms integer not null
);

create index calls_company on calls (company_id, started_at);
create index calls_key on calls (key_id, started_at) where key_id is not null;
