-- Company keys. Only the SHA-256 of a raw key is kept; prefix and last_four are for recognition.

create table api_keys (
  id uuid primary key,
  company_id uuid not null references companies (id),
  name text not null check (char_length(name) between 1 and 200),
  sha256 bytea not null unique check (octet_length(sha256) = 32),
  prefix text not null,
  last_four text not null,
  scopes text[] not null check (cardinality(scopes) > 0),
  -- The aliases this key may call; null is every alias. An empty list would be a key for nothing.
  models text[] check (cardinality(models) between 1 and 50),
  requests_per_minute integer not null check (requests_per_minute > 0),
  tokens_per_minute integer not null check (tokens_per_minute > 0),
  max_calls_in_flight integer check (max_calls_in_flight > 0),
  monthly_spending_limit_micro bigint check (monthly_spending_limit_micro >= 0),
  created_by uuid references users (id),
  -- The key whose settings this one took over.
  rotated_from_id uuid references api_keys (id),
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz
);

-- A company's keys, the newest first.
create index api_keys_company on api_keys (company_id, created_at, id);
