import type { AuditCheck } from './audit-check.ts';

export const billingCheck: AuditCheck = {
  holds:
    'every company has its account, with the credit line and the times of invoiced usage of its billing mode',
  faults: `select case
      when account.id is null then format('company %s has no credit account', company.id)
      when line_micro is distinct from due_line then format('company %s is %s with a credit line of %s; its account has one of %s',
        company.id, billing_mode, coalesce(due_line::text, 'any amount'), coalesce(line_micro::text, 'any amount'))
      else format('company %s is %s, and %s times of its usage are open for invoices', company.id, billing_mode, coalesce(open, 0)) end
    from (select *, case billing_mode when 'PREPAID' then 0 else credit_limit_micro end as due_line from companies) as company
    left join credit_accounts as account on account.id = company.id
    left join (select company_id, count(*) as open from postpaid_spans where until_version is null group by company_id) as span
      on span.company_id = company.id
    where account.id is null or line_micro is distinct from due_line
      or coalesce(open, 0) <> case billing_mode when 'POSTPAID' then 1 else 0 end
    union all
    select format('usage of company %s after transaction %s, up to %s, counts as invoiced up to %s: its account is at version %s, the next such time begins after %s',
      span.company_id, after_version, coalesce(until_version::text, 'now'), invoiced_version, account.version, coalesce(next::text, 'none'))
    from (select *, lead(after_version) over (partition by company_id order by after_version) as next from postpaid_spans) as span
    join credit_accounts as account on account.id = span.company_id
    where greatest(after_version, until_version, invoiced_version) > account.version or invoiced_version > until_version
      or coalesce(until_version, account.version) > next`,
};

/** Invoices at the operator's own price are not compared: it is a setting. A day is left for invoices of that moment. */
export const agreedPricesCheck: AuditCheck = {
  holds: 'every invoice for usage since a rate was agreed asks for the price of its usage at that rate',
  faults: `select format('invoice %s of company %s asks for %s %s; its %s micro-credits cost %s %s as agreed', invoice.id,
      company_id, amount_minor, invoice.currency, usage_micro, due, terms.currency)
    from invoices as invoice join postpaid_terms as terms using (company_id)
    cross join lateral (select div(usage_micro::numeric * price_minor + credits_micro::numeric * least_minor - 1,
      credits_micro::numeric * least_minor) * least_minor as due) as priced
    where kind = 'POSTPAID' and invoice.created_at > agreed_at + interval '1 day'
      and (amount_minor <> due or invoice.currency <> terms.currency)`,
};

/** The credits that a lot began with: the rest of its grant paid a debt. */
const BEGUN = 'least(lot.amount_micro, greatest(0, balance_after_micro))';

/**
 * What is left of a lot is what it began with, less what was spent up to `counted_version`. Other lots may have been spent
 * instead, up to their amounts, and what is taken back may come from credits that never expire.
 */
export const lotsCheck: AuditCheck = {
  holds: 'every lot of credits that expire is that of its grant, and has left what was not spent of it',
  faults: `select case
      when granted is null then format('the credit lot %s:%s has no transaction that granted it', account_id, version)
      when granted <> amount_micro then format('the credit lot %s:%s is of %s micro-credits, its transaction of %s', account_id,
        version, amount_micro, granted)
      else format('the credit lot %s:%s has %s micro-credits left at version %s; by what was spent it has from %s to %s',
        account_id, version, left_micro, counted_version, least_left, most_left) end
    from (
      select lot.*, posted.amount_micro as granted, greatest(0, ${BEGUN} - spent) as least_left,
        least(${BEGUN} - taken_back_micro, greatest(0, ${BEGUN} - greatest(0, used - others))) as most_left
      from credit_lots as lot left join credit_transactions as posted using (account_id, version)
      cross join lateral (
        select coalesce(-sum(amount_micro), 0) as spent,
          coalesce(-sum(amount_micro) filter (where type <> 'REFUND' and source_kind <> 'correction'), 0) as used
        from credit_transactions as after where after.account_id = lot.account_id and after.version > lot.version
          and after.version <= lot.counted_version and after.amount_micro < 0 and type <> 'EXPIRY'
          and (source_kind <> 'credits-to-user' or starts_with(source_id, 'return:'))) as since
      cross join lateral (
        select coalesce(sum(amount_micro), 0) as others from credit_lots as other
        where other.account_id = lot.account_id and other.version <> lot.version and other.version < lot.counted_version
          and (other.expired_at is null or other.counted_version > lot.version)) as beside) as lot
    where granted is distinct from amount_micro or left_micro not between least_left and most_left
    union all
    select format('purchase %s of company %s brought credits that expire after %s days; its credit lot %s:%s %s', purchase.id,
      company_id, credits_expire_after_days, account_id, version, coalesce('ends at ' || lot.expires_at, 'is not there'))
    from credit_pack_purchases as purchase
    join credit_transactions as posted on source_kind = 'credit-pack-purchase' and source_id = purchase.id::text
    left join credit_lots as lot using (account_id, version)
    where credits_expire_after_days is not null and purchase.status = 'COMPLETED' and (lot.expires_at is null
      or lot.expires_at <> granted_at + make_interval(hours => 24 * credits_expire_after_days))`,
};
