-- revision: 1
-- Owner: src/domain/calls
--
-- Does what charge_calls does, for a group in which some calls have an idempotency key: their answers are saved, or
-- their keys released, in the same transaction as the charge.
--
-- If several calls used the same idempotency key (a lease expired while its call was still running), the first to
-- commit is charged and its answer is saved. The others are recorded as failures with the reason 'superseded' and
-- cost nothing.
--
-- Accounts are locked first, as in charge_calls: groups that share an idempotency key share its company. Every other
-- writer of these rows locks one row at a time or skips locked rows, so a deadlock is not possible.
create or replace function charge_calls_and_keep_answers(given_calls text, companies uuid[], given_answers text) returns table (
  account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  superseded uuid[];
begin
  perform 1 from credit_accounts where id = any (companies) order by id for update;
  with given as materialized (
    select call, key, idempotency, decode(sha256, 'hex') as sha256, succeeded, status, type, sealed
    from json_to_recordset(given_answers::json) as given (call uuid, key uuid, idempotency text, sha256 text,
      succeeded boolean, status integer, type text, sealed text)),
  kept as (
    insert into idempotency_keys as present (key_id, idempotency_key, sha256, call_id, leased_until, ended_at,
      http_status, content_type, sealed_answer)
    select distinct on (key, idempotency) key, idempotency, given.sha256, call, now(), now(), status, type,
      decode(sealed, 'base64')
    from given left join idempotency_keys as had on had.key_id = key and had.idempotency_key = idempotency
    where succeeded
    -- Of two in one group the one that has the key.
    order by key, idempotency, had.call_id is not distinct from call desc, call
    on conflict (key_id, idempotency_key) do update set call_id = excluded.call_id, ended_at = excluded.ended_at,
      http_status = excluded.http_status, content_type = excluded.content_type, sealed_answer = excluded.sealed_answer
      where present.ended_at is null and present.sha256 = excluded.sha256
    returning key_id, idempotency_key, call_id, sha256),
  freed as (
    delete from idempotency_keys as present using given
    where not succeeded and present.key_id = key and present.idempotency_key = idempotency
      and present.call_id = call and present.ended_at is null)
  select array_agg(call) into superseded
  from given
  where succeeded and exists (
    select 1
    from (select key_id, idempotency_key, call_id, sha256 from kept
      union all select key_id, idempotency_key, call_id, sha256 from idempotency_keys where ended_at is not null) as ended
    where ended.key_id = key and ended.idempotency_key = idempotency and ended.sha256 = given.sha256
      and ended.call_id <> call);
  if superseded is not null then
    given_calls := (
      select json_agg(case when (call ->> 'id')::uuid = any (superseded)
        then call::jsonb || '{"outcome": "FAILED", "reason": "superseded"}' else call::jsonb end)
      from json_array_elements(given_calls::json) as call);
  end if;
  return query select * from charge_calls(given_calls, companies);
end
$$;
