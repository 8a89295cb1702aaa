-- One normalisation of e-mail addresses, made in TypeScript (src/domain/accounts/email.ts) and stored: NFKC, case folding,
-- IDNA. Rows from before are filled when a process of this version starts; until then, and where a process of the version
-- before inserts during a rollout, the key is null and is worked out from the address.

alter table users add column email_key text;
create unique index users_email_key on users (email_key) where removed_at is null;
create index users_without_email_key on users (id) where email_key is null;

alter table invitations add column email_key text;
create unique index invitations_open_key on invitations (company_id, email_key)
  where accepted_at is null and withdrawn_at is null;
-- contract: invitations of a company are written one after the other under the lock of its row, and withdraw the open one
drop index invitations_open;
