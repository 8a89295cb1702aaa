-- A company that operators have suspended: model calls of its keys are refused. Both are null, or neither.
alter table companies
  add column suspended_at timestamptz,
  add column suspension_reason text,
  add constraint companies_suspension check ((suspended_at is null) = (suspension_reason is null));
