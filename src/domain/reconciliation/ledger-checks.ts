import type { AuditCheck } from './audit-check.ts';

export const balanceCheck: AuditCheck = {
  holds: 'the balance of every account is the sum of its transactions',
  faults: `select case
      when account.id is null then format('account %s has %s transactions and no row of its own', posted.id, postings)
      when balance_micro <> coalesce(posted.sum, 0) then format('account %s holds %s micro-credits, but its transactions sum to %s',
        account.id, balance_micro, coalesce(posted.sum, 0))
      else format('account %s is at version %s, behind its transaction %s', account.id, account.version, posted.version) end
    from credit_accounts as account
    full join (select account_id as id, sum(amount_micro) as sum, max(version) as version, count(*) as postings
      from credit_transactions group by account_id) as posted on posted.id = account.id
    where account.id is null or balance_micro <> coalesce(posted.sum, 0) or account.version < posted.version`,
};

/** Versions have gaps where the credit line was changed; balances have none. */
export const ledgerChainCheck: AuditCheck = {
  holds: 'each transaction goes on from the balance that the one before it left',
  faults: `select format('transaction %s of account %s leaves %s micro-credits, which is not %s and the %s before it',
      version, account_id, balance_after_micro, amount_micro, before)
    from (select *, coalesce(lag(balance_after_micro) over (partition by account_id order by version), 0) as before
      from credit_transactions) as chained
    where before::numeric + amount_micro <> balance_after_micro or version < 1`,
};

/**
 * The two sides of every transaction cancel out, and so do the balances of all accounts and what the contra accounts
 * gave.
 */
export const ledgerTotalCheck: AuditCheck = {
  holds: 'everything sums to zero',
  faults: `with entries as materialized (
      select coalesce(sum(amount_micro), 0) as total, coalesce(-sum(amount_micro) filter (
        where account in ('sales', 'usage', 'grants', 'receivables', 'adjustments', 'expired')), 0) as given
      from credit_entries)
    select format('both sides of all transactions sum to %s micro-credits, not to 0', total) from entries where total <> 0
    union all
    select format('all accounts hold %s micro-credits, the contra accounts gave %s', held, given)
    from entries, (select coalesce(sum(balance_micro), 0) as held from credit_accounts) as accounts where held <> given`,
};

/** Credits of users belong to their company: they come from its account and return to it. Operators may adjust them. */
export const userTransfersCheck: AuditCheck = {
  holds: 'every transfer between a company and one of its users has both sides, of one amount',
  faults: `select format('the transfer %s takes %s micro-credits from account %s and adds %s to account %s', source_id,
      coalesce(-given.amount_micro, 0), coalesce(given.account_id::text, 'none'), coalesce(taken.amount_micro, 0),
      coalesce(taken.account_id::text, 'none'))
    from (select * from credit_transactions where source_kind = 'credits-to-user') as given
    full join (select * from credit_transactions where source_kind = 'credits-of-user') as taken using (source_id)
    left join credit_accounts as account on account.id = taken.account_id
    where given.amount_micro is null or taken.amount_micro is null or given.amount_micro <> -taken.amount_micro
      or account.owner is distinct from 'USER' or account.company_id is distinct from given.account_id
    union all
    select format('account %s of a user has the type %s, which only accounts of companies have', account.id, posted.type)
    from credit_accounts as account join credit_transactions as posted on posted.account_id = account.id
    where account.owner = 'USER' and (posted.type not in ('USAGE', 'ADJUSTMENT')
      or posted.type = 'ADJUSTMENT' and posted.source_kind not in ('credits-of-user', 'adjustment', 'charge-correction'))`,
};

/** Compares each expired lot of granted credits with its transaction. */
export const expiredCreditsCheck: AuditCheck = {
  holds: 'what every expired lot had left was taken once, and nothing else was',
  faults: `select case
      when lot.id is null then format('transaction %s of account %s is for the credit lot %s, which has not expired so',
        posted.version, posted.account_id, posted.source_id)
      when posted.source_id is null then format('the credit lot %s has expired with %s micro-credits, which were not taken',
        lot.id, lot.expired_micro)
      else format('the credit lot %s has expired with %s micro-credits; its transaction %s has the amount %s',
        lot.id, lot.expired_micro, posted.version, posted.amount_micro) end
    from (select account_id || ':' || version as id, account_id, expired_micro from credit_lots where expired_micro > 0) as lot
    full join (select * from credit_transactions where source_kind = 'credit-lot') as posted on posted.source_id = lot.id
    where lot.id is null or posted.source_id is null or posted.amount_micro <> -lot.expired_micro
      or posted.account_id <> lot.account_id`,
};

/**
 * An invoice for usage that is paid or written off gives back exactly that usage, once, with the source kind of its
 * status, less what was credited. What is credited after its payment is a transaction of its own.
 */
export const invoicesCheck: AuditCheck = {
  holds: 'every settled invoice for usage has given it back, and no other has',
  faults: `select case
      when due.id is null then format('transaction %s of account %s is for the %s %s, which is not settled so',
        posted.version, posted.account_id, posted.source_kind, posted.source_id)
      when posted.source_id is null then format('invoice %s of company %s is %s, its %s micro-credits are not given back',
        due.id, due.company_id, due.status, due.usage_micro)
      else format('invoice %s of company %s is for %s micro-credits; transaction %s of account %s has the amount %s',
        due.id, due.company_id, due.usage_micro, posted.version, posted.account_id, posted.amount_micro) end
    from (select id::text, company_id, status, usage_micro - credited_micro as usage_micro,
        case status when 'PAID' then 'invoice' else 'invoice-void' end as kind
      from invoices where status in ('PAID', 'VOID') and usage_micro is not null) as due
    full join (select account_id, max(version) as version, sum(amount_micro) as amount_micro,
        split_part(source_id, '/', 1) as source_id,
        case source_kind when 'invoice-credit' then 'invoice' else source_kind end as source_kind
      from credit_transactions where source_kind in ('invoice', 'invoice-void', 'invoice-credit') group by 1, 4, 5) as posted
      on posted.source_kind = due.kind and posted.source_id = due.id
    where due.id is null or coalesce(posted.amount_micro, 0) <> due.usage_micro or posted.account_id <> due.company_id`,
};

/** A condition on a transaction `used` and a `span` of its company: usage while the company was POSTPAID. */
const IN_SPAN = `used.account_id = span.company_id and used.type = 'USAGE' and used.version > span.after_version
  and used.version <= coalesce(span.until_version, 9223372036854775807)`;

export const invoiceUsageCheck: AuditCheck = {
  holds: 'all usage of POSTPAID times up to the last invoice is in exactly one invoice',
  faults: `select format('invoice %s asks for %s micro-credits, but in its versions %s were used', invoice.id,
      usage_micro, coalesce(sum, 0))
    from invoices as invoice cross join lateral (
      select sum(-used.amount_micro)
        + coalesce((select sum(amount_micro) from usage_before_midnight as late where late.company_id = invoice.company_id
            and late.version between invoice.first_version and invoice.last_version), 0)
        - coalesce((select sum(amount_micro) from usage_before_midnight as late where late.invoice_id = invoice.id), 0)
        - coalesce((select sum(credits_micro) from invoice_credits as credit
            where credit.invoice_id = invoice.id and amount_minor is null), 0) as sum
      from postpaid_spans as span join credit_transactions as used on ${IN_SPAN}
      where span.company_id = invoice.company_id
        and used.version between invoice.first_version and invoice.last_version) as within
    where kind = 'POSTPAID' and usage_micro <> coalesce(sum, 0)
    union all
    select format('company %s has %s micro-credits of usage that count as invoiced, and invoices for %s', company_id,
      coalesce(counted.sum, 0), coalesce(asked.sum, 0))
    from (
      select company_id, sum(micro) from (
        select span.company_id, -used.amount_micro as micro
        from postpaid_spans as span join credit_transactions as used on ${IN_SPAN}
          and used.version <= span.invoiced_version
        union all
        select span.company_id, -late.amount_micro
        from postpaid_spans as span join usage_before_midnight as late on late.company_id = span.company_id
          and late.version > span.invoiced_version and late.version <= coalesce(span.until_version, late.version)
        union all
        select company_id, -credits_micro from invoice_credits where is_counted and amount_minor is null) as entries
      group by company_id) as counted
    full join (
      select company_id, sum(usage_micro) from invoices where kind = 'POSTPAID' group by company_id) as asked
      using (company_id)
    where coalesce(counted.sum, 0) <> coalesce(asked.sum, 0)`,
};
