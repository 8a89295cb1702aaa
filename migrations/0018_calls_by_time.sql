-- Calls lie in partitions by the time at which they began, so that a month can be let go of in one step.
--
-- By ranges of the id, not of started_at: an id is a UUIDv7, which begins with its moment in milliseconds. So the
-- primary key is the partition key, an id is taken once in the whole table and not once a month, and a call that is
-- sent again, however late, meets its own first row in the same partition.
--
-- Nothing is copied. The table as it was becomes the first partition, which goes to the end of this month and later
-- goes as one. PostgreSQL reads it three times, for two indexes and to see that no id lies beyond; calls of that while
-- wait, or go to the journal.

alter table calls rename to calls_first;
alter index calls_pkey rename to calls_first_pkey;
alter index calls_company rename to calls_first_company;
-- Nobody asks for the calls of a key: its usage is kept by day.
drop index calls_key;

create table calls (like calls_first including defaults including constraints) partition by range (id);
alter table calls add primary key (id);
create index calls_company on calls (company_id, started_at);
-- Nearly all calls succeed, and people ask for the others: their own indexes cost a successful call nothing.
create index calls_failed on calls (id) where outcome <> 'SUCCEEDED';
create index calls_failed_of_company on calls (company_id, started_at) where outcome <> 'SUCCEEDED';

-- For ids that no other partition takes: made by a clock that is months ahead, or while nobody made new partitions.
create table calls_other (like calls including all);

do $$
declare
  this_month timestamp := date_trunc('month', now() at time zone 'utc');
  months constant integer := 4;
  bounds uuid[];
begin
  bounds := array(
    select (lpad(to_hex((extract(epoch from this_month + ahead * interval '1 month') * 1000)::bigint), 12, '0')
      || repeat('0', 20))::uuid
    from generate_series(1, months) as ahead order by ahead);
  -- An id that is no UUIDv7 may lie anywhere. There is none that we have made.
  with beyond as (delete from calls_first where id >= bounds[1] returning *)
  insert into calls_other select * from beyond;
  execute format('alter table calls attach partition calls_first for values from (minvalue) to (%L)', bounds[1]);
  alter table calls attach partition calls_other default;
  -- The next ones; from then on a job makes them.
  for ahead in 1 .. months - 1 loop
    if exists (select 1 from calls_other where id >= bounds[ahead] and id < bounds[ahead + 1]) then continue; end if;
    execute format('create table %I partition of calls for values from (%L) to (%L)',
      'calls_from_' || to_char(this_month + ahead * interval '1 month', 'YYYY_MM_DD'), bounds[ahead], bounds[ahead + 1]);
  end loop;
end
$$;

-- What calls that were let go of had summed up to, in the grain of usage_days: whatever that table has beyond these
-- sums must be there in calls. Proved by `turnpike audit`.
create table retired_usage (
  company_id uuid not null,
  key_id uuid not null,
  day date not null,
  alias text collate "C" not null,
  calls bigint not null,
  failures bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null,
  completion_tokens bigint not null,
  charge_micro bigint not null,
  primary key (company_id, key_id, day, alias)
);

-- At most one row: ids below this one have no row in calls any more, but for those that came later still.
create table calls_retirement (
  only_row boolean primary key default true check (only_row),
  before_id uuid not null,
  retired_at timestamptz not null
);

-- Upkeep looks for what is past its age.
create index invitations_expiry on invitations (expires_at);
create index password_resets_expiry on password_resets (expires_at);
