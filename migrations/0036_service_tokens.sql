-- Service tokens: programs call GraphQL with them, within their scopes, on behalf of a company.

create table service_tokens (
  id uuid primary key,
  company_id uuid not null references companies (id),
  name text not null check (char_length(name) between 1 and 200),
  -- The token is shown once; only its hash is stored.
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  scopes text[] not null check (cardinality(scopes) between 1 and 50),
  -- Its rights are never more than this person's at the moment of the request.
  created_by uuid not null references users (id),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index service_tokens_company on service_tokens (company_id, id);
create index service_tokens_creator on service_tokens (created_by);
