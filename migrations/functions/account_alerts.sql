-- revision: 1
-- Owner: src/domain/credits
--
-- Returns the alert thresholds that a change of a balance crosses downwards: above the threshold before, at or below
-- it after.
--   LOW_BALANCE, for prepaid companies, once per top-up. With thresholds of the company's own, each is identified by
--     its micro-credits (the alert's subject) and also given as a percentage of the last top-up, rounded down.
--     Otherwise 20, 5 and 0 percent of the last top-up.
--   CREDIT_LINE, for companies with a limited credit line, once per month: the company's own percentages, otherwise
--     80 and 100 percent.
--
-- charge_calls runs this for every charge, charge_call where a threshold can be crossed: another kind of threshold, or a percentage
-- below 1, needs a change there too. The settings are read as one row by primary key; the `limit 1` prevents the planner from
-- joining the whole table. Migration 0006 created a function of the same name without the company parameter, for
-- processes from before migration 0020. It is not maintained here.
create or replace function account_alerts(
  company uuid, before bigint, after bigint, line bigint, topped_up bigint, topped_up_version bigint, month text
) returns table (kind text, subject text, threshold_percent integer, episode text) language sql stable as $$
  select passed.kind, passed.subject, passed.percent,
    case passed.kind when 'LOW_BALANCE' then topped_up_version::text else month end
  from (select 1) as always
  left join lateral (
    select is_on, balance_thresholds_micro, limit_percents from alert_settings where company_id = company limit 1
  ) as own on true
  cross join lateral (
    select 'LOW_BALANCE' as kind, '' as subject, percent from (values (20), (5), (0)) as share (percent)
    where own.balance_thresholds_micro is null and line = 0 and topped_up > 0
      and before * 100.0 > topped_up * percent::numeric and after * 100.0 <= topped_up * percent::numeric
    union all
    select 'LOW_BALANCE', threshold::text, least(div(threshold * 100.0, topped_up), 100)::integer
    from unnest(own.balance_thresholds_micro) as own_balance (threshold)
    where line = 0 and topped_up > 0 and before > threshold and after <= threshold
    union all
    select 'CREDIT_LINE', '', percent from unnest(coalesce(own.limit_percents, '{80,100}')) as share (percent)
    where line > 0
      and before * -100.0 < line * percent::numeric and after * -100.0 >= line * percent::numeric
  ) as passed
  where before > after and coalesce(own.is_on, true)
$$;
