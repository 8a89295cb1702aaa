-- Requests are looked up by their key, their end user and the client's own request id. decisions/0059 says what each
-- index costs. PostgreSQL reads the calls once for each; those of that while wait, or go to the journal.
create index calls_key on calls (key_id, started_at) where key_id is not null;
create index calls_end_user on calls (company_id, end_user, started_at) where end_user is not null;
-- Our own ids begin with their moment, by which the call is found.
create index calls_client_request on calls (request_id) where request_id not like 'req\_%';

-- Requests without a known key that were refused: how many of which address, by minute.
create table address_refusals (
  minute timestamptz not null,
  -- Empty for all addresses past the bound.
  address text collate "C" not null,
  code text collate "C" not null,
  count bigint not null,
  primary key (minute, address, code)
);
