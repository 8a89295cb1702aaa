-- What kind of provider a target is (src/domain/models/providers.ts), and how its requests differ from the preset's.
alter table model_targets
  add column provider text not null default 'openai' check (char_length(provider) between 1 and 50),
  -- Whether it speaks the Responses API; null keeps to the preset.
  add column responses boolean,
  add column api_version text check (char_length(api_version) between 1 and 40),
  -- A JSON object, encrypted under MASTER_KEY and bound to base_url: a header may carry a secret.
  add column sealed_headers bytea check (octet_length(sealed_headers) between 1 and 131072);
