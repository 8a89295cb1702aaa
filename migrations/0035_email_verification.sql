-- Whether a person has shown that an e-mail address is theirs. Those who are here already, and those whom a process of the
-- version before adds during a rollout, count as verified.

alter table users add column email_verified_at timestamptz default now();

create table email_verifications (
  id uuid primary key,
  user_id uuid not null references users (id),
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index email_verifications_user on email_verifications (user_id);
create index email_verifications_expiry on email_verifications (expires_at);
