-- revision: 3
-- Owner: src/domain/calls
--
-- The second half of charge_calls, for groups of calls of which some carry a project, an end user, tags or budgets. It runs
-- under the locks of charge_calls, in statements of its own, so it sees what all groups before it have committed.
--
-- Adds the calls that are not among `known`, which were recorded before, to usage_subject_days and subject_months. A day of
-- a company has at most as many names of each kind as usage_subject_limit says; further ones are added to `(other)`.
-- subject_months is exact for every name.
--
-- Then reads what each budget that the calls were admitted under has spent, raises alerts for the thresholds that it has
-- reached, each once a month, and returns a row for each: `key_id` is null in the row of an account and that of the budget
-- here, and `month` is the first day of the month, the scope and the subject, with spaces between them.
create or replace function count_attributed(given_calls text, known uuid[]) returns table (
  account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint
) language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  most constant integer := coalesce((select per_day from usage_subject_limit), 1000);
begin
  with given as materialized (
    select distinct given.id from json_to_recordset(given_calls::json) as given (id uuid, end_user text, tags text[],
      project text)
    where (end_user is not null or tags is not null or project is not null) and given.id <> all (known)),
  counted as materialized (
    select company_id, key_id, alias, project, end_user, tags, (started_at at time zone 'utc')::date as day,
      (outcome = 'FAILED')::integer as failures,
      case when price_id is null then 0 else least(prompt_tokens, 1099511627776) end as prompt,
      case when price_id is null then 0 else least(cached_tokens, 1099511627776) end as cached,
      case when price_id is null then 0 else least(coalesce(cache_write_tokens, 0), 1099511627776) end as written,
      case when price_id is null then 0 else least(completion_tokens, 1099511627776) end as completion,
      charge_micro, coalesce(surcharge_micro, 0) as surcharge
    from given join calls using (id)
    where outcome <> 'REFUSED' and alias is not null and key_id is not null),
  named as materialized (
    select company_id, kind, day, subject, key_id, alias, count(*) as calls, sum(failures) as failures,
      sum(prompt) as prompt, sum(cached) as cached, sum(written) as written, sum(completion) as completion,
      sum(charge_micro) as charge, sum(surcharge) as surcharge
    from counted, lateral (
      select 'PROJECT' as kind, project as subject where project is not null
      union all select 'END_USER', end_user where end_user is not null
      union all select 'TAG', tag from unnest(tags) as tag) as carried
    group by company_id, kind, day, subject, key_id, alias),
  new_names as materialized (
    select name.company_id, name.kind, name.day, name.subject,
      row_number() over (partition by name.company_id, name.kind, name.day order by name.subject)
        + coalesce(subjects, 0) <= most as is_own
    from (select distinct company_id, kind, day, subject from named) as name
    left join usage_subject_counts as present using (company_id, kind, day)
    where not exists (select 1 from usage_subject_days as own where own.company_id = name.company_id
      and own.kind = name.kind and own.day = name.day and own.subject = name.subject)),
  counts as (
    insert into usage_subject_counts as present (company_id, kind, day, subjects)
    select company_id, kind, day, count(*) from new_names where is_own group by company_id, kind, day
    on conflict (company_id, kind, day) do update set subjects = present.subjects + excluded.subjects),
  days as (
    insert into usage_subject_days as present (company_id, kind, day, subject, key_id, alias, calls, failures,
      prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, charge_micro, surcharge_micro)
    select company_id, kind, day, case when is_own is false then '(other)' else subject end, key_id, alias, sum(calls),
      sum(failures), sum(prompt), sum(cached), sum(written), sum(completion), sum(charge), sum(surcharge)
    from named left join new_names using (company_id, kind, day, subject)
    group by 1, 2, 3, 4, 5, 6
    on conflict (company_id, kind, day, subject, key_id, alias) do update set calls = present.calls + excluded.calls,
      failures = present.failures + excluded.failures,
      prompt_tokens = present.prompt_tokens + excluded.prompt_tokens,
      cached_tokens = present.cached_tokens + excluded.cached_tokens,
      cache_write_tokens = present.cache_write_tokens + excluded.cache_write_tokens,
      completion_tokens = present.completion_tokens + excluded.completion_tokens,
      charge_micro = present.charge_micro + excluded.charge_micro,
      surcharge_micro = present.surcharge_micro + excluded.surcharge_micro)
  insert into subject_months as present (company_id, scope, month, subject, charge_micro)
  select company_id, kind, date_trunc('month', day)::date, subject, sum(charge)
  from named where kind <> 'TAG' and charge <> 0
  group by 1, 2, 3, 4
  on conflict (company_id, scope, month, subject) do update set charge_micro = present.charge_micro + excluded.charge_micro;

  if strpos(given_calls, '"budgets":') = 0 then
    return;
  end if;
  return query with
  carried as materialized (
    select distinct given.company, budget.id, budget.scope, budget.subject, budget."mostMicro" as most,
      date_trunc('month', to_timestamp(given.started / 1000::float8) at time zone 'utc')::date as month
    from json_to_recordset(given_calls::json) as given (company uuid, started bigint, budgets json),
      json_to_recordset(given.budgets) as budget (id uuid, scope text, subject text, "mostMicro" bigint)),
  spent as materialized (
    select carried.*, coalesce(case scope
      when 'COMPANY' then (select sum(charge_micro - returned_micro) from usage_days where company_id = company
        and key_id = '00000000-0000-0000-0000-000000000000' and day >= carried.month
        and day < carried.month + interval '1 month')
      when 'KEY' then key_spending(carried.subject::uuid, carried.month)
      else (select charge_micro - returned_micro from subject_months as own where own.company_id = company
        and own.scope = carried.scope and own.month = carried.month and own.subject = carried.subject)
      end, 0)::bigint as micro
    from carried),
  alerts as (
    insert into credit_alerts (company_id, kind, subject, threshold_percent, episode, spent_micro, limit_micro)
    select company, 'BUDGET', id::text, percent, to_char(month, 'YYYY-MM'), max(micro), max(most)
    from spent, unnest(coalesce((
      select case when is_on then coalesce(limit_percents, '{80,100}') else '{}' end from alert_settings as own
      where own.company_id = company), '{80,100}')) as threshold (percent)
    where micro * 100.0 >= most * percent::numeric
      and not exists (select 1 from credit_alerts as raised where raised.company_id = company and raised.kind = 'BUDGET'
        and raised.subject = spent.id::text and raised.threshold_percent = percent
        and raised.episode = to_char(month, 'YYYY-MM'))
    group by company, id, percent, month
    on conflict do nothing)
  select company, null::bigint, null::bigint, null::bigint, id,
    to_char(month, 'YYYY-MM-DD') || ' ' || scope || ' ' || subject, micro from spent;
end
$$;
