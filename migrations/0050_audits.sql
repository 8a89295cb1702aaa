-- Audits of our books against the payment provider: what was read there, how far, and what differs.

create table audits (
  id uuid primary key,
  from_at timestamptz not null,
  to_at timestamptz not null check (to_at >= from_at),
  -- By the timer; others are of a range that somebody named.
  is_daily boolean not null default false,
  status text not null check (status in ('RUNNING', 'DONE')),
  -- Which list is read, and the last object of the pages that are stored: a run that ends in between is continued there.
  listing text,
  after_id text check (char_length(after_id) <= 255),
  objects_read bigint not null default 0,
  -- Why the last run of it ended early.
  paused_because text check (char_length(paused_because) <= 500),
  -- Money of customers that are no company of ours.
  foreign_charges bigint not null default 0,
  -- There are more differences than are stored.
  is_cut boolean not null default false,
  totals jsonb,
  started_at timestamptz not null,
  updated_at timestamptz not null,
  checked_at timestamptz,
  check ((status = 'DONE') = (checked_at is not null))
);
create index audits_checked on audits (checked_at) where status = 'DONE';

create table audit_differences (
  audit_id uuid not null references audits (id) on delete cascade,
  number integer not null,
  kind text not null,
  subject text not null,
  expected text not null,
  found text not null,
  remedy text not null,
  primary key (audit_id, number)
);

-- What the provider has, for as long as an audit runs: both directions are then compared by the database.
create table audit_provider_objects (
  audit_id uuid not null references audits (id) on delete cascade,
  kind text not null check (kind in ('charge', 'refund', 'dispute', 'credit_note', 'invoice')),
  object_id text collate "C" not null check (char_length(object_id) between 1 and 255),
  customer_id text,
  payment_id text,
  charge_id text,
  invoice_id text,
  purchase_id text,
  company_id text,
  status text not null,
  currency text,
  amount_minor bigint not null,
  -- Of a charge what was refunded, of a credit note what went back to the card.
  returned_minor bigint not null default 0,
  -- Of an invoice or credit note that was settled outside of the provider.
  outside_minor bigint not null default 0,
  -- What the lines of a paid invoice move at our rates; null where it has none of a plan or not all are known.
  moved_micro bigint,
  -- Changed so recently that its event may still be on its way.
  is_recent boolean not null default false,
  created_at timestamptz not null,
  primary key (audit_id, kind, object_id)
);
create index audit_provider_objects_charge on audit_provider_objects (audit_id, charge_id) where charge_id is not null;
create index audit_provider_objects_payment on audit_provider_objects (audit_id, payment_id) where payment_id is not null;
