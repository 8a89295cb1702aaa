-- A refund that failed lowers what was refunded of its charge, down to nothing.
-- contract: only refuses values; nothing reads the constraint
alter table charge_refunds drop constraint charge_refunds_refunded_minor_check;
alter table charge_refunds add constraint charge_refunds_refunded_minor_check check (refunded_minor >= 0);
-- When the refunds of the charge were last counted at the provider: events from before that are counted in.
alter table charge_refunds add column counted_at timestamptz;
-- How often it was lowered: part of the source of later postings.
alter table charge_refunds add column lowered integer not null default 0;

-- Disputes of charges as the provider has them. Credits are taken back when one is lost.
create table payment_disputes (
  dispute_id text primary key check (char_length(dispute_id) between 1 and 200),
  company_id uuid not null references companies (id),
  charge_id text not null check (char_length(charge_id) between 1 and 200),
  status text not null check (char_length(status) between 1 and 60),
  amount_minor bigint not null check (amount_minor >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  reason text check (char_length(reason) <= 100),
  opened_at timestamptz not null,
  respond_by timestamptz,
  updated_at timestamptz not null
);
create index payment_disputes_company on payment_disputes (company_id, opened_at);

-- Refunds that failed at the provider, each counted once.
create table failed_refunds (
  refund_id text primary key check (char_length(refund_id) between 1 and 200),
  company_id uuid not null references companies (id),
  charge_id text not null check (char_length(charge_id) between 1 and 200),
  amount_minor bigint not null check (amount_minor >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  reason text check (char_length(reason) <= 100),
  returned_micro bigint not null check (returned_micro >= 0),
  found_at timestamptz not null
);
create index failed_refunds_charge on failed_refunds (charge_id);
