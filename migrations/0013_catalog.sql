-- What is sold: plans, paid for by the period, and credit packs, paid for once. Prices are in the currency's minor
-- units as the payment provider counts them; credits are micro-credits.

create table plans (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 200),
  active boolean not null default true,
  billing_mode text not null check (billing_mode in ('PREPAID', 'POSTPAID')),
  price_minor bigint not null check (price_minor >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  -- What each paid period brings.
  credits_micro bigint not null check (credits_micro >= 0),
  billing_interval text not null check (billing_interval in ('MONTH', 'YEAR')),
  provider_product_id text check (char_length(provider_product_id) between 1 and 200),
  provider_price_id text unique check (char_length(provider_price_id) between 1 and 200),
  -- One process at a time makes the provider's product and price; one that died is not waited for past this.
  pricing_claimed_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (billing_mode <> 'POSTPAID' or num_nonnulls(provider_product_id, provider_price_id) = 0),
  check (billing_mode = 'POSTPAID' or price_minor > 0)
);

create table credit_packs (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 200),
  credits_micro bigint not null check (credits_micro > 0),
  price_minor bigint not null check (price_minor > 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  sort_order integer not null,
  -- A DRAFT has no price at the provider yet and is shown to nobody.
  status text not null check (status in ('DRAFT', 'ACTIVE', 'RETIRED')),
  provider_product_id text check (char_length(provider_product_id) between 1 and 200),
  provider_price_id text unique check (char_length(provider_price_id) between 1 and 200),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (status <> 'ACTIVE' or num_nulls(provider_product_id, provider_price_id) = 0)
);
create index credit_packs_sold on credit_packs (sort_order, id) where status = 'ACTIVE';
