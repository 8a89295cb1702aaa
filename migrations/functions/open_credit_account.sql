-- revision: 1
-- Owner: src/domain/credits
--
-- Trigger on companies: creates the credit account of a new company. A company without an account could not be
-- charged.
create or replace function open_credit_account() returns trigger language plpgsql as $$
begin
  insert into credit_accounts (id, owner, line_micro)
  values (new.id, 'COMPANY', case new.billing_mode when 'PREPAID' then 0 else new.credit_limit_micro end);
  return null;
end
$$;
