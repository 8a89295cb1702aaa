-- revision: 1
-- Owner: src/domain/calls
--
-- What every recorded call must be, as the check of its table: see is_credit_transaction.
create or replace function is_call(outcome text, idempotency_sha256 bytea) returns boolean language plpgsql immutable as $$
begin
  return outcome in ('SUCCEEDED', 'FAILED', 'REFUSED')
    and (idempotency_sha256 is null or octet_length(idempotency_sha256) = 32);
end
$$;
