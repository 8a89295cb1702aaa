-- When the provider reported the status of the dispute: a later report replaces it, an earlier one that comes late does not. Null for
-- rows from before this column.
alter table payment_disputes add column status_at timestamptz;
