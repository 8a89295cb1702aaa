-- What an alert is about, as of the commit that raised it: its mail says this and not what holds when it is sent. Null in
-- alerts from before.
alter table credit_alerts
  -- Of the account. A credit line without an end is null as well.
  add column balance_micro bigint,
  add column line_micro bigint,
  add column topped_up_micro bigint,
  -- Of the key, where its spending limit is meant.
  add column spent_micro bigint,
  add column limit_micro bigint;

-- As in migrations/functions/note_alert_moment.sql, which maintains it.
create function note_alert_moment() returns trigger language plpgsql as $$
begin
  select balance_micro, line_micro, topped_up_micro into new.balance_micro, new.line_micro, new.topped_up_micro
  from credit_accounts where id = new.company_id;
  if new.kind = 'KEY_SPENDING' then
    select charge_micro into new.spent_micro from key_months
    where key_id = new.subject::uuid and month = to_date(new.episode, 'YYYY-MM');
    select monthly_spending_limit_micro into new.limit_micro from api_keys where id = new.subject::uuid;
  end if;
  return new;
end
$$;

create trigger credit_alerts_moment before insert on credit_alerts
for each row execute function note_alert_moment();
