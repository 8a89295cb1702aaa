-- What a newer CV would change in a profile that a person has edited: a person decides.

create table talent_proposals (
  id uuid primary key default gen_random_uuid(),
  -- Whose profile would change.
  talent_id uuid not null references talents (id) on delete cascade,
  -- Whose CV proposes it: recognised as the same person.
  from_talent_id uuid not null references talents (id) on delete cascade,
  profile jsonb not null,
  created_at timestamptz not null,
  -- Null while it is open. replaced: a CV that came later proposes something else.
  decision text check (decision in ('accepted', 'rejected', 'replaced')),
  decided_by uuid,
  decided_at timestamptz,
  check ((decision is null) = (decided_at is null))
);
create unique index talent_proposals_open on talent_proposals (talent_id) where decision is null;
create index talent_proposals_talent on talent_proposals (talent_id);
create index talent_proposals_from on talent_proposals (from_talent_id);
