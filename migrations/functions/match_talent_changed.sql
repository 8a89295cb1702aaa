-- revision: 1
-- Owner: src/domain/matching
--
-- Trigger on talents: reports new, changed and deleted talents to matching, in the transaction of the change.
create or replace function match_talent_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform match_subject_gone(old.id);
  elsif tg_op = 'INSERT' or (old.version, old.status, old.duplicate_of) is distinct from
    (new.version, new.status, new.duplicate_of) then
    perform note_match_change('talent', new.id, new.company_id);
  end if;
  return null;
end
$$;
