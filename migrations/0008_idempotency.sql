-- Idempotency keys of billable calls: which call has one, and the answer that its repeats are given.
--
-- A row is running while ended_at is null: its call has it as long as the lease is renewed. The call's commit ends it,
-- with the answer, or removes it where the call failed. An ended row is never changed again, only removed by its age.

create table idempotency_keys (
  -- Not declared as a reference, as in calls. A key of one API key is none of another.
  key_id uuid not null,
  -- As the client wrote it, compared byte by byte.
  idempotency_key text collate "C" not null check (char_length(idempotency_key) between 1 and 255),
  -- SHA-256 over method, path and body: what was asked.
  sha256 bytea not null check (octet_length(sha256) = 32),
  -- The call that has it; once ended, the call whose answer it is.
  call_id uuid not null,
  created_at timestamptz not null default now(),
  leased_until timestamptz not null,
  ended_at timestamptz,
  http_status integer,
  content_type text,
  -- Encrypted. Null in an ended row where the answer was too large to be kept.
  sealed_answer bytea,
  primary key (key_id, idempotency_key)
);
-- What is encrypted cannot be compressed: not tried.
alter table idempotency_keys alter column sealed_answer set storage external;
create index idempotency_keys_age on idempotency_keys (created_at);

-- charge_calls for a group in which some calls have an idempotency key: their answers are kept, or their keys freed,
-- with the charge or not at all.
--
-- Of several calls with one idempotency key (a lease ended while its call still ran) the first that is committed is
-- charged and its answer kept. The others become failures with the reason 'superseded' and cost nothing.
--
-- Accounts are locked first, as in charge_calls: groups that share an idempotency key share its company. Whoever else
-- changes these rows has one at a time or skips those that are locked, so nobody waits in a circle.
create function charge_calls_and_keep_answers(given_calls text, companies uuid[], given_answers text) returns table (
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
