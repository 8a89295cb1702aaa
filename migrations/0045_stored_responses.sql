-- Responses of the Responses API that can be read and continued later: which company has which, and where they are.
create table stored_responses (
  -- The provider's, or ours: resp_…
  id text primary key check (char_length(id) between 1 and 200),
  company_id uuid not null references companies (id) on delete cascade,
  key_id uuid not null,
  alias text not null check (char_length(alias) between 1 and 200),
  target_id text not null check (char_length(target_id) between 1 and 200),
  -- The items of its output, which later requests may refer to.
  item_ids text[] not null default '{}' check (cardinality(item_ids) <= 1000),
  -- The call under which a later read charges it; null once it is charged.
  charge_call_id uuid,
  -- The response and its input, encrypted under MASTER_KEY. Null where the provider stores them.
  sealed_content bytea check (octet_length(sealed_content) between 1 and 33554432),
  content_bytes integer not null default 0 check (content_bytes >= 0),
  created_at timestamptz not null,
  expires_at timestamptz not null
);
-- It is random bytes: compressing it again costs time and saves nothing.
alter table stored_responses alter column sealed_content set storage external;
create index stored_responses_expiry on stored_responses (expires_at);
create index stored_responses_company on stored_responses (company_id) include (content_bytes);
create index stored_responses_items on stored_responses using gin (item_ids);
