-- Charges that were too high are given back by new lines; prices can be corrected for the past and withdrawn for the future.

-- Credits of a call that were given back. Each is one transaction of the account that paid, with its id as the source.
create table charge_corrections (
  id uuid primary key,
  call_id uuid not null,
  company_id uuid not null references companies (id),
  account_id uuid not null,
  credits_micro bigint not null check (credits_micro > 0),
  reason text not null check (char_length(reason) between 1 and 500),
  -- Set where the call was priced again: the price that it has now.
  price_id uuid,
  -- Whether the call began in the month of the correction: then its limits and budgets have the credits back.
  is_running_month boolean not null,
  created_at timestamptz not null,
  unique (call_id, reason)
);
create index charge_corrections_company on charge_corrections (company_id, created_at);

-- What was given back of the charges beside it. It is subtracted wherever a limit or a budget is compared.
alter table usage_days add column returned_micro bigint not null default 0;
alter table key_months add column returned_micro bigint not null default 0;
alter table subject_months add column returned_micro bigint not null default 0;

-- The part of a correction that is on an invoice: before the invoice is made it lowers its usage; afterwards it is a credit note.
create table invoice_credits (
  correction_id uuid not null references charge_corrections (id),
  company_id uuid not null references companies (id),
  -- The version of the account at which the call was charged; what was withheld of it has another one.
  version bigint not null,
  credits_micro bigint not null check (credits_micro > 0),
  -- Shown on the credit note.
  memo text not null check (char_length(memo) between 1 and 500),
  -- Null until the usage is invoiced, and where all of it was given back before.
  invoice_id uuid references invoices (id),
  -- False while no invoice has the call.
  is_counted boolean not null,
  -- Null unless it is a credit note; 0 if it is less than the smallest amount payable.
  amount_minor bigint check (amount_minor >= 0),
  provider_credit_note_id text unique check (char_length(provider_credit_note_id) between 1 and 200),
  primary key (company_id, version, correction_id)
);
create index invoice_credits_invoice on invoice_credits (invoice_id);

-- What credit notes took off. `usage_micro` and `amount_minor` stay as they were invoiced.
alter table invoices add column credited_micro bigint not null default 0 check (credited_micro between 0 and usage_micro);
alter table invoices add column credited_minor bigint not null default 0 check (credited_minor between 0 and amount_minor);

-- Usage of calls that began before the end of a month and were charged after it: it is in the invoice of that month.
create table usage_before_midnight (
  company_id uuid not null references companies (id),
  version bigint not null,
  -- Null where all of it was given back before.
  invoice_id uuid references invoices (id),
  amount_micro bigint not null,
  primary key (company_id, version)
);
create index usage_before_midnight_invoice on usage_before_midnight (invoice_id);

-- A price that was set for a time that had passed: since when it is known, and why. Calls that were charged before keep theirs.
alter table model_prices add column recorded_at timestamptz;
alter table model_prices add column recorded_reason text check (char_length(recorded_reason) between 1 and 500);

-- Prices that were withdrawn before they applied to any call.
create table withdrawn_prices (
  id uuid primary key,
  alias text not null,
  prompt_micro bigint not null,
  cached_micro bigint not null,
  completion_micro bigint not null,
  cache_write_micro bigint,
  in_force_from timestamptz not null,
  withdrawn_at timestamptz not null
);
drop trigger model_prices_append_only on model_prices;
create trigger model_prices_append_only before update or truncate on model_prices
  for each statement execute function refuse_change();
create trigger model_prices_deleted before delete on model_prices
  for each row when (old.in_force_from <= clock_timestamp()) execute function refuse_change();
drop trigger model_prices_changed on model_prices;
create trigger model_prices_changed after insert or delete on model_prices
  for each statement execute function model_targets_changed();
