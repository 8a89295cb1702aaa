-- Sessions, invitations, password resets; people who have left. Tokens are kept as SHA-256 only.

alter table users add column removed_at timestamptz;
-- Access tokens issued before this moment are no longer taken: set when a password is changed.
alter table users add column tokens_valid_from timestamptz;

-- Who has left keeps their row, because keys and the audit log name it, and gives their address free.
drop index users_email;
create unique index users_email on users (lower(email)) where removed_at is null;

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id),
  -- The part of the refresh token that stays the same for the session's life: who shows it has had a token of ours.
  family_sha256 bytea not null unique check (octet_length(family_sha256) = 32),
  -- The only part that opens now, and the one before it, for a client that lost the answer.
  current_sha256 bytea not null check (octet_length(current_sha256) = 32),
  previous_sha256 bytea check (octet_length(previous_sha256) = 32),
  -- The next token is the hash of this and the token shown, so that a repeat gets the same one.
  seed bytea not null check (octet_length(seed) = 32),
  client_address text not null check (char_length(client_address) <= 100),
  user_agent text not null check (char_length(user_agent) <= 300),
  created_at timestamptz not null,
  refreshed_at timestamptz not null,
  -- After this without a refresh it is over; never later than its last moment.
  expires_at timestamptz not null,
  last_moment timestamptz not null,
  ended_at timestamptz
);
create index sessions_user on sessions (user_id, id) where ended_at is null;
create index sessions_expiry on sessions (expires_at);

create table invitations (
  id uuid primary key,
  company_id uuid not null references companies (id),
  email text not null check (char_length(email) between 3 and 254),
  role text not null check (role in ('MEMBER', 'COMPANY_ADMIN')),
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  invited_by uuid references users (id),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  accepted_at timestamptz,
  withdrawn_at timestamptz
);
-- One open invitation for an address in a company: the next one takes its place.
create unique index invitations_open on invitations (company_id, lower(email))
  where accepted_at is null and withdrawn_at is null;
create index invitations_company on invitations (company_id, id);

create table password_resets (
  id uuid primary key,
  user_id uuid not null references users (id),
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index password_resets_user on password_resets (user_id);
