-- revision: 1
-- Owner: src/domain/credits
--
-- Seals a transaction that is posted by itself, and notes its seal as the last of the account. The account is locked by whoever
-- posts. charge_call and charge_calls seal what they post themselves.
create or replace function seal_transaction() returns trigger language plpgsql as $$
begin
  new.seal_version := new.version;
  new.seal := ledger_seal((select last_seal from credit_accounts where id = new.account_id), new.account_id, new.version,
    ledger_entry_text(new.amount_micro, (extract(epoch from new.created_at) * 1000000)::bigint, new.type, new.contra,
      new.source_kind, new.source_id, new.reason));
  update credit_accounts set last_seal = new.seal where id = new.account_id;
  return new;
end
$$;
