-- Names by which models are called: the six documented ones, stored without the configured prefix as in model_targets, and
-- those that operators add, stored exactly as clients write them. A row is never deleted: a retired alias keeps its
-- prices, and the usage of it stays readable under its name.
create table model_aliases (
  alias text collate "C" primary key check (alias ~ '^[A-Za-z0-9._:/-]{1,100}$'),
  kind text not null check (kind in ('chat', 'extract', 'embed')),
  -- How its targets are tried. Null everywhere means the behaviour without any of it.
  strategy text check (strategy in ('order', 'weight', 'latency')),
  retries integer check (retries between 0 and 10),
  retry_statuses integer[] check (cardinality(retry_statuses) <= 20),
  fallback text collate "C" references model_aliases (alias) check (fallback <> alias),
  hedge_ms integer check (hedge_ms between 1 and 600000),
  created_at timestamptz not null default now(),
  retired_at timestamptz
);
create trigger model_aliases_changed after insert or update or delete or truncate on model_aliases
  for each statement execute function model_targets_changed();

insert into model_aliases (alias, kind) values
  ('chat-premium', 'chat'), ('chat-default', 'chat'), ('chat-cheap', 'chat'),
  ('extract-default', 'extract'), ('extract-fast', 'extract'), ('embed-default', 'embed');

-- contract: the list of the six names is widened to every alias of the table above, so the version before writes as it did
alter table model_targets drop constraint model_targets_alias_check;
alter table model_targets
  add constraint model_targets_alias foreign key (alias) references model_aliases (alias),
  add column timeout_ms integer check (timeout_ms between 1 and 3600000),
  add column max_in_flight integer check (max_in_flight between 1 and 100000),
  -- What a million tokens cost at the provider, in micro-credits. Null where it is not known.
  add column cost_prompt_micro bigint check (cost_prompt_micro between 0 and 1000000000000),
  add column cost_cached_micro bigint check (cost_cached_micro between 0 and 1000000000000),
  add column cost_completion_micro bigint check (cost_completion_micro between 0 and 1000000000000),
  -- Null is the cost of the prompt.
  add column cost_cache_write_micro bigint check (cost_cache_write_micro between 0 and 1000000000000),
  add constraint model_targets_cost check (num_nonnulls(cost_prompt_micro, cost_cached_micro, cost_completion_micro)
    in (0, 3) and (cost_cache_write_micro is null or cost_prompt_micro is not null));

-- contract: widened in the same way
alter table model_prices drop constraint model_prices_alias_check;
alter table model_prices add constraint model_prices_alias foreign key (alias) references model_aliases (alias);
