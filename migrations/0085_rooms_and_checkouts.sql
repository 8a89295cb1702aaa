-- Rooms that operators give to companies: by the beginning of their names, or one by one.

-- Rooms whose names begin with it are the company's from `set_at` on. No prefix begins with another one: who sets one holds a
-- lock on the table while it is compared with the others.
create table room_prefixes (
  company_id uuid primary key references companies (id),
  prefix text not null unique check (char_length(prefix) between 1 and 100),
  set_at timestamptz not null
);

-- What is shown of rooms of no company, and what limits how many events of them are stored.
alter table rooms add column number bigint generated always as identity;
alter table rooms add column event_count bigint not null default 0;
alter table rooms add column first_event_at timestamptz;
alter table rooms add column last_event_at timestamptz;
create index rooms_of_no_company on rooms (number) where company_id is null;
update rooms set event_count = reported.count, first_event_at = reported.first_at, last_event_at = reported.last_at
  from (select room, count(*) as count, min(received_at) as first_at, max(received_at) as last_at
        from room_events group by room) as reported
  where rooms.room = reported.room and rooms.company_id is null;

-- The provider, mode and account at which the page was opened, as `PaymentProvider.identity`. Null for pages of earlier releases.
alter table subscription_checkouts add column provider_identity text check (char_length(provider_identity) between 1 and 64);
