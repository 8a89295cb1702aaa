-- Changes of a balance other than usage: few among millions, which the list of transactions would read through to find them.
-- Usage is in no index for it, so that calls pay nothing.
create index credit_transactions_not_usage on credit_transactions (account_id, version) where type <> 'USAGE';

-- Where a period of the audit log ends. It is written by people, not by calls.
create index audit_log_time on audit_log (happened_at);

-- Counts the changes of a key, so that two people who edit it do not take back what the other did.
alter table api_keys add column version integer not null default 1;
