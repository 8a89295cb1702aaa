-- Credits of packs may expire as those of plans do, and every lot says what it is.

-- What is left of the credits of a pack expires so many days after they were credited; null is never.
alter table credit_packs add column credits_expire_after_days integer
  check (credits_expire_after_days between 1 and 3650);
-- As it was when the purchase was begun: a pack may change, what was agreed does not.
alter table credit_pack_purchases add column credits_expire_after_days integer
  check (credits_expire_after_days between 1 and 3650);

-- When the credits were posted, by the clock that also decides when they expire; null in lots of the version before.
alter table credit_lots add column granted_at timestamptz;
-- What they came with, as `Credit pack Starter`.
alter table credit_lots add column label text check (char_length(label) between 1 and 300);
-- What refunds, disputes and credit notes of its own payment took from this lot, before all others.
alter table credit_lots add column taken_back_micro bigint not null default 0
  check (taken_back_micro between 0 and amount_micro);
-- When its company was notified that it will expire, or that was found to be pointless; null until then.
alter table credit_lots add column noticed_at timestamptz;
create index credit_lots_to_notice on credit_lots (expires_at) where expired_at is null and noticed_at is null;

-- Of the credits that a refund is to take, those that had expired before: they are not taken a second time.
alter table charge_refunds add column expired_micro bigint not null default 0 check (expired_micro >= 0);
