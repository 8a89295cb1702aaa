-- What tiers of providers cost, by field and value of the body, in millionths of the alias's price; null: none has a factor.
alter table model_aliases add column price_factors jsonb;

-- At which factor the tokens of a call were charged, and for which tiers; null at the plain price.
alter table calls
  add column price_factor_millionths integer,
  add column tier text;
