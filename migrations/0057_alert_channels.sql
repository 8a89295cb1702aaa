-- Where alerts go besides the mails of alert_settings: mail to one person, a signed webhook, a Slack-compatible webhook.
-- Channels without a company are those of the operators.

create table alert_channels (
  id uuid primary key,
  company_id uuid references companies (id) on delete cascade,
  kind text not null check (kind in ('EMAIL', 'WEBHOOK', 'SLACK')),
  name text not null check (char_length(name) between 1 and 100),
  is_on boolean not null,
  -- Null: every kind of alert, those of later versions too.
  event_kinds text[] check (cardinality(event_kinds) between 1 and 50),
  -- Of EMAIL.
  member_id uuid references users (id) on delete cascade,
  -- Of the others: what people see of the address. The address itself may be a secret, and is encrypted under MASTER_KEY.
  shown_address text check (char_length(shown_address) between 1 and 2100),
  sealed_url bytea,
  -- Of WEBHOOK. The secret before the last rotation signs too until its time is over.
  sealed_secret bytea,
  sealed_old_secret bytea,
  old_secret_until timestamptz,
  -- Each save names the version that it changes.
  version integer not null default 1,
  created_at timestamptz not null,
  check ((kind = 'EMAIL') = (member_id is not null)),
  check ((kind = 'EMAIL') = (sealed_url is null)),
  check ((kind = 'EMAIL') = (shown_address is null)),
  check ((kind = 'WEBHOOK') = (sealed_secret is not null)),
  check ((sealed_old_secret is null) = (old_secret_until is null))
);

create index alert_channels_company on alert_channels (company_id);

-- One row a channel and event, from the transaction that raised the event until it is too old: the delivery log.
create table alert_deliveries (
  -- Grows with time.
  id uuid primary key,
  channel_id uuid not null references alert_channels (id) on delete cascade,
  company_id uuid references companies (id) on delete cascade,
  -- The same for the same fact: an alert that is raised again is delivered once a channel.
  event_id text not null check (char_length(event_id) between 1 and 100),
  event_kind text not null check (char_length(event_kind) between 1 and 60),
  -- What a webhook gets, byte by byte.
  payload text not null check (octet_length(payload) <= 16384),
  state text not null default 'WAITING' check (state in ('WAITING', 'DELIVERED', 'FAILED')),
  attempts integer not null default 0 check (attempts >= 0),
  -- Of the last attempt.
  http_status integer,
  error text check (char_length(error) <= 500),
  duration_ms integer,
  attempted_at timestamptz,
  claimed_until timestamptz,
  created_at timestamptz not null,
  settled_at timestamptz,
  unique (channel_id, event_id),
  check ((state = 'WAITING') = (settled_at is null))
);

create index alert_deliveries_channel on alert_deliveries (channel_id, id desc);
create index alert_deliveries_waiting on alert_deliveries (created_at) where state = 'WAITING';
create index alert_deliveries_age on alert_deliveries (created_at);

alter table alert_settings
  -- Of a row from before it is 1; a save names the version that it changes.
  add column version integer not null default 1,
  -- Whether alerts are mailed to the receivers at all.
  add column is_mailed boolean not null default true;
