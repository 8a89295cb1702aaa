-- How much one call of an alias may read and write. Null means the default of its kind (src/domain/models/aliases.ts).
-- Names are stored without the configured prefix, as in model_targets.
create table model_alias_bounds (
  alias text primary key check (char_length(alias) between 1 and 100),
  context_length bigint check (context_length between 1 and 1000000000),
  max_output_tokens bigint check (max_output_tokens between 1 and 1000000000),
  -- Add max_output_tokens to bodies that name no maximum.
  enforce_max_output boolean not null default false
);
create trigger model_alias_bounds_changed after insert or update or delete or truncate on model_alias_bounds
  for each statement execute function model_targets_changed();
