-- Requests that were refused before a key was known, of days (UTC) that are over: how many of which address, and in which minutes
-- the first and the last of them came. They are made by a job from the minutes, and count only where the table of `done` says so.
create table address_refusal_days (
  day date not null,
  address text collate "C" not null,
  code text collate "C" not null,
  count bigint not null,
  first_minute timestamptz not null,
  last_minute timestamptz not null,
  primary key (day, address, code)
);
create table address_refusal_days_done (day date primary key);

-- What all keys of a company used in some days or months is read together, and not key by key. The company's own rows are not in them.
create index usage_months_of_keys on usage_months (company_id, month)
  where alias > '' and key_id <> '00000000-0000-0000-0000-000000000000';
-- A charge writes to it where it is the first of its key, day and model. PostgreSQL reads the table once; charges of that while wait,
-- or go to the journal.
create index usage_days_of_keys on usage_days (company_id, day) where key_id <> '00000000-0000-0000-0000-000000000000';

-- sum(bigint) counts in numerics, outside of the row of its group. This one fails past a bigint, as a cast of that sum does.
create aggregate total(bigint) (sfunc = int8pl, stype = bigint, initcond = '0', combinefunc = int8pl, parallel = safe);
