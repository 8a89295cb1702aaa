-- What all processes logged, for the log viewer: redacted and bounded before it comes here, pruned by age and number.

create table log_entries (
  -- Counts up without reuse, so that the newest id tells how many rows there can be at most.
  id bigint generated always as identity primary key,
  timestamp timestamptz not null,
  level text not null check (level in ('debug', 'info', 'warn', 'error')),
  message text not null,
  context jsonb not null,
  -- Cut, because an index takes no value over 2,704 bytes and the whole batch would be refused.
  request_id text generated always as (left(context ->> 'requestId', 200)) stored
);

-- Newest first, with the id to tell entries of the same millisecond apart.
create index log_entries_time on log_entries (timestamp, id);
create index log_entries_level on log_entries (level, timestamp, id);
create index log_entries_request on log_entries (request_id, timestamp, id) where request_id is not null;
