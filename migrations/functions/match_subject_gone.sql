-- revision: 1
-- Owner: src/domain/matching
--
-- Removes a deleted job or talent from matching: its queued change, its facts and its vector.
create or replace function match_subject_gone(gone_id uuid) returns void
language plpgsql as $$
begin
  delete from match_changes where subject_id = gone_id;
  update match_subjects set is_live = false, facts = null, vector = null, embed_model = null,
    written_in = pg_current_xact_id(), written_at = now()
  where subject_id = gone_id;
  perform pg_notify('match_changes', '');
end
$$;
