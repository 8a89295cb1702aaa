-- Bring your own key: a company's own keys at the providers of an alias, and what of the alias's price its calls then cost.
-- A company has at most one key for an alias and an origin, such as https://api.openai.com. The key is encrypted, and bound
-- to company and origin.
create table own_provider_keys (
  id uuid primary key,
  company_id uuid not null references companies (id),
  alias text not null check (char_length(alias) between 1 and 100),
  origin text not null check (char_length(origin) between 1 and 300),
  sealed_key bytea not null check (octet_length(sealed_key) <= 8192),
  -- For recognition; empty where the key is too short to show a part of it.
  last_four text not null check (char_length(last_four) <= 4),
  created_at timestamptz not null,
  changed_at timestamptz not null,
  unique (company_id, alias, origin)
);

-- Counted by the database itself, so that every process sees a change within a second however it was made.
create table own_key_catalogue (
  only_row boolean primary key default true check (only_row),
  version bigint not null
);
insert into own_key_catalogue (version) values (1);

create function own_provider_keys_changed() returns trigger language plpgsql as $$
begin
  update own_key_catalogue set version = version + 1;
  return null;
end
$$;
create trigger own_provider_keys_changed after insert or update or delete or truncate on own_provider_keys
  for each statement execute function own_provider_keys_changed();

-- Null where companies may not use their own keys; else what of the price their calls are charged, in millionths.
alter table model_aliases add column byok_fee_millionths integer check (byok_fee_millionths between 0 and 1000000);
