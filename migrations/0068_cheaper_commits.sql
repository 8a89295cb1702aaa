-- What the commit of a call costs the database, which its client waits for.
--
-- PostgreSQL reads the text of every check anew and plans it, for each statement that writes the table. So each table has one,
-- which calls a function. The rows that are there met the checks that are dropped, and are not read again.
create function is_credit_transaction(type text, amount_micro bigint, contra text, source_kind text, source_id text, reason text, seal bytea) returns boolean language plpgsql immutable as $$
begin
  return amount_micro <> 0
    and type in ('PACK_PURCHASE', 'REFUND', 'USAGE', 'SUBSCRIPTION_GRANT', 'INVOICE_PAYMENT', 'ADJUSTMENT', 'EXPIRY')
    and contra in ('sales', 'usage', 'grants', 'receivables', 'adjustments', 'expired')
    and char_length(source_kind) between 1 and 40 and char_length(source_id) between 1 and 200
    and (reason is null or char_length(reason) <= 500) and (seal is null or octet_length(seal) = 32);
end
$$;
create function is_credit_account(owner text, line_micro bigint, last_seal bytea) returns boolean language plpgsql immutable as $$
begin
  return owner in ('COMPANY', 'USER') and (line_micro is null or line_micro >= 0)
    and (last_seal is null or octet_length(last_seal) = 32);
end
$$;
create function is_call(outcome text, idempotency_sha256 bytea) returns boolean language plpgsql immutable as $$
begin
  return outcome in ('SUCCEEDED', 'FAILED', 'REFUSED')
    and (idempotency_sha256 is null or octet_length(idempotency_sha256) = 32);
end
$$;

-- contract: the check that is added with it demands the same
alter table credit_transactions
  drop constraint credit_transactions_amount_micro_check, drop constraint credit_transactions_contra_check,
  drop constraint credit_transactions_reason_check, drop constraint credit_transactions_seal_check,
  add constraint credit_transactions_check
    check (is_credit_transaction(type, amount_micro, contra, source_kind, source_id, reason, seal)) not valid;
-- contract: the check that was added above demands the same
alter table credit_transactions
  drop constraint credit_transactions_source_id_check, drop constraint credit_transactions_source_kind_check,
  drop constraint credit_transactions_type_check;
-- contract: the check that is added with it demands the same
alter table credit_accounts
  drop constraint credit_accounts_line_micro_check, drop constraint credit_accounts_owner_check,
  drop constraint credit_accounts_last_seal_check,
  add constraint credit_accounts_check check (is_credit_account(owner, line_micro, last_seal)) not valid;
-- contract: the check that is added with it demands the same
alter table calls
  drop constraint calls_outcome_check, drop constraint calls_idempotency_sha256_check,
  add constraint calls_check check (is_call(outcome, idempotency_sha256)) not valid;

-- Every row of a foreign key locks and looks up its company: the responses of a company are deleted by a trigger.
create function delete_responses_of_company() returns trigger language plpgsql as $$
begin
  delete from stored_responses where company_id = old.id;
  return null;
end
$$;
create trigger delete_responses_of_company after delete on companies
  for each row execute function delete_responses_of_company();
-- contract: the gateway bounds all of these, in every version
alter table stored_responses
  drop constraint stored_responses_company_id_fkey, drop constraint stored_responses_id_check,
  drop constraint stored_responses_alias_check, drop constraint stored_responses_target_id_check,
  drop constraint stored_responses_item_ids_check, drop constraint stored_responses_sealed_content_check,
  drop constraint stored_responses_content_bytes_check;
-- Only rows with content count towards what a company may store.
drop index stored_responses_company;
create index stored_responses_content on stored_responses (company_id) include (content_bytes) where content_bytes > 0;

-- The row of a deleted response stays until it expires: so a replayed journal does not bring it back, and recording a response
-- takes no look-up of its call.
alter table stored_responses add column deleted_at timestamptz;
