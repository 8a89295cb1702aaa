-- Companies take turns at the match score generator: for each of them what waits longest.
create index match_changes_turns on match_changes (priority, company_id, change_no);
create index match_pairs_turns on match_pairs (company_id, pair_no) where failed_at is null;
