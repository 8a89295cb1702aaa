-- The exact cache: answers that the same request of the same company is given again. Off unless a key or a call opts in.
create table cached_answers (
  company_id uuid not null references companies (id) on delete cascade,
  -- HMAC-SHA-256 of route, alias, headers and body, under a key that is derived from MASTER_KEY.
  digest bytea not null check (octet_length(digest) = 32),
  -- The key of the call that made it, its request id and, where the body named one, its end user: it is erased by these.
  key_id uuid not null,
  request_id text not null check (char_length(request_id) between 1 and 200),
  end_user text check (char_length(end_user) between 1 and 200),
  content_type text not null check (char_length(content_type) between 1 and 100),
  -- Encrypted under MASTER_KEY, bound to the company and the digest.
  sealed_answer bytea not null check (octet_length(sealed_answer) between 1 and 33554432),
  bytes integer not null check (bytes > 0),
  -- What the call that made it used: a hit is recorded with the same tokens.
  prompt_tokens bigint not null check (prompt_tokens >= 0),
  cached_tokens bigint not null check (cached_tokens >= 0),
  cache_write_tokens bigint check (cache_write_tokens >= 0),
  completion_tokens bigint not null check (completion_tokens >= 0),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (company_id, digest)
);
-- It is random bytes: compressing it again costs time and saves nothing.
alter table cached_answers alter column sealed_answer set storage external;
create index cached_answers_expiry on cached_answers (expires_at);
create index cached_answers_newest on cached_answers (company_id, created_at desc, digest) include (bytes);

-- How long answers to calls of this key are cached where the call does not say so, in seconds; null is not at all.
alter table api_keys add column cache_ttl_seconds integer check (cache_ttl_seconds between 1 and 2592000);
