-- revision: 13
-- Owner: src/domain/calls
--
-- Does what charge_calls does, for one call, and records the response that it made; what is counted by name (count_attributed)
-- its caller does. Most groups are of one call, because calls gather only behind a commit that is under way. For them the plan of
-- charge_calls, which has more than eighty nodes, takes several times as long to set up as the work itself: a few short statements
-- take less than half the time.
--
-- The rules are those of charge_calls, in the same order: accounts are locked first; a call that is recorded already
-- changes nothing; a missing account or price violates a not-null constraint. A test compares both on many random calls.
create or replace function charge_call(given_call json, companies uuid[]) returns table (
  account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint
) language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  call record;
  account record;
  price record;
  -- As many tokens as are charged, and what of the prompt was read from the provider's cache and written to it.
  due_prompt bigint;
  due_completion bigint;
  due_cached bigint;
  due_written bigint;
  begun timestamptz;
  day date;
  is_charged boolean;
  charge bigint;
  surcharge bigint;
  -- What is due of the surcharge.
  due_surcharge bigint;
  share bigint;
  factor bigint;
  completion_factor bigint;
  hour_factor bigint;
  spent bigint;
  note text;
  new_seal bytea;
begin
  select * into call from json_to_record(given_call) as given (id uuid, company uuid, key uuid, request text,
    endpoint text, alias text, model text, target text, outcome text, reason text, status integer, streamed boolean,
    prompt bigint, cached bigint, completion bigint, estimated bigint, started bigint, first_byte integer,
    duration integer, spending_limit bigint, idempotency text, prompt_bound bigint, completion_bound bigint,
    cache_write bigint, payer uuid, surcharge bigint, tool_uses jsonb, end_user text, tags text[], project text,
    tries integer, share bigint, cost bigint, own_key boolean, cache_hit boolean, served_by text, mcp boolean, factor bigint,
    tier text, hour_write bigint, hour_factor bigint, response json, completion_factor bigint,
    unpriced text[]);
  share := case when call.share is not null then least(greatest(call.share, 0), 1000000) end;
  factor := case when call.factor is not null then least(greatest(call.factor, 0), 100000000) end;
  if call.payer is not null then
    perform 1 from credit_accounts where id = any (companies) order by id for update;
  end if;
  select id, balance_micro, line_micro, version, topped_up_micro, topped_up_version, last_seal,
    (select balance_thresholds_micro from alert_settings where company_id = present.id) as thresholds_micro into account
  from credit_accounts as present where id = coalesce(call.payer, call.company) for update;
  begun := to_timestamp(call.started / 1000::float8);
  day := (begun at time zone 'utc')::date;
  is_charged := call.outcome = 'SUCCEEDED' and call.prompt is not null and call.alias is not null;
  if is_charged then
    select * into price from model_prices where alias = call.model and in_force_from <= begun
    order by in_force_from desc limit 1;
    if not found then
      select * into price from model_prices where alias = call.model order by in_force_from limit 1;
    end if;
    due_prompt := least(call.prompt, coalesce(call.prompt_bound, 1000000000));
    due_completion := least(call.completion, coalesce(call.completion_bound, 1000000000));
    due_cached := least(call.cached, due_prompt);
    due_written := greatest(0, least(coalesce(call.cache_write, 0), due_prompt - due_cached));
    surcharge := case when call.surcharge > 0 then least(call.surcharge, 1000000000000) end;
    -- Not one expression of three cases: each expression that is reached is prepared in every transaction, with all its cases.
    if share is not null or factor is not null or call.hour_write > 0 then
      completion_factor := case when factor is not null and call.completion_factor is not null
        then least(greatest(call.completion_factor, 0), 100000000) end;
      hour_factor := case when call.hour_write > 0 then least(greatest(call.hour_factor, 1000000), 100000000) end;
      charge := div((((due_prompt - due_cached - due_written) * price.prompt_micro::numeric
        + due_cached * price.cached_micro::numeric
        + due_written * coalesce(price.cache_write_micro, price.prompt_micro)::numeric
        + case when hour_factor is null then 0 else least(call.hour_write, due_written)
          * div(coalesce(price.cache_write_micro, price.prompt_micro) * (hour_factor - 1000000)::numeric + 999999, 1000000) end)
          * coalesce(factor, 1000000)
        + due_completion * price.completion_micro::numeric * coalesce(completion_factor, factor, 1000000)
        + coalesce(surcharge, 0) * 1000000000000::numeric) * coalesce(share, 1000000)
        + 999999999999999999, 1000000000000000000)::bigint;
    elsif due_prompt < 4000000 and due_completion < 4000000 then
      charge := ((due_prompt - due_cached - due_written) * price.prompt_micro + due_cached * price.cached_micro
        + due_written * coalesce(price.cache_write_micro, price.prompt_micro)
        + due_completion * price.completion_micro + 999999) / 1000000 + coalesce(surcharge, 0);
    else
      charge := div((due_prompt - due_cached - due_written) * price.prompt_micro::numeric
        + due_cached * price.cached_micro::numeric
        + due_written * coalesce(price.cache_write_micro, price.prompt_micro)::numeric
        + due_completion * price.completion_micro::numeric + 999999, 1000000)::bigint + coalesce(surcharge, 0);
    end if;
  else
    -- A record that was not assigned has no fields.
    select null::uuid as id into price;
    charge := 0;
  end if;
  due_surcharge := case when share is null then surcharge else nullif((surcharge * share + 999999) / 1000000, 0) end;

  insert into calls (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason, http_status,
    streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, first_byte_ms, duration_ms,
    charge_micro, price_id, idempotency_sha256, cache_write_tokens, payer_id, surcharge_micro, tool_uses, end_user, tags,
    project, tries, charge_share_millionths, cost_micro, own_key, cache_hit, served_by, over_mcp, price_factor_millionths,
    tier, hour_write_tokens, hour_write_factor_millionths, completion_factor_millionths, unpriced)
  values (call.id, call.company, call.key, call.request, call.endpoint, call.alias, call.target, call.outcome,
    call.reason, call.status, call.streamed, call.prompt, call.cached, call.completion, call.estimated, begun,
    call.first_byte, call.duration, charge, price.id, sha256(convert_to(call.idempotency, 'UTF8')), call.cache_write,
    call.payer, due_surcharge, call.tool_uses, call.end_user, call.tags, call.project, call.tries, share, call.cost,
    call.own_key, call.cache_hit, call.served_by, call.mcp, factor, call.tier,
    call.hour_write, hour_factor, completion_factor, call.unpriced)
  -- The primary key is the only unique index. Named, it would be looked up in the catalogue for the partition, each time.
  on conflict do nothing;
  if not found then
    return;
  end if;

  if call.response is not null then
    insert into stored_responses (id, company_id, key_id, alias, target_id, item_ids, charge_call_id, sealed_content,
      content_bytes, created_at, expires_at)
    select made.id, call.company, call.key, call.alias, made.target, items, charge_call, decode(sealed, 'base64'), bytes,
      to_timestamp(created / 1000::float8), to_timestamp(expires / 1000::float8)
    from json_to_record(call.response) as made (id text, target text, items text[], charge_call uuid, sealed text, bytes integer,
      created bigint, expires bigint, max_bytes bigint)
    where bytes = 0 or bytes + (select coalesce(sum(content_bytes), 0) from stored_responses as stored
      where stored.company_id = call.company and content_bytes > 0) <= max_bytes
    on conflict (id) do nothing;
  end if;
  if call.outcome <> 'REFUSED' and call.alias is not null then
    insert into usage_days as present (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
      cache_write_tokens, completion_tokens, charge_micro, surcharge_micro)
    select call.company, counted.key, day, call.alias, 1, (call.outcome = 'FAILED')::integer,
      case when is_charged then least(call.prompt, 1099511627776) else 0 end,
      case when is_charged then least(call.cached, 1099511627776) else 0 end,
      case when is_charged then least(coalesce(call.cache_write, 0), 1099511627776) else 0 end,
      case when is_charged then least(call.completion, 1099511627776) else 0 end, charge, coalesce(due_surcharge, 0)
    from (values ('00000000-0000-0000-0000-000000000000'::uuid), (call.key)) as counted (key)
    where counted.key is not null
    on conflict (company_id, key_id, day, alias) do update set calls = present.calls + 1,
      failures = present.failures + excluded.failures,
      prompt_tokens = present.prompt_tokens + excluded.prompt_tokens,
      cached_tokens = present.cached_tokens + excluded.cached_tokens,
      cache_write_tokens = present.cache_write_tokens + excluded.cache_write_tokens,
      completion_tokens = present.completion_tokens + excluded.completion_tokens,
      charge_micro = present.charge_micro + excluded.charge_micro,
      surcharge_micro = present.surcharge_micro + excluded.surcharge_micro;
  end if;
  if call.cost is not null and call.outcome <> 'REFUSED' and call.alias is not null then
    insert into cost_days as present (company_id, day, alias, target_id, calls, charge_micro, cost_micro)
    values (call.company, day, coalesce(call.served_by, call.alias), coalesce(call.target, ''), 1, charge, call.cost)
    on conflict (company_id, day, alias, target_id) do update set calls = present.calls + 1,
      charge_micro = present.charge_micro + excluded.charge_micro,
      cost_micro = present.cost_micro + excluded.cost_micro;
  end if;
  if is_charged and (call.prompt > due_prompt or call.completion > due_completion) then
    insert into withheld_usage (call_id, company_id, key_id, request_id, alias, day, prompt_tokens, completion_tokens,
      prompt_bound, completion_bound, charged_micro, excess_micro, payer_id)
    select call.id, call.company, call.key, call.request, call.alias, day, call.prompt, call.completion,
      coalesce(call.prompt_bound, 1000000000), coalesce(call.completion_bound, 1000000000), charge, excess_micro, call.payer
    from (select div((((call.prompt - cached - written) * price.prompt_micro::numeric
        + cached * price.cached_micro::numeric
        + written * coalesce(price.cache_write_micro, price.prompt_micro)::numeric
        + case when hour_factor is null then 0 else least(call.hour_write, written)
          * div(coalesce(price.cache_write_micro, price.prompt_micro) * (hour_factor - 1000000)::numeric + 999999, 1000000) end)
          * coalesce(factor, 1000000)
        + call.completion * price.completion_micro::numeric * coalesce(completion_factor, factor, 1000000)
        + coalesce(surcharge, 0) * 1000000000000::numeric)
        * coalesce(share, 1000000) + 999999999999999999, 1000000000000000000) - charge as excess_micro
      from (select least(call.cached, call.prompt) as cached,
        greatest(0, least(coalesce(call.cache_write, 0), call.prompt - least(call.cached, call.prompt))) as written) as parts
      ) as excess
    where excess_micro > 0
    on conflict do nothing;
  end if;
  if charge = 0 then
    return;
  end if;

  if due_surcharge is not null then
    note := left('with hosted tools' || coalesce(': ' || (
      select string_agg(name || ' ' || uses, ', ' order by name) from jsonb_each_text(call.tool_uses) as used (name, uses)),
      ''), 500);
  end if;
  -- As ledger_seal and ledger_entry_text write it.
  new_seal := sha256(coalesce(account.last_seal, ''::bytea) || convert_to(account.id || ' ' || account.version + 1
    || chr(10) || -charge || ' ' || (extract(epoch from now()) * 1000000)::bigint || ' USAGE usage 4:call 36:' || call.id
    || coalesce(' ' || length(note) || ':' || note, '') || chr(10), 'UTF8'));
  insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind,
    source_id, reason, seal_version, seal)
  values (coalesce(call.payer, call.company), account.version + 1, 'USAGE', -charge, account.balance_micro - charge,
    'usage', 'call', call.id::text, note, coalesce(account.version, 0) + 1, new_seal);
  update credit_accounts set balance_micro = account.balance_micro - charge, version = account.version + 1,
    last_seal = new_seal, updated_at = now() where id = account.id;
  -- account_alerts reads the settings and compares every threshold: it is asked only where the charge can cross one. Thresholds
  -- are whole percentages, or micro-credits of the company's own.
  if (case
    when account.line_micro > 0 then div(account.balance_micro * -100.0, account.line_micro)
      <> div((account.balance_micro - charge) * -100.0, account.line_micro)
    when account.line_micro = 0 and account.topped_up_micro > 0 then case
      when account.thresholds_micro is not null then account.balance_micro - charge <= any (account.thresholds_micro)
      else div(account.balance_micro * 100.0 + account.topped_up_micro - 1, account.topped_up_micro)
        <> div((account.balance_micro - charge) * 100.0 + account.topped_up_micro - 1, account.topped_up_micro) end end) then
    insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
    select account.id, alert.kind, alert.subject, alert.threshold_percent, alert.episode
    from account_alerts(account.id, account.balance_micro, account.balance_micro - charge, account.line_micro,
      account.topped_up_micro, account.topped_up_version, to_char(day, 'YYYY-MM')) as alert
    on conflict do nothing;
  end if;
  return query select account.id, account.balance_micro - charge, account.line_micro, account.version + 1, null::uuid,
    null::text, null::bigint;

  if call.key is null then
    return;
  end if;
  insert into key_months as present (key_id, month, charge_micro)
  values (call.key, date_trunc('month', day)::date, charge)
  on conflict (key_id, month) do update set charge_micro = present.charge_micro + excluded.charge_micro;
  if call.spending_limit is not null then
    spent := key_spending(call.key, date_trunc('month', day)::date);
    insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
    select call.company, 'KEY_SPENDING', call.key::text, percent, to_char(day, 'YYYY-MM')
    from unnest(coalesce((
      select case when is_on then limit_percents else '{}' end from alert_settings as own
      where own.company_id = call.company), '{80,100}')) as threshold (percent)
    where (spent - charge) * 100.0 < call.spending_limit * percent::numeric
      and spent * 100.0 >= call.spending_limit * percent::numeric
    on conflict do nothing;
    return query select account.id, null::bigint, null::bigint, account.version + 1, call.key,
      to_char(date_trunc('month', day), 'YYYY-MM-DD'), spent;
  end if;
end
$$;
