-- revision: 2
-- Owner: src/domain/credits
--
-- The seal of transactions of one account that are posted together: over the seal before them (none for the first), the
-- account, the version of the last and their texts. What it returns must never change. It is declared stable, as convert_to is:
-- otherwise PostgreSQL does not inline it, and a call takes five times as long.
create or replace function ledger_seal(before bytea, account_id uuid, version bigint, entries text) returns bytea
language sql stable parallel safe as $$
  select sha256(coalesce(before, ''::bytea)
    || convert_to(account_id::text || ' ' || version::text || chr(10) || entries, 'UTF8'))
$$;
