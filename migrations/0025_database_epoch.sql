-- One row that every process advances every few seconds. The highest position is remembered outside of the database: where
-- a position does not exceed it, the database was restored from a backup or lost commits, and the epoch is changed.
create table database_epoch (
  is_only boolean primary key default true check (is_only),
  epoch uuid not null default gen_random_uuid(),
  position bigint not null default 0,
  changed_at timestamptz not null default now()
);
insert into database_epoch default values;
