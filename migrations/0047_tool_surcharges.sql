-- What a call's hosted tools cost besides its tokens, as a part of charge_micro; and how often each was used.
-- Null where the call used none.
alter table calls add column surcharge_micro bigint;
alter table calls add column tool_uses jsonb;

alter table usage_days add column surcharge_micro bigint not null default 0;
alter table usage_months add column surcharge_micro bigint not null default 0;
alter table retired_usage add column surcharge_micro bigint not null default 0;
