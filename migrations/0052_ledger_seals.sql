-- Tamper evidence: transactions carry seals, each a SHA-256 over the one before it in the account and over what was posted
-- since. A row that is changed, removed, inserted or moved later, by whatever means, breaks the chain. Calls that are committed
-- together are sealed together: all have the version of the last of them as their seal_version, and that one has the seal.
alter table credit_transactions add column seal_version bigint;
alter table credit_transactions add column seal bytea check (octet_length(seal) = 32);

-- The seal of the account's last transaction. It is written by whoever holds the account's lock.
alter table credit_accounts add column last_seal bytea check (octet_length(last_seal) = 32);
-- Transactions up to this version are older than seals. A job seals them a thousand at a time, in a chain of their own.
alter table credit_accounts add column seals_from bigint not null default 0;
alter table credit_accounts add column old_sealed_to bigint not null default 0;
update credit_accounts set seals_from = version where version > 0;

create table old_ledger_seals (
  account_id uuid not null,
  version bigint not null,
  seal bytea not null check (octet_length(seal) = 32),
  primary key (account_id, version)
);
create trigger old_ledger_seals_append_only before update or delete or truncate on old_ledger_seals
  for each statement execute function refuse_change();

-- What is sealed of a transaction. Texts of free length come with their length, so that two different ones never read alike.
create function ledger_entry_text(
  amount_micro bigint, created_micro bigint, type text, contra text, source_kind text, source_id text, reason text
) returns text language sql immutable as $$
  select amount_micro::text || ' ' || created_micro::text || ' ' || type || ' ' || contra || ' '
    || length(source_kind)::text || ':' || source_kind || ' ' || length(source_id)::text || ':' || source_id
    || coalesce(' ' || length(reason)::text || ':' || reason, '') || chr(10)
$$;

create function ledger_seal(before bytea, account_id uuid, version bigint, entries text) returns bytea
language sql immutable as $$
  select sha256(coalesce(before, ''::bytea)
    || convert_to(account_id::text || ' ' || version::text || chr(10) || entries, 'UTF8'))
$$;

create function seal_transaction() returns trigger language plpgsql as $$
begin
  new.seal_version := new.version;
  new.seal := ledger_seal((select last_seal from credit_accounts where id = new.account_id), new.account_id, new.version,
    ledger_entry_text(new.amount_micro, (extract(epoch from new.created_at) * 1000000)::bigint, new.type, new.contra,
      new.source_kind, new.source_id, new.reason));
  update credit_accounts set last_seal = new.seal where id = new.account_id;
  return new;
end
$$;
-- For all that posts single transactions, processes of the version before too. The functions of charges seal groups themselves.
create trigger credit_transactions_sealed before insert on credit_transactions
  for each row when (new.seal_version is null) execute function seal_transaction();
