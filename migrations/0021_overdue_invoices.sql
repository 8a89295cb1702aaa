-- When the admins of a company were mailed that an invoice is overdue and blocks their calls: once per invoice.
alter table invoices add column overdue_mailed_at timestamptz;

-- Searched every few minutes for invoices whose due date has passed.
create index invoices_overdue on invoices (due_at) where status = 'OPEN' and overdue_mailed_at is null;
