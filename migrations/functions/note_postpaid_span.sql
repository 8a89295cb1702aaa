-- revision: 1
-- Owner: src/domain/credits
--
-- Trigger on companies: opens a postpaid span when a company becomes POSTPAID and closes it when it becomes PREPAID,
-- however the mode is changed. Usage outside of a span is never invoiced. The lock on the account prevents charges
-- between reading its version and the commit.
create or replace function note_postpaid_span() returns trigger language plpgsql as $$
declare
  at_version bigint := 0;
begin
  if tg_op = 'UPDATE' then
    select version into strict at_version from credit_accounts where id = new.id for update;
  end if;
  if new.billing_mode = 'POSTPAID' then
    insert into postpaid_spans (company_id, after_version, invoiced_version) values (new.id, at_version, at_version);
  else
    delete from postpaid_spans where company_id = new.id and until_version is null and after_version >= at_version;
    update postpaid_spans set until_version = at_version where company_id = new.id and until_version is null;
  end if;
  return null;
end
$$;
