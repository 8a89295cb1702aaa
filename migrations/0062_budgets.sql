-- Calls by what they are for and by whom, and monthly budgets.

-- What calls add up to by day for each project, end user and tag that they carry, by key and model. Written by
-- charge_calls, through count_attributed, for calls that carry any; a call with three tags counts for each of them.
create table usage_subject_days (
  company_id uuid not null,
  kind text not null check (kind in ('PROJECT', 'END_USER', 'TAG')),
  day date not null,
  -- `(other)`: names beyond those that a day of a company may have.
  subject text collate "C" not null,
  key_id uuid not null,
  alias text collate "C" not null,
  calls bigint not null,
  failures bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null,
  cache_write_tokens bigint not null,
  completion_tokens bigint not null,
  charge_micro bigint not null,
  surcharge_micro bigint not null,
  primary key (company_id, kind, day, subject, key_id, alias)
) with (fillfactor = 70);

-- How many names a day of a company has in usage_subject_days, without `(other)`.
create table usage_subject_counts (
  company_id uuid not null,
  kind text not null,
  day date not null,
  subjects integer not null,
  primary key (company_id, kind, day)
) with (fillfactor = 70);

-- How many it may have: USAGE_NAMES_PER_DAY, stored by the gateways at their start.
create table usage_subject_limit (
  only_row boolean primary key default true check (only_row),
  per_day integer not null check (per_day >= 0)
);

-- What projects and end users have spent, by month (UTC, of the call's start): what their budgets are held against. Exact
-- for every name. A company's sum is that of its usage_days, a key's is in key_months.
create table subject_months (
  company_id uuid not null,
  scope text not null check (scope in ('PROJECT', 'END_USER')),
  month date not null,
  subject text collate "C" not null,
  charge_micro bigint not null,
  primary key (company_id, scope, month, subject)
) with (fillfactor = 70);

-- What a company wants to spend in a month at most, in all or for one project, key or end user.
create table budgets (
  id uuid primary key,
  company_id uuid not null references companies (id) on delete cascade,
  scope text not null check (scope in ('COMPANY', 'PROJECT', 'KEY', 'END_USER')),
  -- The project, the id of the key, the end user, `*` for every end user without a budget of their own; empty for COMPANY.
  subject text collate "C" not null check (length(subject) <= 128),
  monthly_micro bigint not null check (monthly_micro between 0 and 9000000000000000),
  -- False: alerts are raised and no call is refused.
  is_hard boolean not null,
  version integer not null default 1,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  unique (company_id, scope, subject),
  check ((scope = 'COMPANY') = (subject = ''))
);

-- contract: widens only: the version before raises no alert of the new kind
alter table credit_alerts drop constraint credit_alerts_kind_check,
  add constraint credit_alerts_kind_check check (kind in ('LOW_BALANCE', 'KEY_SPENDING', 'CREDIT_LINE', 'BUDGET'));
