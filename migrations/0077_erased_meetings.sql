-- Meetings that were erased with their talent: when the room was in use for them, and nothing of a person. Events of that time that
-- arrive later are not stored.
create table erased_meetings (
  meeting_id uuid primary key,
  room text not null references rooms (room),
  company_id uuid not null,
  from_at timestamptz not null,
  until_at timestamptz not null,
  -- The end was not known yet: an end or a new start that is reported later closes it.
  is_open boolean not null,
  erased_at timestamptz not null,
  check (from_at <= until_at)
);
create index erased_meetings_room on erased_meetings (room, until_at);
create index erased_meetings_age on erased_meetings (erased_at);
