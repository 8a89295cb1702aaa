import type { Statements } from '../../ports/database.ts';
import { creditsOfMicro } from '../credits/ledger/credit-account.ts';
import type { ComputedCheck } from './audit-check.ts';
import { type Difference, lineOf } from './difference.ts';

/**
 * Credits of the whole system. Those sold, granted, adjusted and given back by paid invoices, less those refunded,
 * spent and expired, equal those left.
 */
export interface CreditTotals {
  readonly soldMicro: bigint;
  readonly grantedMicro: bigint;
  /** Usage that was invoiced and paid. */
  readonly invoicedMicro: bigint;
  /** Including corrections. */
  readonly adjustedMicro: bigint;
  readonly refundedMicro: bigint;
  readonly spentMicro: bigint;
  readonly expiredMicro: bigint;
  readonly leftMicro: bigint;
}

/** Amounts of one currency, in its minor units. */
export interface CashTotals {
  readonly currency: string;
  readonly receivedMinor: bigint;
  readonly refundedMinor: bigint;
  readonly disputedMinor: bigint;
  /** Customer balances at the provider, to be used for their next invoices. */
  readonly customerBalanceMinor: bigint;
  /**
   * The money that was paid for the credits left. The credits of a company are interchangeable, so this is an average:
   * its money after refunds and disputes, taxes included, times the share of its credits left in all credits that it
   * got.
   */
  readonly outstandingMinor: bigint;
}

export interface Totals {
  readonly credits: CreditTotals;
  readonly cash: readonly CashTotals[];
}

export async function readTotals(statements: Statements): Promise<Totals> {
  const [credits] = await statements.query<CreditTotals>(CREDITS);
  if (credits === undefined) throw new Error('the credits could not be added up');
  return { credits, cash: await statements.query<CashTotals>(CASH) };
}

export function totalsDifference({ credits }: Totals): Difference | null {
  const { soldMicro, grantedMicro, invoicedMicro, adjustedMicro } = credits;
  const { refundedMicro, spentMicro, expiredMicro, leftMicro } = credits;
  const expected =
    soldMicro + grantedMicro + invoicedMicro + adjustedMicro - refundedMicro - spentMicro - expiredMicro;
  if (expected === leftMicro) return null;
  return {
    kind: 'TOTALS',
    subject: 'all accounts',
    expected: `${creditsOfMicro(expected)} credits by what was sold, granted, spent, refunded and expired`,
    found: `${creditsOfMicro(leftMicro)} credits`,
    remedy: 'turnpike audit names the accounts whose balance is not the sum of their transactions',
  };
}

export const totalsCheck: ComputedCheck = {
  holds: 'credits sold, granted, spent, expired and left add up',
  async find(statements) {
    const difference = totalsDifference(await readTotals(statements));
    return difference === null ? [] : [lineOf(difference)];
  },
};

const sumOf = (types: string, sign = '') =>
  `coalesce(${sign}sum(amount_micro) filter (where type ${types}), 0)::bigint`;

const CREDITS = `select ${sumOf("= 'PACK_PURCHASE'")} as "soldMicro", ${sumOf("= 'SUBSCRIPTION_GRANT'")} as "grantedMicro",
    ${sumOf("= 'INVOICE_PAYMENT'")} as "invoicedMicro", ${sumOf("= 'ADJUSTMENT'")} as "adjustedMicro",
    ${sumOf("= 'REFUND'", '-')} as "refundedMicro", ${sumOf("= 'USAGE'", '-')} as "spentMicro",
    ${sumOf("= 'EXPIRY'", '-')} as "expiredMicro",
    (select coalesce(sum(balance_micro), 0) from credit_accounts)::bigint as "leftMicro"
  from credit_transactions`;

/** Balances of users count as credits of their company. A company with a negative total has none left. */
const CASH = `with left_over as (
    select company_id, greatest(0, sum(balance_micro)) as left_micro
    from (select coalesce(company_id, id) as company_id, balance_micro from credit_accounts) as accounts group by company_id),
  got as (
    select coalesce(account.company_id, account.id) as company_id, sum(-amount_micro) as gone_micro
    from credit_transactions join credit_accounts as account on account.id = account_id
    where type in ('USAGE', 'EXPIRY')
      and coalesce(account.company_id, account.id) in (select company_id from left_over where left_micro > 0)
    group by 1),
  money as (
    select company_id, currency, ${['received', 'refunded', 'disputed', 'balance']
      .map((account) => `coalesce(sum(amount_minor) filter (where account = '${account}'), 0) as ${account}`)
      .join(', ')}
    from cash_entries group by company_id, currency)
  select currency, sum(received)::bigint as "receivedMinor", sum(refunded)::bigint as "refundedMinor",
    sum(disputed)::bigint as "disputedMinor", -sum(balance)::bigint as "customerBalanceMinor",
    coalesce(sum(round(greatest(0, received + balance - refunded - disputed) * left_micro
      / nullif(left_micro + coalesce(gone_micro, 0), 0))), 0)::bigint as "outstandingMinor"
  from money left join left_over using (company_id) left join got using (company_id)
  group by currency order by currency`;
