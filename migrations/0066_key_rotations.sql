-- Keys that follow one another by rotation share one monthly spending limit and one budget: what one of them has spent is
-- spent for all. Each but the first names the first. Code of the version before neither writes nor reads it.
alter table api_keys add column rotation_root_id uuid references api_keys (id);
with recursive rotations as (
  select id, id as root from api_keys where rotated_from_id is null
  union all
  select api_keys.id, root from rotations join api_keys on api_keys.rotated_from_id = rotations.id)
update api_keys set rotation_root_id = root from rotations
where rotations.id = api_keys.id and api_keys.rotated_from_id is not null;
create index api_keys_rotation on api_keys (rotation_root_id) where rotation_root_id is not null;

-- A rotation used to copy the budget of the key. One of them stays, for the first key: the one that was changed last.
with ranked as (
  select budgets.id, row_number() over (partition by budgets.company_id, coalesce(rotation_root_id, api_keys.id)
      order by changed_at desc, monthly_micro, budgets.id) as place
  from budgets join api_keys on api_keys.id::text = subject where scope = 'KEY')
delete from budgets using ranked where ranked.id = budgets.id and place > 1;
update budgets set subject = rotation_root_id::text
from api_keys where scope = 'KEY' and api_keys.id::text = subject and rotation_root_id is not null;
