-- Companies and the people in them. Amounts are micro-credits.

create table companies (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 200),
  billing_mode text not null default 'PREPAID' check (billing_mode in ('PREPAID', 'POSTPAID')),
  -- How far a POSTPAID company may go below zero; null is no limit.
  credit_limit_micro bigint check (credit_limit_micro >= 0),
  provider_customer_id text unique,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table users (
  id uuid primary key,
  -- Null for a super admin who belongs to no company.
  company_id uuid references companies (id),
  email text not null check (char_length(email) between 3 and 254),
  password_hash text not null,
  role text not null default 'MEMBER' check (role in ('MEMBER', 'COMPANY_ADMIN')),
  is_super_admin boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (company_id is not null or is_super_admin)
);

-- One account an address, however it is written.
create unique index users_email on users (lower(email));
create index users_company on users (company_id);

-- At most one row: which demo world this database holds, by the fingerprint of the seed it was made from.
create table demo_world (
  only_row boolean primary key default true check (only_row),
  seed_fingerprint text not null,
  company_id uuid not null references companies (id),
  created_at timestamptz not null default now()
);
