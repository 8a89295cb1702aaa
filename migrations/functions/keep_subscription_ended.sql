-- revision: 1
-- Owner: src/domain/subscriptions
--
-- Trigger on subscriptions: refuses to change the status of a subscription that is CANCELED or INCOMPLETE_EXPIRED.
create or replace function keep_subscription_ended() returns trigger language plpgsql as $$
begin
  if old.status in ('CANCELED', 'INCOMPLETE_EXPIRED') and new.status <> old.status then
    raise exception 'subscription % is % and cannot become %', old.id, old.status, new.status;
  end if;
  return new;
end
$$;
