-- What invoices that are not for a plan were paid from the customer's balance at the provider. Money that a plan returned to
-- that balance has then left the plan: its credits are taken back.
create table balance_uses (
  provider_invoice_id text primary key check (char_length(provider_invoice_id) between 1 and 200),
  company_id uuid not null references companies (id),
  currency text not null,
  amount_minor bigint not null check (amount_minor > 0),
  -- What was posted for it, at most zero.
  credits_micro bigint not null default 0 check (credits_micro <= 0),
  happened_at timestamptz not null,
  created_at timestamptz not null
);
create index balance_uses_company on balance_uses (company_id);
