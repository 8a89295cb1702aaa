-- Tokens that a provider wrote to its prompt cache have a price of their own. Null is the price of the prompt.
alter table model_prices
  add column cache_write_micro bigint check (cache_write_micro between 0 and 1000000000000);

-- A part of prompt_tokens, apart from cached_tokens. Null where the provider reported none.
alter table calls add column cache_write_tokens bigint;

alter table usage_days add column cache_write_tokens bigint not null default 0;
alter table usage_months add column cache_write_tokens bigint not null default 0;
alter table retired_usage add column cache_write_tokens bigint not null default 0;
