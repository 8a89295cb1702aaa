-- What calls cost at their providers, and what they were charged, by day: only of calls whose cost is known. `alias` is the
-- one that answered, as clients write it.
create table cost_days (
  company_id uuid not null references companies (id),
  day date not null,
  alias text not null,
  -- Empty where the call names no target.
  target_id text not null,
  calls bigint not null,
  charge_micro bigint not null,
  cost_micro bigint not null,
  primary key (company_id, day, alias, target_id)
);
create index cost_days_by_day on cost_days (day);

-- Those of calls whose rows were dropped, so that the sums can still be compared with the calls.
create table retired_costs (
  company_id uuid not null,
  day date not null,
  alias text not null,
  target_id text not null,
  calls bigint not null,
  charge_micro bigint not null,
  cost_micro bigint not null,
  primary key (company_id, day, alias, target_id)
);

-- Every target that there was, so that sums of a target that was replaced still have a provider.
create table model_target_history (
  id text primary key,
  alias text not null,
  provider text not null,
  host text not null,
  model text not null,
  created_at timestamptz not null default now()
);
insert into model_target_history (id, alias, provider, host, model, created_at)
select id::text, alias, provider, substring(base_url from '^[a-z]+://([^/]+)'), model, created_at from model_targets
on conflict do nothing;

create function note_model_target() returns trigger language plpgsql as $$
begin
  insert into model_target_history (id, alias, provider, host, model)
  values (new.id::text, new.alias, new.provider, coalesce(substring(new.base_url from '^[a-z]+://([^/]+)'), ''), new.model)
  on conflict (id) do nothing;
  return null;
end
$$;
create trigger note_model_target after insert on model_targets
  for each row execute function note_model_target();
