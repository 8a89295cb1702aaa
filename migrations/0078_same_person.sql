-- People who were taken for one can be told apart again, and two talents of one person can be joined by a user.

-- contract: widens only: the version before writes none of the new values
alter table talent_decisions drop constraint talent_decisions_because_check,
  add constraint talent_decisions_because_check
    check (because in ('same-file', 'same-email', 'same-name-and-phone', 'by-user'));
-- contract: widens only: the version before writes none of the new values
alter table talent_decisions drop constraint talent_decisions_effect_check,
  -- separated: a user said that they are two people. They are not linked again by what a CV says.
  add constraint talent_decisions_effect_check check (effect in ('returned', 'updated', 'linked', 'separated'));
-- contract: widens only: the version before writes none of the new values
alter table talent_versions drop constraint talent_versions_what_check,
  add constraint talent_versions_what_check
    check (what in ('created', 'edited', 'parsed', 'parse-failed', 'sent-again', 'newer-cv', 'separated')),
  -- For newer-cv: whose CV it is, and the evidence, document and engine of the version before, to go back to it. For
  -- edited: of whose CV something was accepted. For separated: from whom.
  add column from_talent_id uuid references talents (id) on delete set null,
  add column replaced jsonb;
create index talent_versions_from on talent_versions (from_talent_id) where from_talent_id is not null;
