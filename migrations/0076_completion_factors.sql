-- At which factor the completion of a call was charged, where it differs from that of its prompt; null: price_factor_millionths applies.
alter table calls add column completion_factor_millionths integer;
