-- revision: 3
-- Owner: src/domain/stored-responses
--
-- Does what charge_calls does, or charge_calls_and_keep_answers where answers are given, for a group in which some calls
-- made a response of the Responses API: it is recorded in the same transaction as the charge, so that a client that has
-- its answer can continue it, and one process or journal sends one statement for both. charge_call does it for a lone call.
--
-- A second response of the same id changes nothing: the first company has it. One that a client has deleted does not come
-- back with a journal, for its row stays until it expires. A response whose content would take its company beyond
-- max_bytes is not recorded. None of it refuses a call: every value was checked by the gateway.
--
-- Accounts are locked first, as in charge_calls.
create or replace function charge_calls_and_record_responses(
  given_calls text, companies uuid[], given_answers text, given_responses text
) returns table (
  account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  -- The text may also be in a name: then the longer statement does the same.
  has_content constant boolean := strpos(given_responses, '"sealed":"') > 0;
begin
  perform 1 from credit_accounts where id = any (companies) order by id for update;
  if has_content then
    insert into stored_responses (id, company_id, key_id, alias, target_id, item_ids, charge_call_id, sealed_content,
      content_bytes, created_at, expires_at)
    select id, company, key, alias, target, array(select json_array_elements_text(items)), charge_call,
      decode(sealed, 'base64'), bytes, to_timestamp(created / 1000::float8), to_timestamp(expires / 1000::float8)
    from (
      select *, sum(bytes) over (partition by company order by id) as bytes_so_far
      from json_to_recordset(given_responses::json) as given (id text, company uuid, key uuid, alias text, target text,
        items json, charge_call uuid, sealed text, bytes integer, created bigint, expires bigint, max_bytes bigint)) as given
    where bytes = 0 or bytes_so_far + (select coalesce(sum(content_bytes), 0) from stored_responses as stored
      where stored.company_id = company and content_bytes > 0) <= max_bytes
    on conflict (id) do nothing;
  else
    insert into stored_responses (id, company_id, key_id, alias, target_id, item_ids, charge_call_id, content_bytes,
      created_at, expires_at)
    select id, company, key, alias, target, items, charge_call, 0, to_timestamp(created / 1000::float8),
      to_timestamp(expires / 1000::float8)
    from json_to_recordset(given_responses::json) as given (id text, company uuid, key uuid, alias text, target text,
      items text[], charge_call uuid, created bigint, expires bigint)
    on conflict (id) do nothing;
  end if;
  if given_answers is null then
    return query select * from charge_calls(given_calls, companies);
  else
    return query select * from charge_calls_and_keep_answers(given_calls, companies, given_answers);
  end if;
end
$$;
