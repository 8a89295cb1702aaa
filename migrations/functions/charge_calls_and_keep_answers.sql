-- revision: 2
-- Owner: src/domain/calls
--
-- Does what charge_calls does, for a group in which some calls have an idempotency key: their answers are saved, or
-- their keys released, in the same transaction as the charge.
--
-- If several calls used the same idempotency key (a lease expired while its call was still running), the first to
-- commit is charged and its answer is saved. The others are recorded as failures with the reason 'superseded' and
-- cost nothing.
--
-- A call that comes from a journal may be older than its idempotency key's row is stored. Then the calls themselves are
-- looked at: it is superseded if one that was charged under the key began after it, or before it by less than that time.
-- Such a late call takes no key, which may be in use for another call by now. If calls of its time are no longer stored,
-- it is superseded too: a key is never charged twice.
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
    select call, key, idempotency, decode(sha256, 'hex') as sha256, succeeded, status, type, sealed,
      coalesce(started < extract(epoch from now()) * 1000 - stored_for, false) as is_late,
      -- Others are superseded by the key's own row. Ten minutes, for the clocks of gateways differ.
      coalesce(started < extract(epoch from now()) * 1000 - least(stored_for, 600000), false) as is_old,
      (lpad(to_hex(greatest(started - stored_for, 0)), 12, '0') || repeat('0', 20))::uuid as since
    from json_to_recordset(given_answers::json) as given (call uuid, key uuid, idempotency text, sha256 text,
      succeeded boolean, status integer, type text, sealed text, started bigint, stored_for bigint)),
  charged_before as materialized (
    select call from given
    where succeeded and is_old and (
      exists (select 1 from calls
        where calls.key_id = given.key and idempotency_sha256 = sha256(convert_to(given.idempotency, 'UTF8'))
          and outcome = 'SUCCEEDED' and calls.id <> given.call and calls.id >= given.since)
      or is_late and exists (select 1 from given as other
        where other.key = given.key and other.idempotency = given.idempotency and other.succeeded
          and other.call <> given.call and other.call >= given.since
          and (not other.is_late or other.call < given.call))
      or is_late and exists (select 1 from calls_retirement where before_id > given.since))),
  kept as (
    insert into idempotency_keys as present (key_id, idempotency_key, sha256, call_id, leased_until, ended_at,
      http_status, content_type, sealed_answer)
    select distinct on (key, idempotency) key, idempotency, given.sha256, call, now(), now(), status, type,
      decode(sealed, 'base64')
    from given left join idempotency_keys as had on had.key_id = key and had.idempotency_key = idempotency
    where succeeded and not is_late and call not in (select call from charged_before)
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
  where succeeded and (call in (select call from charged_before) or not is_late and exists (
    select 1
    from (select key_id, idempotency_key, call_id, sha256 from kept
      union all select key_id, idempotency_key, call_id, sha256 from idempotency_keys where ended_at is not null) as ended
    where ended.key_id = key and ended.idempotency_key = idempotency and ended.sha256 = given.sha256
      and ended.call_id <> call));
  if superseded is not null then
    given_calls := (
      select json_agg(case when (call ->> 'id')::uuid = any (superseded)
        then call::jsonb || '{"outcome": "FAILED", "reason": "superseded"}' else call::jsonb end)
      from json_array_elements(given_calls::json) as call);
  end if;
  return query select * from charge_calls(given_calls, companies);
end
$$;
