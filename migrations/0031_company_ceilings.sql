-- Ceilings: what operators allow a company at most, whatever its admins set. Null is no ceiling.

create table company_ceilings (
  company_id uuid primary key references companies (id),
  requests_per_minute integer check (requests_per_minute >= 1),
  tokens_per_minute integer check (tokens_per_minute >= 1),
  calls_in_flight integer check (calls_in_flight >= 1),
  storage_megabytes integer check (storage_megabytes >= 0),
  documents_per_day integer check (documents_per_day >= 0),
  api_keys integer check (api_keys >= 0),
  members integer check (members >= 1),
  updated_at timestamptz not null default now()
);

-- At most one row: what new companies begin with, as the setting COMPANY_CEILINGS says.
create table company_ceiling_defaults (
  only_row boolean primary key default true check (only_row),
  requests_per_minute integer check (requests_per_minute >= 1),
  tokens_per_minute integer check (tokens_per_minute >= 1),
  calls_in_flight integer check (calls_in_flight >= 1),
  storage_megabytes integer check (storage_megabytes >= 0),
  documents_per_day integer check (documents_per_day >= 0),
  api_keys integer check (api_keys >= 0),
  members integer check (members >= 1)
);
