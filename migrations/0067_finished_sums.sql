-- Sums of time that is over, so that reports of a year and of all companies read few rows. They are made by a job from the days,
-- and count only where a table of `done` says so; a call that is recorded late reopens them (reopen_usage_month).

-- By project, end user and tag, of a month, over all keys: a row for each model and one for all of them (`*`), with the first day
-- of the month, and one for each day with the empty alias.
create table usage_subject_months (
  company_id uuid not null,
  kind text not null,
  month date not null,
  alias text collate "C" not null,
  day date not null,
  subject text collate "C" not null,
  calls bigint not null,
  failures bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null,
  cache_write_tokens bigint not null,
  completion_tokens bigint not null,
  charge_micro bigint not null,
  surcharge_micro bigint not null,
  primary key (company_id, kind, month, alias, day, subject)
);
-- False for months that were added up before there were sums by name.
alter table usage_months_done add column has_subjects boolean not null default false;

-- Costs of a day over all companies, by model and target. The empty alias has all calls that were not failures, and what
-- they were charged, whether their cost is known or not.
create table platform_days (
  day date not null,
  alias text collate "C" not null,
  target_id text collate "C" not null,
  calls bigint not null,
  charge_micro bigint not null,
  cost_micro bigint not null,
  primary key (day, alias, target_id)
);
create table platform_days_done (day date primary key);
-- Costs of a month by company.
create table company_cost_months (
  month date not null,
  company_id uuid not null,
  calls bigint not null,
  charge_micro bigint not null,
  cost_micro bigint not null,
  primary key (month, company_id)
);
create table company_cost_months_done (month date primary key);
-- The rows of companies; those of their keys are not read by day.
create index usage_days_by_day on usage_days (day) where key_id = '00000000-0000-0000-0000-000000000000';
