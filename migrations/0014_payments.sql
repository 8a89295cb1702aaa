-- Money in: purchases, subscriptions, what the payment provider's events have told and what became of it. Prices are
-- in minor units, credits in micro-credits.

create table credit_pack_purchases (
  id uuid primary key,
  company_id uuid not null references companies (id),
  credit_pack_id uuid not null references credit_packs (id),
  status text not null check (status in ('PENDING', 'COMPLETED', 'CANCELED')),
  -- As they were when it was begun: a pack may change, what was agreed does not.
  credits_micro bigint not null check (credits_micro > 0),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  provider_session_id text unique check (char_length(provider_session_id) between 1 and 255),
  provider_payment_intent_id text unique check (char_length(provider_payment_intent_id) between 1 and 255),
  -- When the provider's page stops taking money for it.
  expires_at timestamptz,
  invoice_id uuid references invoices (id),
  -- When the provider was last asked about it without being paid.
  checked_at timestamptz,
  created_at timestamptz not null,
  completed_at timestamptz,
  updated_at timestamptz not null,
  check ((status = 'COMPLETED') = (completed_at is not null))
);
create index credit_pack_purchases_company on credit_pack_purchases (company_id, id);
create index credit_pack_purchases_pending on credit_pack_purchases (created_at) where status = 'PENDING';

create table subscriptions (
  id uuid primary key,
  company_id uuid not null references companies (id),
  plan_id uuid not null references plans (id),
  provider_subscription_id text unique check (char_length(provider_subscription_id) between 1 and 255),
  status text not null check (status in
    ('INCOMPLETE', 'TRIALING', 'ACTIVE', 'PAST_DUE', 'UNPAID', 'PAUSED', 'CANCELED', 'INCOMPLETE_EXPIRED')),
  is_active boolean not null,
  current_period_start timestamptz,
  current_period_end timestamptz,
  cancel_at_period_end boolean not null default false,
  trial_end timestamptz,
  past_due_since timestamptz,
  end_date timestamptz,
  -- Which news this state is from: of two the later one counts, by the provider's time in seconds, then by their rank.
  told_at timestamptz not null,
  told_rank integer not null,
  told_event_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check (not is_active or status in ('ACTIVE', 'TRIALING', 'PAST_DUE'))
);
create index subscriptions_company on subscriptions (company_id, created_at, id);
create index subscriptions_active on subscriptions (current_period_end) where is_active;

-- What has ended stays ended, whoever writes.
create function keep_subscription_ended() returns trigger language plpgsql as $$
begin
  if old.status in ('CANCELED', 'INCOMPLETE_EXPIRED') and new.status <> old.status then
    raise exception 'subscription % is % and cannot become %', old.id, old.status, new.status;
  end if;
  return new;
end
$$;
create trigger keep_subscription_ended before update of status on subscriptions
  for each row execute function keep_subscription_ended();

-- Pages of the provider on which a company may subscribe. At most one is open for a company: two could both be paid.
create table subscription_checkouts (
  id uuid primary key,
  company_id uuid not null references companies (id),
  plan_id uuid not null references plans (id),
  status text not null check (status in ('OPEN', 'COMPLETED', 'EXPIRED')),
  provider_session_id text unique check (char_length(provider_session_id) between 1 and 255),
  url text check (char_length(url) <= 4000),
  expires_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index subscription_checkouts_open on subscription_checkouts (company_id) where status = 'OPEN';

-- Credits that paid invoices of subscriptions brought: once an invoice, and whole periods once a period too.
create table plan_grants (
  provider_invoice_id text primary key check (char_length(provider_invoice_id) between 1 and 200),
  company_id uuid not null references companies (id),
  plan_id uuid not null references plans (id),
  provider_subscription_id text not null,
  kind text not null check (kind in ('PERIOD', 'PRORATION')),
  period_start timestamptz not null,
  credits_micro bigint not null check (credits_micro > 0),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  provider_payment_intent_id text,
  provider_charge_id text,
  created_at timestamptz not null
);
create unique index plan_grants_period on plan_grants (provider_subscription_id, period_start) where kind = 'PERIOD';
create index plan_grants_payment on plan_grants (provider_payment_intent_id);
create index plan_grants_charge on plan_grants (provider_charge_id);

-- What was given back of each charge, in money and in credits: both only grow.
create table charge_refunds (
  charge_id text primary key check (char_length(charge_id) between 1 and 200),
  company_id uuid not null references companies (id),
  -- What the charge had paid for.
  source_kind text not null check (source_kind in ('PURCHASE', 'PLAN_GRANT', 'INVOICE')),
  source_id text not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  refunded_minor bigint not null check (refunded_minor > 0),
  granted_micro bigint not null check (granted_micro >= 0),
  refunded_micro bigint not null check (refunded_micro between 0 and granted_micro),
  updated_at timestamptz not null
);

-- Attempts of the provider to take an invoice's money that failed.
create table failed_payments (
  provider_invoice_id text not null check (char_length(provider_invoice_id) between 1 and 200),
  attempt integer not null check (attempt >= 0),
  company_id uuid not null references companies (id),
  failed_at timestamptz not null,
  next_attempt_at timestamptz,
  reason text check (char_length(reason) <= 500),
  primary key (provider_invoice_id, attempt)
);
create index failed_payments_company on failed_payments (company_id, failed_at);

-- Every event of the provider's that was rightly signed, and what became of it.
create table provider_events (
  id uuid primary key,
  provider_event_id text not null unique check (char_length(provider_event_id) between 1 and 255),
  type text not null check (char_length(type) between 1 and 255),
  object_id text check (char_length(object_id) <= 255),
  api_version text,
  happened_at timestamptz not null,
  payload jsonb not null,
  status text not null check (status in ('RECEIVED', 'PROCESSED', 'DEFERRED', 'FAILED', 'IGNORED')),
  -- What it has done, or why it has not.
  effect text check (char_length(effect) <= 500),
  error text check (char_length(error) <= 2000),
  company_id uuid,
  -- What a DEFERRED one waits for, as `customer:cus_1`: applied as soon as one of these has arrived.
  waits_for text[] not null default '{}',
  attempts integer not null default 0,
  received_at timestamptz not null,
  processed_at timestamptz,
  -- When the timer looks at it again; null where nothing is to be done by itself.
  next_attempt_at timestamptz
);
create index provider_events_newest on provider_events (received_at, id);
create index provider_events_status on provider_events (status, received_at, id);
create index provider_events_due on provider_events (next_attempt_at) where next_attempt_at is not null;
create index provider_events_waiting on provider_events using gin (waits_for) where status = 'DEFERRED';

-- At most one row: up to when the provider was asked for events that did not reach us.
create table payment_reconciliation (
  only_row boolean primary key default true check (only_row),
  asked_until timestamptz not null
);
