-- What the audit has seen to be sound: a digest of an account's transactions after one version up to another. The next audit compares the
-- rows with it, which is cheaper than computing every seal again. Rows may be deleted at any time: the job adds them again.
create table ledger_digests (
  account_id uuid not null,
  -- The version of the digest before, or the smallest bigint.
  after_version bigint not null,
  version bigint not null check (version > after_version),
  digest bytea not null check (octet_length(digest) = 32),
  primary key (account_id, after_version)
);
