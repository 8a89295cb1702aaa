-- Meetings: rooms of the meeting server, what it tells of them, and what is made of it.

-- A room is whose who announced it first; nobody's until then.
create table rooms (
  room text primary key check (char_length(room) between 1 and 300),
  company_id uuid references companies (id),
  announced_at timestamptz,
  check ((company_id is null) = (announced_at is null))
);

create table meetings (
  id uuid primary key,
  room text not null references rooms (room),
  -- Null for what happened in a room that nobody had announced: for super admins alone.
  company_id uuid references companies (id),
  -- announced: a person made it. room: events made it, and other events may unmake it.
  origin text not null check (origin in ('announced', 'room')),
  starts_at timestamptz,
  planned_minutes integer check (planned_minutes between 1 and 1440),
  job_id uuid references jobs (id) on delete set null,
  -- Whoever is erased goes with what was said about them.
  talent_id uuid references talents (id) on delete cascade,
  created_by uuid,
  announced_at timestamptz,
  -- Each use of the room that counts as this meeting: startedAt, startKnown, endedAt, endKnown.
  sessions jsonb not null default '[]',
  started_at timestamptz,
  ended_at timestamptz,
  briefing jsonb,
  insight jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((origin = 'announced') = (announced_at is not null)),
  check (origin = 'room' or company_id is not null)
);
create index meetings_company on meetings (company_id, id);
create index meetings_room on meetings (room, created_at);
create index meetings_open on meetings (started_at) where ended_at is null and started_at is not null;
create index meetings_awaited on meetings (starts_at) where started_at is null and insight is null;
create index meetings_talent on meetings (talent_id) where talent_id is not null;
create index meetings_job on meetings (job_id) where job_id is not null;

-- What the meeting server told, each thing once, in whatever order it came.
create table room_events (
  id bigint generated always as identity primary key,
  room text not null references rooms (room),
  kind text not null check (kind in ('created', 'destroyed', 'joined', 'left')),
  is_breakout boolean not null,
  happened_at timestamptz not null,
  -- Of what ends, when it began: the room's making or the occupant's joining.
  began_at timestamptz,
  occupants jsonb not null default '[]',
  dedupe_key text not null check (char_length(dedupe_key) <= 1000),
  meeting_id uuid references meetings (id) on delete cascade,
  received_at timestamptz not null,
  unique (room, dedupe_key)
);
create index room_events_time on room_events (room, happened_at);
create index room_events_meeting on room_events (meeting_id);

-- What was said, one transcript a meeting: another one takes its place.
create table meeting_transcripts (
  meeting_id uuid primary key references meetings (id) on delete cascade,
  version integer not null default 1,
  text text not null check (char_length(text) between 1 and 500000),
  -- Null until it is made, which is once a version.
  summary jsonb,
  posted_at timestamptz not null
);
