-- revision: 1
-- Owner: src/domain/credits
--
-- Trigger on credit_transactions and model_prices: refuses updates and deletes, because both tables are append-only.
create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end
$$;
