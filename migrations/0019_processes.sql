-- The processes that run, as each last told of itself: for whoever operates them. A process that ends takes its row
-- away; one that dies leaves it, and it grows old.

create table service_processes (
  id uuid primary key,
  -- gateway, backend, ai-service: all three where one process is everything.
  services text[] not null,
  host text not null check (char_length(host) <= 255),
  pid integer not null,
  version text not null check (char_length(version) <= 100),
  started_at timestamptz not null,
  seen_at timestamptz not null,
  report jsonb not null
);
create index service_processes_seen on service_processes (seen_at);
