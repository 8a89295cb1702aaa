-- revision: 1
-- Owner: src/domain/credits
--
-- Trigger on invoices: refuses a change to a status of lower rank, and any change of a PAID or VOID invoice's status.
create or replace function keep_invoice_rank() returns trigger language plpgsql as $$
begin
  if new.status <> old.status
    and (invoice_rank(new.status) < invoice_rank(old.status) or old.status in ('PAID', 'VOID')) then
    raise exception 'invoice % is % and cannot become %', old.id, old.status, new.status;
  end if;
  return new;
end
$$;
