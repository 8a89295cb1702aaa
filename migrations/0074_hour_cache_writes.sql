-- Of the tokens that a call wrote to the provider's cache, those that stay there for an hour, and what they cost in millionths of the
-- price of a cache write; null if there were none, or if they cost the same.
alter table calls
  add column hour_write_tokens bigint,
  add column hour_write_factor_millionths integer;
