-- revision: 21
-- Owner: src/domain/calls
--
-- Records finished calls and charges those that are billable, all of them or none. A call whose id is already
-- recorded is skipped, so a group can be sent any number of times, by any number of processes.
--
-- Billable are SUCCEEDED calls with token counts. The price is the one in force when the call began:
--   ceil(((prompt - cached - written) * prompt price + cached * cached price + written * cache write price
--     + completion * completion price) / 1,000,000)
-- micro-credits, where `written` are the tokens that the provider wrote to its cache, rounded up once per call. A call that began before its alias's first price, by the clock of its gateway,
-- has that first price. A billable call that used hosted tools costs its surcharge besides, at most 10^12 micro-credits.
-- `model` names the alias whose price it is: of a call that another alias served, that one.
--
-- A call with a `share`, in millionths, is charged for that part of its price and its surcharge: both are summed exactly,
-- multiplied and rounded up once. Without one it is charged for all of it; with 0 it is free. What is withheld has the same share.
--
-- The tokens of a call with a `factor`, in millionths, cost that many times their price: the tier of the provider that served it costs
-- more or less than its usual one. With a `completion_factor` besides, that one applies to the completion. A surcharge has no factor.
-- All of it is rounded up once.
--
-- Of the written tokens, `hour_write` cost `hour_factor`, in millionths, times the cache write price, which is rounded up to a whole
-- price for a million tokens and is never less than the cache write price itself.
--
-- A call whose provider's cost is known (`cost`) is added to cost_days.
--
-- A call is charged for at most as many tokens as it can use: prompt_bound and completion_bound, which its gateway computes
-- from the alias; 1,000,000,000 each where it gives none. The tokens are recorded as the provider reported them, and what
-- those beyond the bounds would have cost goes to withheld_usage. Sums by day take at most 2^40 tokens of a call, so that
-- no number of absurd reports overflows them.
--
-- A call is charged to its company's account, or to that of the user `payer`, who then is in `companies` beside the company:
-- both are locked, so calls of a key wait for each other whoever pays.
--
-- Accounts are locked first, in the order of their ids, so groups with the same companies, keys or calls wait for
-- each other and cannot deadlock. A company without an account or an alias without a price violates a not-null
-- constraint: the whole group is refused, and no call becomes free of charge.
--
-- given_calls is a JSON array. For plain calls (without idempotency key, limit, budget or attribution) that have values in common, it may
-- have two lines: an object with what all calls have in common, and the array without these values. Reading a call's JSON is a third
-- of the cost of a charge on the embedded engine, and most of the text is the same in every call.
--
-- A group of one call goes to charge_call, which does the same by short statements; a change here is made there too.
--
-- Where the key of a call has a monthly spending limit, limited_spending reads afterwards what it has spent.
--
-- Where a call carries a project, an end user, tags or budgets, count_attributed adds it to their sums afterwards.
--
-- It is a function because each connection plans it once: on the embedded engine, planning the statement takes longer
-- than running it for a single call. It returns one row for each account that changed, one for each month of a key that has
-- a spending limit, and one for each budget.
create or replace function charge_calls(given_calls text, companies uuid[]) returns table (
  account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  -- What ledger_entry_text writes between the amount of a call's transaction and the id of the call.
  entry_text constant text :=
    ' ' || (extract(epoch from now()) * 1000000)::bigint || ' USAGE usage 4:call 36:';
  -- The place of the line feed behind what all calls have in common; JSON has none inside. 0 where each call has all of its values.
  common_end constant integer := case when left(given_calls, 1) = '{' then strpos(given_calls, chr(10)) else 0 end;
  common_values constant json := case when common_end > 0 then left(given_calls, common_end - 1) else '{}' end;
  calls_json constant json := case when common_end > 0 then substr(given_calls, common_end + 1) else given_calls end;
  -- The names may also be in a text of a call: then count_attributed finds nothing to do.
  is_attributed constant boolean := common_end = 0 and (strpos(given_calls, '"end_user":') > 0
    or strpos(given_calls, '"tags":') > 0 or strpos(given_calls, '"project":') > 0 or strpos(given_calls, '"budgets":') > 0);
  is_limited constant boolean := common_end = 0 and strpos(given_calls, '"spending_limit":') > 0;
  -- A text of this size has a few calls at most: counting them costs nothing. The characters of a long one would have to be counted.
  is_single constant boolean := common_end = 0 and octet_length(given_calls) < 4000
    and json_array_length(calls_json) = 1;
  known uuid[];
begin
  if is_attributed or is_limited and not is_single then
    -- Locked before it is read which of the calls are recorded already: only their own group can record them meanwhile.
    perform 1 from credit_accounts where id = any (companies) order by id for update;
    known := array(select calls.id from json_to_recordset(calls_json) as given (id uuid) join calls using (id));
  end if;
  if is_single then
    return query select * from charge_call(calls_json -> 0, companies);
    if is_attributed then
      return query select * from count_attributed(given_calls, known);
    end if;
    return;
  end if;
  return query with
  given as materialized (
    select *, to_timestamp(started / 1000::float8) as begun,
      outcome = 'SUCCEEDED' and prompt is not null and alias is not null as is_charged,
      least(prompt, coalesce(prompt_bound, 1000000000)) as due_prompt,
      least(completion, coalesce(completion_bound, 1000000000)) as due_completion,
      -- What of the prompt was read from the provider's cache and written to it, as far as it is charged.
      least(cached, prompt, coalesce(prompt_bound, 1000000000)) as due_cached,
      greatest(0, least(coalesce(cache_write, 0), least(prompt, coalesce(prompt_bound, 1000000000))
        - least(cached, prompt, coalesce(prompt_bound, 1000000000)))) as due_written,
      case when surcharge > 0 and outcome = 'SUCCEEDED' and prompt is not null and alias is not null
        then least(surcharge, 1000000000000) end as due_surcharge,
      case when share is not null then least(greatest(share, 0), 1000000) end as due_share,
      case when factor is not null then least(greatest(factor, 0), 100000000) end as due_factor,
      case when completion_factor is not null and factor is not null and outcome = 'SUCCEEDED' and prompt is not null
        and alias is not null then least(greatest(completion_factor, 0), 100000000) end as due_completion_factor,
      case when hour_write > 0 and outcome = 'SUCCEEDED' and prompt is not null and alias is not null
        then least(greatest(hour_factor, 1000000), 100000000) end as due_hour_factor
    from (
      select own.id, coalesce(own.company, common.company) as company, coalesce(own.key, common.key) as key, request,
        coalesce(own.endpoint, common.endpoint) as endpoint, coalesce(own.alias, common.alias) as alias,
        coalesce(own.model, common.model) as model, coalesce(own.target, common.target) as target,
        coalesce(own.outcome, common.outcome) as outcome, reason, coalesce(own.status, common.status) as status,
        coalesce(own.streamed, common.streamed) as streamed, prompt, cached, completion, estimated, started, first_byte,
        duration, idempotency, coalesce(own.prompt_bound, common.prompt_bound) as prompt_bound,
        coalesce(own.completion_bound, common.completion_bound) as completion_bound, cache_write, payer, surcharge,
        tool_uses, end_user, tags, project, tries, share, cost, own_key, cache_hit, served_by, mcp, factor, tier,
        hour_write, hour_factor, completion_factor, unpriced
      from json_to_recordset(calls_json) as own (id uuid, company uuid, key uuid, request text, endpoint text,
          alias text, model text, target text, outcome text, reason text, status integer, streamed boolean,
          prompt bigint, cached bigint, completion bigint, estimated bigint, started bigint, first_byte integer,
          duration integer, idempotency text, prompt_bound bigint, completion_bound bigint, cache_write bigint,
          payer uuid, surcharge bigint, tool_uses jsonb, end_user text, tags text[], project text, tries integer,
          share bigint, cost bigint, own_key boolean, cache_hit boolean, served_by text, mcp boolean, factor bigint,
          tier text, hour_write bigint, hour_factor bigint, completion_factor bigint,
          unpriced text[]),
        json_to_record(common_values) as common (company uuid, key uuid, endpoint text, alias text, model text,
          target text, outcome text, status integer, streamed boolean, prompt_bound bigint, completion_bound bigint))
      as given),
  -- After the calls are read: who waits for these accounts need not wait for that.
  locked as materialized (
    select id, balance_micro, version, last_seal from credit_accounts
    where id = any (companies) and (select count(*) from given) > 0 order by id for update),
  -- Only those that were in force since the first of these calls began: mostly one an alias, however many there were.
  prices as materialized (
    select * from (select *, lead(in_force_from) over of_alias as until, row_number() over of_alias = 1 as is_first
      from model_prices window of_alias as (partition by alias order by in_force_from)) as version
    where until is null or until > (select min(begun) from given)),
  recorded as (
    insert into calls (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason, http_status,
      streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, first_byte_ms,
      duration_ms, charge_micro, price_id, idempotency_sha256, cache_write_tokens, payer_id, surcharge_micro, tool_uses,
      end_user, tags, project, tries, charge_share_millionths, cost_micro, own_key, cache_hit, served_by, over_mcp,
      price_factor_millionths, tier, hour_write_tokens, hour_write_factor_millionths, completion_factor_millionths,
      unpriced)
    select given.id, company, key, request, endpoint, given.alias, target, outcome, reason, status, streamed, prompt,
      cached, completion, estimated, begun, first_byte, duration,
      case when not is_charged then 0
        when due_share is not null or due_factor is not null or due_hour_factor is not null then
          div((((due_prompt - due_cached - due_written) * prompt_micro::numeric
            + due_cached * cached_micro::numeric
            + due_written * coalesce(cache_write_micro, prompt_micro)::numeric
            + case when due_hour_factor is null then 0 else least(hour_write, due_written)
              * div(coalesce(cache_write_micro, prompt_micro) * (due_hour_factor - 1000000)::numeric + 999999, 1000000) end)
              * coalesce(due_factor, 1000000)
            + due_completion * completion_micro::numeric * coalesce(due_completion_factor, due_factor, 1000000)
            + coalesce(due_surcharge, 0) * 1000000000000::numeric) * coalesce(due_share, 1000000)
            + 999999999999999999, 1000000000000000000)::bigint
        -- As far as 64 bits hold the products, for the highest price is 10^12. Numeric takes twice as long.
        when due_prompt < 4000000 and due_completion < 4000000 then
          ((due_prompt - due_cached - due_written) * prompt_micro + due_cached * cached_micro
            + due_written * coalesce(cache_write_micro, prompt_micro) + due_completion * completion_micro + 999999)
            / 1000000 + coalesce(due_surcharge, 0)
        else div((due_prompt - due_cached - due_written) * prompt_micro::numeric
            + due_cached * cached_micro::numeric
            + due_written * coalesce(cache_write_micro, prompt_micro)::numeric
            + due_completion * completion_micro::numeric + 999999, 1000000)::bigint + coalesce(due_surcharge, 0) end,
      price.id, sha256(convert_to(idempotency, 'UTF8')), cache_write, payer,
      case when due_share is null then due_surcharge else nullif((due_surcharge * due_share + 999999) / 1000000, 0) end,
      tool_uses, end_user, tags, project, tries, due_share, cost, own_key, cache_hit, served_by, mcp, due_factor, tier,
      hour_write, due_hour_factor, due_completion_factor, unpriced
    from given left join prices as price on is_charged and price.alias = given.model
      and (in_force_from <= begun or is_first)
      and (until is null or begun < until)
    where (select count(*) from locked) >= 0
    on conflict (id) do nothing
    returning id, company_id, key_id, alias, outcome, prompt_tokens, cached_tokens, cache_write_tokens,
      completion_tokens, charge_micro, price_id, payer_id, coalesce(payer_id, company_id) as account_id,
      surcharge_micro, target_id, served_by, cost_micro,
      case when surcharge_micro is not null then left('with hosted tools' || coalesce(': ' || (
        select string_agg(name || ' ' || uses, ', ' order by name) from jsonb_each_text(tool_uses) as used (name, uses)),
        ''), 500) end as note,
      (started_at at time zone 'utc')::date as day),
  withheld as (
    insert into withheld_usage (call_id, company_id, key_id, request_id, alias, day, prompt_tokens, completion_tokens,
      prompt_bound, completion_bound, charged_micro, excess_micro, payer_id)
    select * from (
      select distinct on (over.id) over.id, company_id, key_id, request, recorded.alias, day, prompt, completion,
        coalesce(prompt_bound, 1000000000), coalesce(completion_bound, 1000000000), charge_micro,
        div((((prompt - least(cached, prompt) - all_written) * prompt_micro::numeric
          + least(cached, prompt) * cached_micro::numeric
          + all_written * coalesce(cache_write_micro, prompt_micro)::numeric
          + case when due_hour_factor is null then 0 else least(hour_write, all_written)
            * div(coalesce(cache_write_micro, prompt_micro) * (due_hour_factor - 1000000)::numeric + 999999, 1000000) end)
            * coalesce(due_factor, 1000000)
          + completion * completion_micro::numeric * coalesce(due_completion_factor, due_factor, 1000000)
          + coalesce(due_surcharge, 0) * 1000000000000::numeric)
          * coalesce(due_share, 1000000) + 999999999999999999, 1000000000000000000) - charge_micro as excess_micro,
        payer_id
      from (select *, greatest(0, least(coalesce(cache_write, 0), prompt - least(cached, prompt))) as all_written
        from given) as over join recorded using (id) join prices as price on price.id = price_id
      where is_charged and (prompt > due_prompt or completion > due_completion)) as excess
    where excess_micro > 0
    on conflict do nothing),
  -- What is posted on one account has one seal.
  charged as materialized (
    select account_id, locked.id, version, count(*) as postings, sum(charge_micro)::bigint as charge, max(day) as day,
      ledger_seal(last_seal, account_id, version + count(*), string_agg((-charge_micro)::text || entry_text
        || recorded.id::text || coalesce(' ' || length(note) || ':' || note, '') || chr(10), '' order by recorded.id)) as seal
    from recorded left join locked on locked.id = account_id
    where charge_micro <> 0 group by account_id, locked.id, version, last_seal),
  posted as (
    insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind,
      source_id, reason, seal_version, seal)
    select account_id, locked.version + row_number() over of_account, 'USAGE', -charge_micro,
      locked.balance_micro - sum(charge_micro) over of_account, 'usage', 'call', recorded.id::text, note,
      coalesce(charged.version, 0) + postings, case when row_number() over of_account = postings then seal end
    from recorded join charged using (account_id) left join locked on locked.id = account_id
    where charge_micro <> 0
    window of_account as (partition by account_id order by recorded.id
      rows between unbounded preceding and current row)),
  levels as (
    update credit_accounts as account set balance_micro = account.balance_micro - charge,
      version = account.version + postings, last_seal = seal, updated_at = now()
    from charged where account.id = charged.account_id
    returning account.id, account.balance_micro + charge as before, account.balance_micro as after,
      account.line_micro as line, account.version, account.topped_up_micro as topped_up, account.topped_up_version,
      to_char(day, 'YYYY-MM') as month),
  days as (
    insert into usage_days as present (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
      cache_write_tokens, completion_tokens, charge_micro, surcharge_micro)
    select company_id, coalesce(key_id, '00000000-0000-0000-0000-000000000000'), day, alias, count(*),
      count(*) filter (where outcome = 'FAILED'),
      coalesce(sum(least(prompt_tokens, 1099511627776)) filter (where price_id is not null), 0),
      coalesce(sum(least(cached_tokens, 1099511627776)) filter (where price_id is not null), 0),
      coalesce(sum(least(coalesce(cache_write_tokens, 0), 1099511627776)) filter (where price_id is not null), 0),
      coalesce(sum(least(completion_tokens, 1099511627776)) filter (where price_id is not null), 0), sum(charge_micro),
      coalesce(sum(surcharge_micro), 0)
    from recorded
    where outcome <> 'REFUSED' and alias is not null
    group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))
    having grouping(key_id) = 1 or key_id is not null
    -- Late calls reopen sums of all companies, by day: two groups that did so in different orders would wait for each other.
    order by day
    on conflict (company_id, key_id, day, alias) do update set calls = present.calls + excluded.calls,
      failures = present.failures + excluded.failures,
      prompt_tokens = present.prompt_tokens + excluded.prompt_tokens,
      cached_tokens = present.cached_tokens + excluded.cached_tokens,
      cache_write_tokens = present.cache_write_tokens + excluded.cache_write_tokens,
      completion_tokens = present.completion_tokens + excluded.completion_tokens,
      charge_micro = present.charge_micro + excluded.charge_micro,
      surcharge_micro = present.surcharge_micro + excluded.surcharge_micro),
  costs as (
    insert into cost_days as present (company_id, day, alias, target_id, calls, charge_micro, cost_micro)
    select company_id, day, coalesce(served_by, alias), coalesce(target_id, ''), count(*), sum(charge_micro),
      sum(cost_micro)
    from recorded where cost_micro is not null and outcome <> 'REFUSED' and alias is not null
    group by 1, 2, 3, 4
    on conflict (company_id, day, alias, target_id) do update set calls = present.calls + excluded.calls,
      charge_micro = present.charge_micro + excluded.charge_micro,
      cost_micro = present.cost_micro + excluded.cost_micro),
  months as (
    insert into key_months as present (key_id, month, charge_micro)
    select recorded.key_id, date_trunc('month', day)::date, sum(charge_micro)::bigint from recorded
    where recorded.key_id is not null and charge_micro <> 0
    group by 1, 2
    on conflict (key_id, month) do update set charge_micro = present.charge_micro + excluded.charge_micro),
  alerts as (
    insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
    select id, alert.kind, alert.subject, alert.threshold_percent, alert.episode
    from levels, account_alerts(id, before, after, line, topped_up, topped_up_version, month) as alert
    on conflict do nothing)
  select id, after, line, version, null::uuid, null::text, null::bigint from levels;
  if is_limited then
    return query select * from limited_spending(given_calls, known);
  end if;
  if is_attributed then
    return query select * from count_attributed(given_calls, known);
  end if;
end
$$;
