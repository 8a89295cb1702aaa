-- revision: 1
-- Owner: src/domain/credits
--
-- A part of charge_calls, for groups of calls of which some have keys with monthly spending limits. It runs under the locks of
-- charge_calls, in a statement of its own, so it sees what all groups before it have committed, of the keys that a key
-- was rotated from and to as well.
--
-- Raises alerts for the thresholds that the calls that are not among `known` have crossed, and returns a row for each month
-- of a key.
create or replace function limited_spending(given_calls text, known uuid[]) returns table (
  account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint
) language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query with
  -- A call may have been given twice.
  given as materialized (
    select id, max(spending_limit) as spending_limit
    from json_to_recordset(given_calls::json) as given (id uuid, key uuid, spending_limit bigint)
    where key is not null and id <> all (known) group by id),
  charged as materialized (
    select calls.key_id, calls.company_id, coalesce(payer_id, calls.company_id) as account,
      date_trunc('month', started_at at time zone 'utc')::date as month,
      coalesce((select rotation_root_id from api_keys where api_keys.id = calls.key_id), calls.key_id) as root,
      max(spending_limit) as spending_limit, sum(charge_micro)::bigint as charge
    from given join calls using (id) where charge_micro <> 0
    group by 1, 2, 3, 4, 5),
  spent as materialized (
    select charged.*, sum(charge) over (partition by root, month) as charge_of_all, key_spending(key_id, month) as after
    from charged),
  alerts as (
    insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
    select distinct on (root, month, percent) company_id, 'KEY_SPENDING', key_id::text, percent, to_char(month, 'YYYY-MM')
    from spent, unnest(coalesce((
      select case when is_on then limit_percents else '{}' end from alert_settings as own
      where own.company_id = spent.company_id), '{80,100}')) as threshold (percent)
    where spending_limit is not null and (after - charge_of_all) * 100.0 < spending_limit * percent::numeric
      and after * 100.0 >= spending_limit * percent::numeric
    order by root, month, percent, key_id
    on conflict do nothing)
  select account, null::bigint, null::bigint, credit_accounts.version, key_id, to_char(month, 'YYYY-MM-DD'), after
  from spent join credit_accounts on credit_accounts.id = account where spending_limit is not null;
end
$$;
