-- Credits: what accounts hold, every change of it, what models cost, and what was used. Amounts are micro-credits.

-- Rows that every group of calls changes leave room in their pages: the new version then lies beside the old one,
-- and no index has to learn of it.
create table credit_accounts (
  -- The company's or the user's own id.
  id uuid primary key,
  owner text not null check (owner in ('COMPANY', 'USER')),
  -- Always the sum of the account's transactions; kept for speed, proved by `turnpike audit`.
  balance_micro bigint not null default 0,
  -- Grows with every transaction and every change of the line: of two balances the one with the higher is newer.
  version bigint not null default 0,
  -- How far below zero calls are still admitted: 0 where prepaid, null for no end.
  line_micro bigint default 0 check (line_micro >= 0),
  -- The balance right after the last transaction that added to it, and that one's version: low-balance alerts are
  -- shares of it, each at most once a top-up.
  topped_up_micro bigint not null default 0,
  topped_up_version bigint not null default 0,
  updated_at timestamptz not null default now()
) with (fillfactor = 50);

insert into credit_accounts (id, owner, line_micro)
select id, 'COMPANY', case billing_mode when 'PREPAID' then 0 else credit_limit_micro end from companies;

-- By the database itself: a company without an account could not be charged.
create function open_credit_account() returns trigger language plpgsql as $$
begin
  insert into credit_accounts (id, owner, line_micro)
  values (new.id, 'COMPANY', case new.billing_mode when 'PREPAID' then 0 else new.credit_limit_micro end);
  return null;
end
$$;
create trigger open_credit_account after insert on companies
  for each row execute function open_credit_account();

-- Append-only. A row is both sides of one transfer: `amount_micro` to the account, as much with the other sign to
-- the contra account, which has no row of its own that every commit would have to lock.
create table credit_transactions (
  -- Not declared as a reference: accounts are never deleted, and a check for each row would be paid on every call.
  account_id uuid not null,
  -- The account's version that this transaction made.
  version bigint not null,
  type text not null check (type in
    ('PACK_PURCHASE', 'REFUND', 'USAGE', 'SUBSCRIPTION_GRANT', 'INVOICE_PAYMENT', 'ADJUSTMENT', 'EXPIRY')),
  amount_micro bigint not null check (amount_micro <> 0),
  balance_after_micro bigint not null,
  contra text not null check (contra in ('sales', 'usage', 'grants', 'receivables', 'adjustments', 'expired')),
  -- What it is posted for. The second posting of a source is none. Compared byte by byte: by the rules of a language
  -- every posting would take a fifth longer.
  source_kind text collate "C" not null check (char_length(source_kind) between 1 and 40),
  source_id text collate "C" not null check (char_length(source_id) between 1 and 200),
  reason text check (char_length(reason) <= 500),
  created_at timestamptz not null default now(),
  primary key (account_id, version),
  unique (source_kind, source_id)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end
$$;
create trigger credit_transactions_append_only before update or delete or truncate on credit_transactions
  for each statement execute function refuse_change();

-- Both sides of every transfer, for sums over all accounts.
create view credit_entries as
  select account_id::text as account, amount_micro, type, source_kind, source_id, created_at from credit_transactions
  union all
  select contra, -amount_micro, type, source_kind, source_id, created_at from credit_transactions;

-- What a million tokens cost, by version: a call is priced by the one in force when it began.
create table model_prices (
  id uuid primary key,
  alias text not null check (alias in
    ('chat-premium', 'chat-default', 'chat-cheap', 'extract-default', 'extract-fast', 'embed-default')),
  prompt_micro bigint not null check (prompt_micro between 0 and 1000000000000),
  cached_micro bigint not null check (cached_micro between 0 and 1000000000000),
  completion_micro bigint not null check (completion_micro between 0 and 1000000000000),
  in_force_from timestamptz not null,
  created_at timestamptz not null default now(),
  unique (alias, in_force_from)
);
create trigger model_prices_append_only before update or delete or truncate on model_prices
  for each statement execute function refuse_change();
create trigger model_prices_changed after insert on model_prices
  for each statement execute function model_targets_changed();

insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from) values
  ('00000000-0000-8000-8000-000000000001', 'chat-premium', 5000000, 2500000, 20000000, '1970-01-01T00:00:00Z'),
  ('00000000-0000-8000-8000-000000000002', 'chat-default', 1000000, 500000, 4000000, '1970-01-01T00:00:00Z'),
  ('00000000-0000-8000-8000-000000000003', 'chat-cheap', 200000, 100000, 800000, '1970-01-01T00:00:00Z'),
  ('00000000-0000-8000-8000-000000000004', 'extract-default', 1000000, 500000, 4000000, '1970-01-01T00:00:00Z'),
  ('00000000-0000-8000-8000-000000000005', 'extract-fast', 300000, 150000, 1200000, '1970-01-01T00:00:00Z'),
  ('00000000-0000-8000-8000-000000000006', 'embed-default', 100000, 100000, 0, '1970-01-01T00:00:00Z');

alter table calls add column charge_micro bigint not null default 0;
-- The price it was charged by; null for what is not charged. Zeros where it is from before there were prices.
alter table calls add column price_id uuid;
update calls set price_id = '00000000-0000-0000-0000-000000000000'
where outcome = 'SUCCEEDED' and alias is not null and prompt_tokens is not null;

-- Usage by day (UTC, of the call's start), alias (as the call named it, with its prefix) and key; under the key of
-- zeros all calls of the company, those that the platform made for it too. Reads and refusals are not in it; of
-- failed calls the number is, their tokens are not: tokens and charge explain each other.
create table usage_days (
  company_id uuid not null,
  key_id uuid not null,
  day date not null,
  alias text collate "C" not null,
  calls bigint not null,
  failures bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null,
  completion_tokens bigint not null,
  charge_micro bigint not null,
  primary key (company_id, key_id, day, alias)
) with (fillfactor = 70);

insert into usage_days (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
  completion_tokens, charge_micro)
select company_id, coalesce(key_id, '00000000-0000-0000-0000-000000000000'), (started_at at time zone 'utc')::date, alias,
  count(*), count(*) filter (where outcome = 'FAILED'),
  coalesce(sum(prompt_tokens) filter (where price_id is not null), 0),
  coalesce(sum(cached_tokens) filter (where price_id is not null), 0),
  coalesce(sum(completion_tokens) filter (where price_id is not null), 0), 0
from calls
where outcome <> 'REFUSED' and alias is not null
group by grouping sets ((company_id, 3, alias, key_id), (company_id, 3, alias))
having grouping(key_id) = 1 or key_id is not null;

-- What keys have spent, by month (UTC, of the call's start): what a monthly spending limit is held against.
create table key_months (
  key_id uuid not null,
  month date not null,
  charge_micro bigint not null,
  primary key (key_id, month)
) with (fillfactor = 70);

-- Thresholds that were passed, each once; handed on to the job queue by a job of its own.
create table credit_alerts (
  company_id uuid not null,
  kind text not null check (kind in ('LOW_BALANCE', 'KEY_SPENDING', 'CREDIT_LINE')),
  -- The key; empty where the company itself is meant.
  subject text not null,
  threshold_percent integer not null,
  -- What the threshold can be passed once in: a top-up, a month.
  episode text not null,
  created_at timestamptz not null default now(),
  handed_on_at timestamptz,
  primary key (company_id, kind, subject, threshold_percent, episode)
);
create index credit_alerts_waiting on credit_alerts (created_at) where handed_on_at is null;

-- The thresholds that a change of a balance passes: those on whose good side it was before and is not any more.
-- LOW_BALANCE, where prepaid: 20, 5 and 0 percent of the balance after the last top-up, once a top-up.
-- CREDIT_LINE, where there is a line with an end: 80 and 100 percent of it used, once a month.
create function account_alerts(
  before bigint, after bigint, line bigint, topped_up bigint, topped_up_version bigint, month text
) returns table (kind text, threshold_percent integer, episode text) language sql immutable as $$
  select kind, percent, case kind when 'LOW_BALANCE' then topped_up_version::text else month end
  from (values ('LOW_BALANCE', 20), ('LOW_BALANCE', 5), ('LOW_BALANCE', 0), ('CREDIT_LINE', 80), ('CREDIT_LINE', 100))
    as threshold (kind, percent)
  where before > after and case
    when kind = 'LOW_BALANCE' then line = 0 and topped_up > 0
      and before * 100.0 > topped_up * percent::numeric and after * 100.0 <= topped_up * percent::numeric
    else line > 0
      and before * -100.0 < line * percent::numeric and after * -100.0 >= line * percent::numeric end
$$;

-- Records calls and charges those that are to be charged: all of it or nothing. A call whose id is there already is
-- left as it is and changes nothing, however often and by however many it is sent.
--
-- Charged are SUCCEEDED calls with tokens, by the price that was in force when they began:
--   ceil(((prompt - cached) * prompt price + cached * cached price + completion * completion price) / 1,000,000)
-- micro-credits, rounded up once a call.
--
-- Accounts are locked first, in the order of their ids, and everything else hangs on that: two groups with the same
-- companies, keys or calls wait for each other and never in a circle. A company without an account and an alias
-- without a price are refused by what is not null, not charged nothing.
--
-- A function, because its plan is made once a connection: planning this takes the embedded engine longer than
-- everything else about a lone call. A row comes back for each account that changed, and for each month of a key
-- with a limit.
create function charge_calls(given_calls text, companies uuid[]) returns table (
  account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint
) language plpgsql as $$
#variable_conflict use_column
begin
  return query with
  given as materialized (
    select *, to_timestamp(started / 1000::float8) as begun,
      outcome = 'SUCCEEDED' and prompt is not null and alias is not null as is_charged
    from json_to_recordset(given_calls::json) as given (id uuid, company uuid, key uuid, request text, endpoint text,
      alias text, model text, target text, outcome text, reason text, status integer, streamed boolean, prompt bigint,
      cached bigint, completion bigint, estimated bigint, started bigint, first_byte integer, duration integer,
      spending_limit bigint)),
  -- After the calls are read: who waits for these accounts need not wait for that.
  locked as materialized (
    select id, balance_micro, version from credit_accounts
    where id = any (companies) and (select count(*) from given) > 0 order by id for update),
  -- Only those that were in force since the first of these calls began: mostly one an alias, however many there were.
  prices as materialized (
    select * from (select *, lead(in_force_from) over (partition by alias order by in_force_from) as until
      from model_prices) as version
    where until is null or until > (select min(begun) from given)),
  recorded as (
    insert into calls (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason, http_status,
      streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, first_byte_ms,
      duration_ms, charge_micro, price_id)
    select given.id, company, key, request, endpoint, given.alias, target, outcome, reason, status, streamed, prompt,
      cached, completion, estimated, begun, first_byte, duration,
      case when not is_charged then 0
        -- As far as 64 bits hold the products, for the highest price is 10^12. Numeric takes twice as long.
        when prompt < 4000000 and completion < 4000000 then
          ((prompt - least(cached, prompt)) * prompt_micro + least(cached, prompt) * cached_micro
            + completion * completion_micro + 999999) / 1000000
        else div((prompt - least(cached, prompt)) * prompt_micro::numeric + least(cached, prompt) * cached_micro::numeric
            + completion * completion_micro::numeric + 999999, 1000000)::bigint end,
      price.id
    from given left join prices as price on is_charged and price.alias = given.model and in_force_from <= begun
      and (until is null or begun < until)
    where (select count(*) from locked) >= 0
    on conflict (id) do nothing
    returning id, company_id, key_id, alias, outcome, prompt_tokens, cached_tokens, completion_tokens, charge_micro,
      price_id, (started_at at time zone 'utc')::date as day),
  posted as (
    insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind,
      source_id)
    select company_id, locked.version + row_number() over of_account, 'USAGE', -charge_micro,
      locked.balance_micro - sum(charge_micro) over of_account, 'usage', 'call', recorded.id::text
    from recorded left join locked on locked.id = company_id
    where charge_micro <> 0
    window of_account as (partition by company_id order by recorded.id
      rows between unbounded preceding and current row)),
  charged as (
    select company_id, count(*) as postings, sum(charge_micro)::bigint as charge, max(day) as day
    from recorded where charge_micro <> 0 group by company_id),
  levels as (
    update credit_accounts as account set balance_micro = account.balance_micro - charge,
      version = account.version + postings, updated_at = now()
    from charged where account.id = charged.company_id
    returning account.id, account.balance_micro + charge as before, account.balance_micro as after,
      account.line_micro as line, account.version, account.topped_up_micro as topped_up, account.topped_up_version,
      to_char(day, 'YYYY-MM') as month),
  days as (
    insert into usage_days as present (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
      completion_tokens, charge_micro)
    select company_id, coalesce(key_id, '00000000-0000-0000-0000-000000000000'), day, alias, count(*),
      count(*) filter (where outcome = 'FAILED'),
      coalesce(sum(prompt_tokens) filter (where price_id is not null), 0),
      coalesce(sum(cached_tokens) filter (where price_id is not null), 0),
      coalesce(sum(completion_tokens) filter (where price_id is not null), 0), sum(charge_micro)
    from recorded
    where outcome <> 'REFUSED' and alias is not null
    group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))
    having grouping(key_id) = 1 or key_id is not null
    on conflict (company_id, key_id, day, alias) do update set calls = present.calls + excluded.calls,
      failures = present.failures + excluded.failures,
      prompt_tokens = present.prompt_tokens + excluded.prompt_tokens,
      cached_tokens = present.cached_tokens + excluded.cached_tokens,
      completion_tokens = present.completion_tokens + excluded.completion_tokens,
      charge_micro = present.charge_micro + excluded.charge_micro),
  spending as (
    select recorded.key_id, date_trunc('month', day)::date as month, company_id, sum(charge_micro)::bigint as charge,
      max(spending_limit) as spending_limit
    from recorded
    -- A call may have been given twice.
    join (select id, max(spending_limit) as spending_limit from given group by id) as own
      using (id)
    where recorded.key_id is not null and charge_micro <> 0
    group by 1, 2, 3),
  months as (
    insert into key_months as present (key_id, month, charge_micro)
    select key_id, month, sum(charge)::bigint from spending group by 1, 2
    on conflict (key_id, month) do update set charge_micro = present.charge_micro + excluded.charge_micro
    returning key_id, month, charge_micro),
  spent as (
    select spending.*, charge_micro as after, charge_micro - charge as before
    from spending join months using (key_id, month)),
  alerts as (
    insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
    select id, alert.kind, '', alert.threshold_percent, alert.episode
    from levels, account_alerts(before, after, line, topped_up, topped_up_version, month) as alert
    union all
    select company_id, 'KEY_SPENDING', key_id::text, percent, to_char(month, 'YYYY-MM')
    from spent, (values (80), (100)) as threshold (percent)
    where before * 100.0 < spending_limit * percent::numeric and after * 100.0 >= spending_limit * percent::numeric
    on conflict do nothing)
  select id, after, line, version, null::uuid, null::text, null::bigint from levels
  union all
  select company_id, null, null, levels.version, key_id, to_char(spent.month, 'YYYY-MM-DD'), spent.after
  from spent join levels on levels.id = company_id where spending_limit is not null;
end
$$;
