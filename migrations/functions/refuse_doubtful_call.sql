-- revision: 1
-- Owner: src/domain/calls
--
-- Trigger on calls_other: refuses a charged call of a time whose calls are no longer stored if it may be one of those
-- that were charged then. A transaction of several calls names only the first of them. It has calls of one day (UTC, by
-- their ids), so a call is doubtful if its company has such a transaction of that day that begins at or before it. The
-- journal then sets the call aside for an operator. All other late calls are charged: transactions of a single call name
-- it, and the ledger accepts a source once.
create or replace function refuse_doubtful_call() returns trigger language plpgsql as $$
declare
  of_day bigint := ('x' || left(new.id::text, 8) || substr(new.id::text, 10, 4))::bit(48)::bigint / 86400000;
  first_of_day text := lpad(to_hex(of_day * 86400000), 12, '0');
begin
  if new.id >= (select before_id from calls_retirement) is not false then return new; end if;
  if exists (select 1 from calls where id = new.id) then return new; end if;
  if exists (select 1 from credit_transactions
    where source_kind = 'calls' and source_id >= left(first_of_day, 8) || '-' || right(first_of_day, 4)
      and source_id <= new.id::text and account_id = new.company_id)
  then
    raise exception 'call % may have been charged already: calls of its time are no longer stored', new.id
      using errcode = 'unique_violation';
  end if;
  return new;
end
$$;
