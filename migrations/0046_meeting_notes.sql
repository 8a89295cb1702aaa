-- What was handed in about a meeting: the words that were said, or notes of them.
alter table meeting_transcripts add column kind text not null default 'transcript'
  check (kind in ('transcript', 'notes'));
