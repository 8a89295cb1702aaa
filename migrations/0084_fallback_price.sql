-- What a call costs that the fallback of an alias serves: at most what the requested alias would have cost, which is also null, or
-- the price of the alias that served it.
alter table model_aliases add column fallback_price text check (fallback_price in ('requested', 'served'));
