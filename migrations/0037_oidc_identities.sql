-- Who signs in by OIDC: the provider's subject is the identity, whatever happens to the address.

create table oidc_identities (
  id uuid primary key,
  issuer text not null check (char_length(issuer) <= 2000),
  subject text not null check (char_length(subject) between 1 and 255),
  user_id uuid not null references users (id),
  -- Made a super admin by the role claim: such a grant ends when the claim does.
  grants_super_admin boolean not null default false,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  unique (issuer, subject),
  unique (issuer, user_id)
);
create index oidc_identities_user on oidc_identities (user_id);
