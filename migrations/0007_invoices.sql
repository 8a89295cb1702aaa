-- Invoices, ours and the payment provider's, and which usage is invoiced. Amounts of usage are micro-credits.

create table invoices (
  id uuid primary key,
  company_id uuid not null references companies (id),
  -- POSTPAID asks for a month's usage and is made by us; the others mirror what the provider made.
  kind text not null check (kind in ('POSTPAID', 'SUBSCRIPTION', 'PACK', 'MANUAL')),
  status text not null check (status in ('DRAFT', 'OPEN', 'UNCOLLECTIBLE', 'PAID', 'VOID')),
  amount_minor bigint not null check (amount_minor >= 0),
  currency text not null check (currency ~ '^[a-z]{3}$'),
  -- What its payment gives back to the account; null where it pays for no usage.
  usage_micro bigint check (usage_micro > 0),
  -- The versions of the company's account in which that usage lies.
  first_version bigint,
  last_version bigint check (last_version >= first_version),
  period_start timestamptz,
  period_end timestamptz check (period_end >= period_start),
  provider_invoice_id text unique check (char_length(provider_invoice_id) between 1 and 200),
  number text check (char_length(number) between 1 and 100),
  hosted_url text check (char_length(hosted_url) <= 2000),
  due_at timestamptz,
  finalized_at timestamptz,
  paid_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (kind <> 'POSTPAID' or num_nulls(usage_micro, first_version, last_version, period_start, period_end) = 0)
);

create unique index invoices_month on invoices (company_id, period_start) where kind = 'POSTPAID';
-- A company's invoices, the newest first.
create index invoices_company on invoices (company_id, created_at, id);
-- Read for every company that calls: whether, and from when, an invoice blocks it.
create index invoices_open on invoices (company_id, due_at) where status = 'OPEN';

-- A status of a lower rank never follows one of a higher: the provider's messages come late and out of order.
create function invoice_rank(status text) returns integer language sql immutable as $$
  select case status when 'DRAFT' then 0 when 'OPEN' then 1 when 'UNCOLLECTIBLE' then 2 else 3 end
$$;

create function keep_invoice_rank() returns trigger language plpgsql as $$
begin
  if new.status <> old.status
    and (invoice_rank(new.status) < invoice_rank(old.status) or old.status in ('PAID', 'VOID')) then
    raise exception 'invoice % is % and cannot become %', old.id, old.status, new.status;
  end if;
  return new;
end
$$;
create trigger keep_invoice_rank before update of status on invoices
  for each row execute function keep_invoice_rank();

-- When a company was POSTPAID, in versions of its account: usage in versions above after_version and up to
-- until_version is invoiced, whatever the company is by then. What it used while PREPAID is in no span.
create table postpaid_spans (
  company_id uuid not null references companies (id),
  after_version bigint not null,
  -- Null for as long as it is POSTPAID.
  until_version bigint check (until_version > after_version),
  -- Usage up to here is in an invoice.
  invoiced_version bigint not null check (invoiced_version >= after_version),
  begun_at timestamptz not null default now(),
  primary key (company_id, after_version)
);
create unique index postpaid_spans_running on postpaid_spans (company_id) where until_version is null;
create index postpaid_spans_uninvoiced on postpaid_spans (company_id)
  where until_version is null or invoiced_version < until_version;

insert into postpaid_spans (company_id, after_version, invoiced_version)
select id, 0, 0 from companies where billing_mode = 'POSTPAID';

-- By the database itself, however the mode is changed: a span that nobody noted would be usage given away. The
-- account's lock keeps calls from being charged between the look at its version and the commit.
create function note_postpaid_span() returns trigger language plpgsql as $$
declare
  at_version bigint := 0;
begin
  if tg_op = 'UPDATE' then
    select version into strict at_version from credit_accounts where id = new.id for update;
  end if;
  if new.billing_mode = 'POSTPAID' then
    insert into postpaid_spans (company_id, after_version, invoiced_version) values (new.id, at_version, at_version);
  else
    delete from postpaid_spans where company_id = new.id and until_version is null and after_version >= at_version;
    update postpaid_spans set until_version = at_version where company_id = new.id and until_version is null;
  end if;
  return null;
end
$$;
create trigger note_postpaid_span_of_new after insert on companies
  for each row when (new.billing_mode = 'POSTPAID') execute function note_postpaid_span();
create trigger note_postpaid_span after update of billing_mode on companies
  for each row when (old.billing_mode <> new.billing_mode) execute function note_postpaid_span();

-- Usage of months that are over, added up from usage_days, so that a year is read as quickly as a month: for each key
-- (that of zeros is the company) a row for each model, with the month's first day, and one for each day, with the
-- empty alias. Counts only where usage_months_done says so.
create table usage_months (
  company_id uuid not null,
  key_id uuid not null,
  month date not null,
  alias text not null,
  day date not null,
  calls bigint not null,
  failures bigint not null,
  prompt_tokens bigint not null,
  cached_tokens bigint not null,
  completion_tokens bigint not null,
  charge_micro bigint not null,
  primary key (company_id, key_id, month, alias, day)
);
create table usage_months_done (
  company_id uuid not null,
  month date not null,
  primary key (company_id, month)
);

-- A call may be recorded long after it began. Then its month is no longer done, until it is added up again. The lock
-- is the one that adding up holds: what commits before it is in the sums, what comes after it finds the month done.
create function reopen_usage_month() returns trigger language plpgsql as $$
declare
  old_month date := date_trunc('month', new.day)::date;
begin
  perform pg_advisory_xact_lock_shared(hashtextextended(new.company_id::text || old_month::text, 0));
  delete from usage_months_done where company_id = new.company_id and month = old_month;
  return null;
end
$$;
-- Only for days that lie back: today's calls pay for one comparison.
create trigger reopen_usage_month after insert or update on usage_days
  for each row when (new.day < current_date - 2) execute function reopen_usage_month();
