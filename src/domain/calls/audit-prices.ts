import type { AuditCheck } from '../credits/audit-check.ts';

/**
 * A price that was in force at once may be missed by calls that ended while it was being written: they have the one
 * before, if they began within ten seconds of its moment. The price of zeros is from before there were prices.
 */
export const pricesCheck: AuditCheck = {
  holds: 'every call costs its tokens at the price that was in force when it began',
  faults: `select case
      when is_charged and price_id is null then format('call %s succeeded with tokens and has no price', id)
      when not is_charged then format('call %s is not to be charged and costs %s micro-credits', id, charge_micro)
      when price is null then format('call %s has the price %s, which there is not', id, price_id)
      when charge_micro <> due then format('call %s costs %s micro-credits; its tokens cost %s', id, charge_micro, due)
      else format('call %s has the price %s, which was not in force for it', id, price_id) end
    from (select calls.*, price.id as price, price.alias as of_alias, in_force_from, until,
        outcome = 'SUCCEEDED' and calls.alias is not null and prompt_tokens is not null as is_charged,
        div((prompt_tokens - least(cached_tokens, prompt_tokens)) * prompt_micro::numeric
          + least(cached_tokens, prompt_tokens) * cached_micro::numeric
          + completion_tokens * completion_micro::numeric + 999999, 1000000) as due
      from calls
      left join (select *, lead(in_force_from) over (partition by alias order by in_force_from) as until
        from model_prices) as price on price.id = price_id) as priced
    where not case
      when not is_charged then charge_micro = 0 and price_id is null
      when price_id = '00000000-0000-0000-0000-000000000000' then charge_micro = 0
      when price is null then false
      else charge_micro = due and of_alias = regexp_replace(alias, '^.*/', '') and in_force_from <= started_at
        and (until is null or started_at < until + interval '10 seconds') end`,
};
