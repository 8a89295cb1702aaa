-- What calls would have cost beyond the most that their alias can read and write: the provider reported more tokens than
-- one call can use. It is not charged until an operator posts it (`turnpike withheld-usage`).
create table withheld_usage (
  call_id uuid primary key,
  company_id uuid not null,
  -- Null for calls that the platform made for the company.
  key_id uuid,
  request_id text not null,
  alias text collate "C" not null,
  -- Of the call's start, UTC: where its usage is counted.
  day date not null,
  -- As the provider reported them, and the most of them that were charged for.
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  prompt_bound bigint not null,
  completion_bound bigint not null,
  charged_micro bigint not null,
  -- Wider than an amount of the ledger: what does not fit there can only be dropped.
  excess_micro numeric(40, 0) not null check (excess_micro > 0),
  withheld_at timestamptz not null default now(),
  -- When the operators were mailed.
  reported_at timestamptz,
  resolved_at timestamptz,
  resolution text check (resolution in ('POSTED', 'DROPPED')),
  -- Why it was posted or dropped.
  note text check (char_length(note) <= 500),
  check ((resolved_at is null) = (resolution is null))
);
create index withheld_usage_open on withheld_usage (call_id) where resolved_at is null;
create index withheld_usage_unreported on withheld_usage (call_id) where reported_at is null;
