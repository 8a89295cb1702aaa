import type { AuditCheck } from './audit-check.ts';

/**
 * Checks that credits match money: compares every grant, purchase and refund with its posting, its rate and its cash. A
 * difference names the expected and the found value, and the command that corrects it.
 */
export interface MoneyCheck extends AuditCheck {
  readonly kind: string;
  /** A select of subject, expected, found and remedy, with one row for each difference. */
  readonly differences: string;
}

const MICRO = (expression: string) => `trim_scale((${expression})::numeric / 1000000)`;
const CORRECT = (source: string, credits: string) =>
  `format('turnpike correct %s --credits=%s', ${source}, ${MICRO(credits)})`;
const CORRECT_CASH = (source: string, minor: string) =>
  `format('turnpike correct %s --cash-minor=%s', ${source}, ${minor})`;

/** `turnpike audit` prints a difference in one line; `fault` is the SQL expression of its first part. */
function moneyCheck(
  kind: string,
  holds: string,
  differences: string,
  fault = `format('%s: expected %s, found %s', subject, expected, found)`,
): MoneyCheck {
  return {
    kind,
    holds,
    differences,
    faults: `select ${fault} || '. To mend it: ' || remedy from (${differences}) as difference`,
  };
}

/** Corrections by operators, with the source that each corrects. */
const CORRECTIONS = `select split_part(source_id, '/', 1) as kind, split_part(source_id, '/', 2) as id, account_id,
    amount_micro, true as is_correction
  from credit_transactions where source_kind = 'correction'`;

/** The credits of the pack version that had the price of a purchase. Versions are recorded when a pack is written. */
const PACK_RATE = `select credits_micro from pack_rates as rate where rate.credit_pack_id = purchase.credit_pack_id
    and rate.currency = purchase.currency and rate.price_minor = purchase.amount_minor
    order by rate.credits_micro = purchase.credits_micro desc, created_at desc limit 1`;

/**
 * Compares every purchase and grant with its postings, by source kind. The source kinds are deliberately repeated here.
 * A source that was corrected to zero counts as reversed.
 */
export const grantsCheck = moneyCheck(
  'GRANT_POSTING',
  'every completed purchase and plan grant has its one transaction, and there is no other',
  `with due as (
      select 'credit-pack-purchase' as kind, id::text, company_id, coalesce(rate.credits_micro, purchase.credits_micro) as amount
      from credit_pack_purchases as purchase left join lateral (${PACK_RATE}) as rate on true where status = 'COMPLETED'
      union all
      select 'plan-invoice', provider_invoice_id, company_id, credits_micro from plan_grants
      where credits_micro <> 0
      union all
      select 'plan-invoice', provider_invoice_id, company_id, credits_micro from balance_uses
      where credits_micro <> 0
      union all
      select 'plan-line', provider_invoice_id || ':' || provider_line_id, company_id, moved_micro from plan_grant_lines
      where kind in ('TRIAL', 'FREE') and moved_micro <> 0),
    posted as (
      select kind, id, account_id, sum(amount_micro) as amount, bool_or(is_correction) as is_corrected
      from (select source_kind as kind, source_id as id, account_id, amount_micro, false as is_correction
          from credit_transactions where source_kind in ('credit-pack-purchase', 'plan-invoice', 'plan-line')
        union all ${CORRECTIONS}) as entries
      where kind in ('credit-pack-purchase', 'plan-invoice', 'plan-line')
      group by kind, id, account_id)
    select coalesce(due.kind, posted.kind) || '/' || coalesce(due.id, posted.id) as subject,
      case when due.id is null then 'no credits: it is not there or not complete'
        else format('%s credits for company %s', ${MICRO('due.amount')}, due.company_id) end as expected,
      case when posted.id is null then 'nothing posted'
        else format('%s credits on account %s', ${MICRO('posted.amount')}, posted.account_id) end as found,
      case when posted.account_id <> due.company_id
        then format('take %s credits from account %s and give them to %s with turnpike adjust-credits', ${MICRO('posted.amount')},
          posted.account_id, due.company_id)
        else ${CORRECT(`coalesce(due.kind, posted.kind) || '/' || coalesce(due.id, posted.id)`, 'coalesce(due.amount, 0) - coalesce(posted.amount, 0)')}
        end as remedy
    from due full join posted on posted.kind = due.kind and posted.id = due.id
    where (due.id is null and posted.amount <> 0) or (due.id is not null and (posted.id is null
      or posted.account_id <> due.company_id or (posted.amount <> due.amount and not (is_corrected and posted.amount = 0))))`,
);

/** A dispute or a credit note may be corrected under its own name too. */
const OF_RETURNS = "kind in ('charge-refund', 'dispute', 'credit-note')";

/**
 * Lost disputes with what they are to take back (`due`) of what was paid, and what their row says (`taken`), in money: at most
 * what is left of the payment after refunds. Credit notes are not subtracted: their money is on the customer's balance.
 */
const LOST_DISPUTES = `select dispute.dispute_id, dispute.currency, source.paid, source.granted, coalesce(own.refunded_minor, 0) as taken,
        least(dispute.amount_minor, source.paid - coalesce((select sum(refunded_minor) from charge_refunds as other
          where other.source_kind = source.kind and other.source_id = source.id and other.charge_id <> dispute.dispute_id
            and not starts_with(other.charge_id, 'cn_')), 0)) as due
      from payment_disputes as dispute
      left join charge_refunds as own on own.charge_id = dispute.dispute_id
      join lateral (
        select 'PURCHASE' as kind, id::text as id, amount_minor + tax_minor as paid, credits_micro as granted
        from credit_pack_purchases where own.source_kind = 'PURCHASE' and id::text = own.source_id
        union all
        select 'PLAN_GRANT', provider_invoice_id, amount_minor, greatest(0, coalesce(moved_micro, credits_micro)) from plan_grants
        where own.source_kind = 'PLAN_GRANT' and provider_invoice_id = own.source_id
          or own.charge_id is null and provider_charge_id = dispute.charge_id) as source on true
      where dispute.status = 'lost'`;
/** The credits that a lost dispute should have taken besides those of its row; corrections take them. */
const MISSING_MICRO = 'ceil(granted::numeric * (due - taken) / paid)';

/**
 * A charge may be refunded in parts. Each is a transaction whose source is the charge and the sum so far. Credits
 * returned by a failed refund are subtracted. An operator may have corrected a lost dispute by the credits that its row lacks;
 * what was corrected to nothing counts as reversed.
 */
export const refundsCheck = moneyCheck(
  'REFUND_POSTING',
  'what was given back of every charge has been taken from its account, once',
  `select 'charge-refund/' || coalesce(due.charge_id, taken.charge_id) as subject,
      format('%s credits taken from company %s', ${MICRO('coalesce(due.refunded_micro, 0) + missing')},
        coalesce(due.company_id, taken.account_id)) as expected,
      format('%s credits taken', ${MICRO('coalesce(taken.amount, 0)')}) as found,
      ${CORRECT(`'charge-refund/' || coalesce(due.charge_id, taken.charge_id)`, 'coalesce(taken.amount, 0) - coalesce(due.refunded_micro, 0) - missing')}
        as remedy
    from (select charge_id, company_id, coalesce(taken_micro, refunded_micro) as refunded_micro from charge_refunds) as due
    full join (select account_id, charge_id, -sum(amount_micro) as amount, bool_or(is_correction) as is_corrected
      from (select account_id, regexp_replace(source_id, '(:[0-9]+){1,2}$', '') as charge_id, amount_micro,
            false as is_correction
          from credit_transactions where source_kind = 'charge-refund'
        union all
        select account_id, charge_id, amount_micro, false
          from credit_transactions join failed_refunds on refund_id = source_id where source_kind = 'failed-refund'
        union all
        select account_id, id, amount_micro, true from (${CORRECTIONS}) as corrections where ${OF_RETURNS}) as posted
      group by account_id, charge_id) as taken
      on taken.charge_id = due.charge_id and taken.account_id = due.company_id
    left join lateral (select coalesce(max(${MISSING_MICRO}), 0) as missing from (${LOST_DISPUTES}) as lost
      where is_corrected and dispute_id = taken.charge_id and taken < due and paid > 0) as corrected on true
    where coalesce(due.refunded_micro, 0) + missing <> coalesce(taken.amount, 0)
      and not (coalesce(is_corrected, false) and taken.amount = 0)`,
);

/** Those that were corrected are compared by `refundsCheck`. */
export const disputesCheck = moneyCheck(
  'DISPUTE_POSTING',
  'every lost dispute has taken back the credits of its money',
  `select 'charge-refund/' || dispute_id as subject, format('%s %s taken back', due, currency) as expected,
      format('%s %s', taken, currency) as found,
      ${CORRECT(`'charge-refund/' || dispute_id`, `-${MISSING_MICRO}`)} as remedy
    from (${LOST_DISPUTES}) as lost
    where taken < due and paid > 0 and not exists (select 1 from (${CORRECTIONS}) as corrections
      where ${OF_RETURNS} and id = dispute_id)`,
);

/** Checks that the pack had the price of the purchase at some time. `grantsCheck` compares the credits. */
export const purchaseRatesCheck = moneyCheck(
  'PURCHASE_RATE',
  'every purchase has a price that its pack had',
  `select 'credit-pack-purchase/' || purchase.id as subject,
      format('a version of pack %s for %s %s', credit_pack_id, amount_minor, currency) as expected,
      format('no such version, and %s credits', ${MICRO('credits_micro')}) as found,
      ${CORRECT(`'credit-pack-purchase/' || purchase.id`, '-credits_micro')} as remedy
    from credit_pack_purchases as purchase
    where status = 'COMPLETED' and not exists (${PACK_RATE}) and not exists (select 1 from (${CORRECTIONS}) as corrections
      where kind = 'credit-pack-purchase' and id = purchase.id::text)`,
);

/**
 * Compares the cash of every source with the source's own row. Cash that an operator corrected is skipped: only the
 * provider knows the right amount. For a plan's invoice the paid amount is known exactly; for other invoices the total
 * is the upper limit.
 */
export const cashCheck = moneyCheck(
  'CASH',
  'every purchase, paid invoice, refund and lost dispute has its money in the cash accounts, and nothing else has',
  `with cash as (
      select source_kind as kind, source_id as id, bool_or(starts_with(step, 'correction:')) as is_corrected,
        coalesce(sum(amount_minor) filter (where account = 'received'), 0) as received,
        coalesce(sum(amount_minor) filter (where account in ('received', 'balance')), 0) as paid,
        coalesce(sum(amount_minor) filter (where account in ('refunded', 'disputed')), 0)
          - coalesce(sum(amount_minor) filter (where account = 'balance'), 0) as returned,
        min(currency) as currency
      from cash_entries group by source_kind, source_id),
    due as (
      select 'credit-pack-purchase' as kind, id::text, currency, amount_minor + tax_minor as least, amount_minor + tax_minor as most
      from credit_pack_purchases where status = 'COMPLETED'
      union all
      select 'invoice', invoice.id::text, invoice.currency, coalesce(grants.amount_minor, 0),
        coalesce(grants.amount_minor, invoice.amount_minor)
      from invoices as invoice left join plan_grants as grants on grants.provider_invoice_id = invoice.provider_invoice_id
        and grants.moved_micro is not null
      where invoice.status = 'PAID' and invoice.kind <> 'PACK'
      union all
      select case when starts_with(charge_id, 'cn_') then 'credit-note' else 'charge-refund' end, charge_id, currency,
        refunded_minor, refunded_minor
      from charge_refunds as refund where refunded_minor > 0
        and not exists (select 1 from payment_disputes where dispute_id = refund.charge_id)
      union all
      select 'dispute', dispute_id, currency, amount_minor, amount_minor from payment_disputes where status = 'lost'),
    compared as (
      select coalesce(due.kind, cash.kind) as kind, coalesce(due.id, cash.id) as id,
        coalesce(due.currency, cash.currency) as currency, coalesce(due.least, 0) as least, coalesce(due.most, 0) as most,
        coalesce(case when cash.kind in ('credit-pack-purchase', 'invoice') then greatest(0, cash.paid) else cash.returned end, 0)
          as minor, coalesce(is_corrected, false) as is_corrected
      from due full join cash on cash.kind = due.kind and cash.id = due.id)
    select kind || '/' || id as subject,
      case when least = most then format('%s %s', most, currency) else format('at most %s %s', most, currency) end as expected,
      format('%s %s', minor, currency) as found,
      ${CORRECT_CASH(
        `kind || '/' || id`,
        `(case when minor > most then most else least end - minor)
        * case kind when 'credit-note' then -1 else 1 end`,
      )} as remedy
    from compared where (minor < least or minor > most) and not is_corrected`,
);

export const MONEY_CHECKS: readonly MoneyCheck[] = [
  grantsCheck,
  refundsCheck,
  disputesCheck,
  purchaseRatesCheck,
  cashCheck,
];
