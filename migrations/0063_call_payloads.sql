-- Prompts and answers of calls whose key has opted in. Nothing else stores them.
create table call_payloads (
  call_id uuid primary key,
  company_id uuid not null references companies (id) on delete cascade,
  key_id uuid not null,
  request_id text not null check (char_length(request_id) between 1 and 200),
  -- As the client named it in the body: payloads are erased by it.
  end_user text check (char_length(end_user) between 1 and 200),
  -- Request and response, redacted and then encrypted under MASTER_KEY, bound to the company and the call.
  sealed_payload bytea not null check (octet_length(sealed_payload) between 1 and 33554432),
  stored_at timestamptz not null,
  expires_at timestamptz not null
);
-- It is random bytes: compressing it again costs time and saves nothing.
alter table call_payloads alter column sealed_payload set storage external;
create index call_payloads_expiry on call_payloads (expires_at);
create index call_payloads_request on call_payloads (company_id, request_id);
create index call_payloads_end_user on call_payloads (company_id, end_user) where end_user is not null;

-- What a company has chosen; without a row the operator's defaults apply.
create table payload_settings (
  company_id uuid primary key references companies (id) on delete cascade,
  retention_days integer check (retention_days between 1 and 400),
  redaction_patterns text[] not null default '{}' check (cardinality(redaction_patterns) <= 50)
);

alter table api_keys add column log_payloads boolean not null default false;
