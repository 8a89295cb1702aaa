-- Plans and packs can be changed, reordered and retired, and the credits of a plan may expire.

alter table plans add column sort_order integer not null default 0 check (sort_order between -1000000 and 1000000);
-- What a paid period brings expires so many days after it was granted; null is never.
alter table plans add column credits_expire_after_days integer check (credits_expire_after_days between 1 and 3650);

-- As of plans: one process at a time changes what the provider has of a pack.
alter table credit_packs add column pricing_claimed_until timestamptz;

-- Prices that are not sold any more and may still be active at the provider. A row goes once the provider has archived
-- the price, or does not know it.
create table prices_to_archive (
  provider_price_id text primary key check (char_length(provider_price_id) between 1 and 200),
  created_at timestamptz not null
);

-- Granted credits that expire. What is spent counts against the one that expires first; `left_micro` is right as of
-- `counted_version` of the account.
create table credit_lots (
  account_id uuid not null,
  -- Of the transaction that granted it.
  version bigint not null,
  amount_micro bigint not null check (amount_micro > 0),
  expires_at timestamptz not null,
  -- What the credits belong to, where that may end earlier or later: `trial:sub_1`.
  subject text check (char_length(subject) between 1 and 200),
  left_micro bigint not null check (left_micro between 0 and amount_micro),
  counted_version bigint not null check (counted_version >= version),
  expired_at timestamptz,
  -- What its expiry took; null until then.
  expired_micro bigint check (expired_micro between 0 and left_micro),
  primary key (account_id, version),
  check ((expired_at is null) = (expired_micro is null))
);
create index credit_lots_due on credit_lots (expires_at) where expired_at is null;
create index credit_lots_open on credit_lots (account_id) where expired_at is null;

-- What was paid on top of the agreed amount where the provider calculates taxes.
alter table credit_pack_purchases add column tax_minor bigint not null default 0 check (tax_minor >= 0);
