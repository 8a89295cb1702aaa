-- What the payment sandbox remembers: the provider's objects, in the provider's own shapes. Used only where the
-- sandbox runs; nothing of ours refers to it, as nothing of ours can refer to a row of the real provider's.

create table payment_sandbox_objects (
  id text primary key,
  kind text not null,
  -- The order of making: what is made in the same second is still listed newest first.
  sequence bigint generated always as identity,
  -- Seconds, by the sandbox's clock, which can be moved.
  created bigint not null,
  body jsonb not null,
  -- What the provider knows and does not show: a card that will be declined, an endpoint's secret.
  hidden jsonb not null,
  -- When something is to happen to it next (a renewal, an expiry), in the same seconds.
  due_at bigint
);

create index payment_sandbox_objects_kind on payment_sandbox_objects (kind, sequence);
create index payment_sandbox_objects_due on payment_sandbox_objects (due_at, sequence) where due_at is not null;
create index payment_sandbox_objects_customer on payment_sandbox_objects ((body ->> 'customer'), kind)
  where body ? 'customer';

-- The first answer to each idempotency key.
create table payment_sandbox_replays (
  idempotency_key text primary key,
  path text not null,
  fingerprint text not null,
  status integer not null,
  body jsonb not null,
  made_at timestamptz not null
);

create index payment_sandbox_replays_age on payment_sandbox_replays (made_at);

-- One row for each event and endpoint, and one more for each duplicate that was asked for.
create table payment_sandbox_deliveries (
  id text primary key,
  sequence bigint generated always as identity,
  event_id text not null references payment_sandbox_objects (id) on delete cascade,
  endpoint_id text not null,
  state text not null check (state in ('pending', 'delivered', 'failed', 'dropped')),
  -- How the first attempt is spoiled; later ones are sound.
  flaw text check (flaw in ('bad_signature', 'stale_timestamp')),
  -- Sent at the same moment as its neighbours that have it too.
  at_once boolean not null,
  -- Lower goes first; reordered ones have negative numbers.
  send_order bigint not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  last_status integer,
  last_error text,
  made_at timestamptz not null
);

create index payment_sandbox_deliveries_due on payment_sandbox_deliveries (next_attempt_at) where state = 'pending';
create index payment_sandbox_deliveries_event on payment_sandbox_deliveries (event_id, state);

-- How far the clock was moved, and the switches.
create table payment_sandbox_settings (
  name text primary key,
  value jsonb not null
);
