-- A group of calls is posted to the ledger as one transaction for each company and day, not as one for each call. The
-- group is a booking: its number is in the row of each of its calls and in the transaction. Null in rows from before,
-- whose transactions name their call.
alter table calls add column booking bigint;
alter table credit_transactions add column booking bigint;

-- As in migrations/functions/refuse_doubtful_call.sql, which maintains it. Calls of a time whose partition was removed
-- come into calls_other.
create function refuse_doubtful_call() returns trigger language plpgsql as $$
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
create trigger calls_other_doubtful before insert on calls_other
  for each row when (new.charge_micro <> 0) execute function refuse_doubtful_call();
