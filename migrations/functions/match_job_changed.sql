-- revision: 1
-- Owner: src/domain/matching
--
-- Trigger on jobs: reports new, changed and deleted jobs to matching, in the transaction of the change.
create or replace function match_job_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform match_subject_gone(old.id);
  elsif tg_op = 'INSERT' or (old.version, old.status) is distinct from (new.version, new.status) then
    perform note_match_change('job', new.id, new.company_id);
  end if;
  return null;
end
$$;
