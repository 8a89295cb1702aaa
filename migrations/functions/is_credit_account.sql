-- revision: 1
-- Owner: src/domain/credits
--
-- What every account must be, as the check of its table: see is_credit_transaction.
create or replace function is_credit_account(owner text, line_micro bigint, last_seal bytea) returns boolean language plpgsql immutable as $$
begin
  return owner in ('COMPANY', 'USER') and (line_micro is null or line_micro >= 0)
    and (last_seal is null or octet_length(last_seal) = 32);
end
$$;
