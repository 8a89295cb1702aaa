-- revision: 2
-- Owner: src/domain/credits
--
-- Writes what is sealed of a transaction of the ledger: all of it but its version, which its place among the others shows, and the
-- balance after it, which follows from the amounts. Texts of free length come with their length, so that two different
-- transactions never read alike. What it returns for a transaction must never change.
create or replace function ledger_entry_text(
  amount_micro bigint, created_micro bigint, type text, contra text, source_kind text, source_id text, reason text
) returns text language sql immutable parallel safe as $$
  select amount_micro::text || ' ' || created_micro::text || ' ' || type || ' ' || contra || ' '
    || length(source_kind)::text || ':' || source_kind || ' ' || length(source_id)::text || ':' || source_id
    || coalesce(' ' || length(reason)::text || ':' || reason, '') || chr(10)
$$;
