-- Tools that run at the provider (web search, file search, code interpreter …): which of them an alias has, and what one
-- use costs. Names of aliases are stored without the configured prefix, as in model_targets.
create table model_hosted_tools (
  alias text not null check (char_length(alias) between 1 and 100),
  tool text not null check (tool ~ '^[a-z][a-z0-9_]{0,39}$'),
  price_micro bigint not null check (price_micro between 0 and 1000000000000),
  primary key (alias, tool)
);
create table model_alias_tools (
  alias text primary key check (char_length(alias) between 1 and 100),
  -- How often one call may use hosted tools where its body does not say so. Null means the default.
  max_uses integer check (max_uses between 1 and 1000),
  -- Ids of what is stored at the provider that every company may name; '*' is all of them.
  provider_ids text[] not null default '{}' check (cardinality(provider_ids) <= 100)
);
create trigger model_hosted_tools_changed after insert or update or delete or truncate on model_hosted_tools
  for each statement execute function model_targets_changed();
create trigger model_alias_tools_changed after insert or update or delete or truncate on model_alias_tools
  for each statement execute function model_targets_changed();
