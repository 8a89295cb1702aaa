-- Which providers stand behind the six aliases. Names are kept without the configured prefix (`svc/`), so that
-- another prefix finds the same targets. At most 6 x 32 rows: the constraints hold it, because every process keeps
-- all of them in memory.

create table model_targets (
  id uuid primary key,
  alias text not null check (alias in
    ('chat-premium', 'chat-default', 'chat-cheap', 'extract-default', 'extract-fast', 'embed-default')),
  -- The order in which targets are tried after the first, which is drawn by weight.
  position integer not null check (position between 0 and 31),
  base_url text not null check (char_length(base_url) between 1 and 2000),
  model text not null check (char_length(model) between 1 and 200),
  -- The provider's key, encrypted under MASTER_KEY and bound to base_url; null where the provider wants none.
  sealed_key bytea check (octet_length(sealed_key) between 1 and 8192),
  weight double precision not null check (weight > 0 and weight <= 1000000),
  created_at timestamptz not null default now(),
  unique (alias, position)
);

-- One row, whose version grows with every change: processes ask for it twice a second, and whoever changes
-- targets locks it first.
create table model_catalogue (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);
insert into model_catalogue (version) values (1);

-- By the database itself, so that a change made by hand reaches the running processes too.
create function model_targets_changed() returns trigger language plpgsql as $$
begin
  update model_catalogue set version = version + 1;
  return null;
end
$$;
create trigger model_targets_changed after insert or update or delete or truncate on model_targets
  for each statement execute function model_targets_changed();
