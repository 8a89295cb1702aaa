-- What was agreed with a POSTPAID company: its plan, when it is invoiced and until when it pays. The rate is copied, so a
-- later change of the plan changes nothing that was agreed; without one the operator's price of a credit counts.
create table postpaid_terms (
  company_id uuid primary key references companies (id),
  plan_id uuid not null references plans (id),
  -- Null is the operator's POSTPAID_DUE_DAYS.
  due_days integer check (due_days between 1 and 365),
  -- The day of the month on which the month before is invoiced.
  invoice_day integer not null default 1 check (invoice_day between 1 and 28),
  price_minor bigint check (price_minor > 0),
  credits_micro bigint check (credits_micro > 0),
  currency text check (currency ~ '^[a-z]{3}$'),
  least_minor bigint check (least_minor > 0),
  agreed_at timestamptz not null,
  check (num_nulls(price_minor, credits_micro, currency, least_minor) in (0, 4))
);

-- The profile of a company: what its invoices show and where they are mailed.
alter table companies add column address jsonb check (jsonb_typeof(address) = 'object');
alter table companies add column tax_id text check (char_length(tax_id) between 1 and 40);
alter table companies add column billing_email text check (char_length(billing_email) between 3 and 254);
-- The provider's customer does not show the profile yet: a job brings it there.
alter table companies add column customer_is_stale boolean not null default false;
create index companies_with_stale_customer on companies (id) where customer_is_stale;
