-- How the bodies of an alias's calls are changed for its targets.
-- False: translated calls to Anthropic's Messages get no cache breakpoints of ours.
alter table model_alias_bounds add column cache_breakpoints boolean not null default true;
-- Top-level fields that its targets do not have: they are removed before a call is forwarded.
alter table model_alias_bounds add column drop_fields text[] not null default '{}'
  check (cardinality(drop_fields) <= 32);
