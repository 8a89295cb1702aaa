-- Credit balances of users: a share of their company's credits, which keys that the user pays for draw on.

-- Of a user's account the company whose credits it holds; null for the account of a company.
alter table credit_accounts add column company_id uuid;

-- Who pays for the calls of a key; null is the company.
alter table api_keys add column payer_user_id uuid references users (id);
create index api_keys_payer on api_keys (payer_user_id) where payer_user_id is not null;

-- The user who paid for the call; null is the company.
alter table calls add column payer_id uuid;
alter table withheld_usage add column payer_id uuid;
