-- revision: 1
-- Owner: src/domain/credits
--
-- Returns the rank of an invoice status. A status never follows one of a higher rank, because the payment provider's
-- events arrive late and out of order.
create or replace function invoice_rank(status text) returns integer language sql immutable as $$
  select case status when 'DRAFT' then 0 when 'OPEN' then 1 when 'UNCOLLECTIBLE' then 2 else 3 end
$$;
