-- revision: 1
-- Owner: src/domain/matching
--
-- Queues a changed job or talent for matching, in the transaction of the change, and notifies the match generators.
create or replace function note_match_change(wanted_kind text, wanted_id uuid, wanted_company uuid) returns void
language plpgsql as $$
begin
  insert into match_changes (subject_id, kind, company_id) values (wanted_id, wanted_kind, wanted_company)
  on conflict (subject_id) do update
    set change_no = nextval(pg_get_serial_sequence('match_changes', 'change_no')), priority = 0,
        due_at = '-infinity', attempts = 0, error = null;
  perform pg_notify('match_changes', '');
end
$$;
