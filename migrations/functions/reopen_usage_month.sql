-- revision: 2
-- Owner: src/domain/calls
--
-- Trigger on usage_days: marks a month as not summed up when a call of it is recorded late, and the sums of all companies that the
-- call belongs to. Summing up holds the same advisory locks: a call that commits before it is in the sums, a later one finds them
-- done and reopens them.
create or replace function reopen_usage_month() returns trigger language plpgsql as $$
declare
  old_month date := date_trunc('month', new.day)::date;
begin
  perform pg_advisory_xact_lock_shared(hashtextextended(new.company_id::text || old_month::text, 0));
  delete from usage_months_done where company_id = new.company_id and month = old_month;
  perform pg_advisory_xact_lock_shared(hashtextextended('platform ' || old_month::text, 0));
  delete from platform_days_done where day = new.day;
  delete from company_cost_months_done where month = old_month;
  return null;
end
$$;
