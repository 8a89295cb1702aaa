-- A company's job postings and the people who may fill them. Every change of either is a new version, kept with who
-- made it and when; what hangs on a row goes with it.

create table jobs (
  id uuid primary key,
  company_id uuid not null references companies (id),
  version integer not null default 1 check (version > 0),
  status text not null check (status in ('DRAFT', 'ACTIVE', 'CLOSED')),
  title text not null check (char_length(title) between 1 and 300),
  description text not null check (char_length(description) <= 100000),
  location text check (char_length(location) between 1 and 300),
  remote boolean not null default false,
  employment_type text check (char_length(employment_type) between 1 and 100),
  must_have text[] not null default '{}',
  nice_to_have text[] not null default '{}',
  min_months_experience integer check (min_months_experience between 0 and 1200),
  -- The columns that a person has set: what is read out of a posting never takes their place.
  given text[] not null default '{}',
  -- The posting as it was read out of its text; null where nobody gave a text.
  posting jsonb,
  -- NONE: there is no text to read. PENDING: the document worker has it. FAILED: why stands beside it.
  parsing text not null default 'NONE' check (parsing in ('NONE', 'PENDING', 'DONE', 'FAILED')),
  parse_problem text check (char_length(parse_problem) <= 500),
  engine text check (engine in ('model', 'embedded')),
  created_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((parsing = 'FAILED') = (parse_problem is not null))
);
-- Ids grow with time: the newest first by id alone, which no change moves.
create index jobs_company on jobs (company_id, id);
create index jobs_changed on jobs (updated_at, id);

create table job_versions (
  job_id uuid not null references jobs (id) on delete cascade,
  version integer not null,
  what text not null check (what in ('created', 'edited', 'closed', 'parsed', 'parse-failed', 'sent-again')),
  fields jsonb not null,
  -- Null for the document worker.
  changed_by uuid,
  changed_at timestamptz not null,
  primary key (job_id, version)
);

-- The posting as it was pasted or uploaded, one a job: another one takes its place.
create table job_files (
  job_id uuid primary key references jobs (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 300),
  sha256 bytea not null,
  bytes bytea not null check (octet_length(bytes) between 1 and 10485760),
  created_at timestamptz not null
);

create table talents (
  id uuid primary key,
  company_id uuid not null references companies (id),
  version integer not null default 1 check (version > 0),
  status text not null check (status in ('PENDING', 'READY', 'FAILED')),
  name text check (char_length(name) between 1 and 300),
  -- Lowercase, for recognising somebody who comes again; the profile has it as it was written.
  email text check (char_length(email) between 3 and 254),
  -- Digits alone, with the same purpose.
  phone text check (phone ~ '^[0-9]{5,20}$'),
  headline text check (char_length(headline) between 1 and 300),
  -- JSON Resume with our additions; null until there is one.
  profile jsonb,
  -- Where each value stands in the text that was read; of what kind, in which language, with what warnings it is.
  evidence jsonb,
  document jsonb,
  engine text check (engine in ('model', 'embedded')),
  -- Why it FAILED, in a sentence for the recruiter.
  problem text check (char_length(problem) <= 500),
  -- Somebody who was there already: that one is the one to be matched.
  duplicate_of uuid references talents (id) on delete set null,
  created_by uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((status = 'FAILED') = (problem is not null)),
  check (status <> 'READY' or profile is not null),
  check (duplicate_of <> id)
);
create index talents_company on talents (company_id, id);
create index talents_changed on talents (updated_at, id);
create index talents_email on talents (company_id, email) where email is not null;
create index talents_phone on talents (company_id, phone) where phone is not null;
create index talents_duplicates on talents (duplicate_of) where duplicate_of is not null;

create table talent_versions (
  talent_id uuid not null references talents (id) on delete cascade,
  version integer not null,
  what text not null check (what in ('created', 'edited', 'parsed', 'parse-failed', 'sent-again', 'newer-cv')),
  profile jsonb,
  -- Null for the CV worker.
  changed_by uuid,
  changed_at timestamptz not null,
  primary key (talent_id, version)
);

-- A CV as it came, and the text that was read out of it, into which the evidence points.
create table talent_files (
  id uuid primary key,
  talent_id uuid not null references talents (id) on delete cascade,
  company_id uuid not null,
  name text not null check (char_length(name) between 1 and 300),
  sha256 bytea not null,
  bytes bytea not null check (octet_length(bytes) between 1 and 10485760),
  text text,
  created_at timestamptz not null,
  -- The same file again is the same talent, also where both come at once.
  unique (company_id, sha256)
);
create index talent_files_talent on talent_files (talent_id);

-- Why two uploads were taken for one person, and what was done.
create table talent_decisions (
  id bigint generated always as identity primary key,
  talent_id uuid not null references talents (id) on delete cascade,
  -- The one that was there before; the same one where its own file came again.
  earlier_id uuid not null references talents (id) on delete cascade,
  because text not null check (because in ('same-file', 'same-email', 'same-name-and-phone')),
  -- returned: nothing was made. updated: the earlier one has the newer profile. linked: it was edited by hand and stays.
  effect text not null check (effect in ('returned', 'updated', 'linked')),
  decided_at timestamptz not null
);
create index talent_decisions_talent on talent_decisions (talent_id);
create index talent_decisions_earlier on talent_decisions (earlier_id);
