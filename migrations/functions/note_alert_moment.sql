-- revision: 2
-- Owner: src/domain/credits
--
-- Trigger on credit_alerts: stores the balance, or the spending of a key and its limit, that raised the alert. Alerts are
-- inserted by the statement that changes the account or the key's month, for rows that it has changed already, which a
-- volatile function sees. A trigger, because several statements raise alerts; it runs only when a threshold is crossed.
create or replace function note_alert_moment() returns trigger language plpgsql as $$
begin
  select balance_micro, line_micro, topped_up_micro into new.balance_micro, new.line_micro, new.topped_up_micro
  from credit_accounts where id = new.company_id;
  if new.kind = 'KEY_SPENDING' then
    new.spent_micro := key_spending(new.subject::uuid, to_date(new.episode, 'YYYY-MM'));
    select monthly_spending_limit_micro into new.limit_micro from api_keys where id = new.subject::uuid;
  end if;
  return new;
end
$$;
