-- Mail to be sent and mail that was. A row comes with the transaction that wanted the mail; the job that sends it
-- carries only the row's id.

create table mail_outbox (
  id uuid primary key,
  kind text not null check (char_length(kind) between 1 and 60),
  -- Null where it concerns no company, or one that is not known.
  company_id uuid references companies (id),
  -- Null once nobody needs to know any more.
  to_address text check (char_length(to_address) between 3 and 254),
  -- What the template needs. It may hold the token of a reset or an invitation, so it is emptied at the end.
  data jsonb not null,
  -- A second mail of the same key is none. Only the key's hash is kept, because a key may name a person.
  dedupe_sha256 bytea unique check (octet_length(dedupe_sha256) = 32),
  state text not null default 'WAITING' check (state in ('WAITING', 'SENT', 'FAILED')),
  message_id text not null unique check (char_length(message_id) between 3 and 300),
  attempts integer not null default 0 check (attempts >= 0),
  -- Of the last try, without addresses and links.
  error text check (char_length(error) <= 500),
  -- Past this there is no use in sending it.
  expires_at timestamptz,
  -- A worker is about to send it, and is done or dead by then.
  claimed_until timestamptz,
  created_at timestamptz not null,
  settled_at timestamptz,
  check ((state = 'WAITING') = (settled_at is null)),
  check (state <> 'WAITING' or to_address is not null),
  check (state = 'WAITING' or (data = '{}'::jsonb and claimed_until is null))
);

create index mail_outbox_waiting on mail_outbox (created_at) where state = 'WAITING';
create index mail_outbox_settled on mail_outbox (settled_at) where settled_at is not null;
create index mail_outbox_company on mail_outbox (company_id, created_at) where company_id is not null;
