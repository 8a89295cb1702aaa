-- Two-factor authentication: a TOTP secret a person, recovery codes, and fresh codes for single operations.

create table totp_secrets (
  user_id uuid primary key references users (id),
  -- Encrypted under MASTER_KEY and bound to the person.
  sealed bytea not null,
  created_at timestamptz not null,
  -- Null until a code has shown that the person's device has it.
  confirmed_at timestamptz,
  -- The last 30-second step whose code was taken: that code and earlier ones are spent.
  last_step bigint not null default 0
);

create table totp_recovery_codes (
  user_id uuid not null references users (id),
  code_sha256 bytea not null check (octet_length(code_sha256) = 32),
  used_at timestamptz,
  primary key (user_id, code_sha256)
);

-- Who has shown a fresh code, by the session or, for a token without one, by the token.
create table step_ups (
  id uuid primary key,
  user_id uuid not null references users (id),
  grant_sha256 bytea not null unique check (octet_length(grant_sha256) = 32),
  expires_at timestamptz not null
);
create index step_ups_expiry on step_ups (expires_at);
