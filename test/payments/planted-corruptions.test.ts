import { beforeAll, describe, expect, test } from 'bun:test';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { BALANCE_LEVEL } from '../../src/domain/credits/ledger/credit-account.ts';
import { createReservation } from '../../src/domain/limits/call-reservation.ts';
import { AUDIT_CHECKS, auditBooks } from '../../src/domain/reconciliation/audit.ts';
import { totalsCheck } from '../../src/domain/reconciliation/credit-totals.ts';
import { MONEY_CHECKS } from '../../src/domain/reconciliation/money-checks.ts';
import { planCreditsCheck } from '../../src/domain/reconciliation/plan-credits-check.ts';
import { auditRange } from '../../src/domain/reconciliation/provider/provider-audit.ts';
import { withRemedy } from '../../src/domain/reconciliation/remedies.ts';
import type { Database } from '../../src/ports/database.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { TEST_MS } from '../doubles/patience.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { useDatabase } from '../setup/use-database.ts';
import { type Books, writeBooksOfEverything } from './books-of-everything.ts';
import {
  accounts,
  any,
  balanceUses,
  calls,
  cash,
  companies,
  companyCosts,
  corrections,
  costDays,
  disputes,
  failedRefunds,
  grantLines,
  grants,
  invoiceCredits,
  invoices,
  keyMonths,
  ledger,
  lots,
  more,
  type Planted,
  packRates,
  planRates,
  plant,
  platformDays,
  prices,
  purchases,
  rebalanced,
  refunds,
  retiredUsage,
  spans,
  subjectDays,
  subjectMonths,
  usageDays,
  usageMonths,
  withheld,
} from './planted-facts.ts';
import { useShop } from './use-payments.ts';

const database = useDatabase();
let books: Books;
beforeAll(async () => {
  books = await writeBooksOfEverything(database);
}, TEST_MS);

async function faultsOf(audited: Database, isExact: boolean): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { faults } of auditBooks(audited, { isExact })) found.push(...faults);
  return found;
}

/** What `turnpike audit --exact` and `turnpike audit` find while these are planted. */
async function faultsAfter(statements: readonly Planted[]) {
  const found: Record<'exact' | 'proofs', readonly string[]> = { exact: [], proofs: [] };
  const undone = new Error('undone');
  const planting = database.transaction(async (transaction) => {
    await plant(transaction, statements);
    const inside: Database = {
      ...database,
      ...transaction,
      pool: () => ({ size: 1, busy: 0, waiting: 0 }),
      transaction: async (work) => await work(transaction),
    };
    found.exact = await faultsOf(inside, true);
    found.proofs = await faultsOf(inside, false);
    throw undone;
  });
  await planting.catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return found;
}

interface Corruption {
  readonly of: (books: Books) => Planted | readonly Planted[];
  /** What one of the faults names. */
  readonly subject: (books: Books) => string;
  /** What the same fault says to do. */
  readonly remedy: string;
}

const PLANTED: Readonly<Record<string, Corruption>> = {
  'a deleted transaction of the ledger': {
    of: ({ call }) => ledger.remove({ kind: 'call', source: call.plain }),
    subject: ({ call }) => `call ${call.plain}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'a deleted transaction whose balances were made to fit': {
    of: ({ company, call }) => [ledger.remove({ kind: 'call', source: call.quiet }), ...rebalanced(company)],
    subject: ({ company }) => `account ${company}`,
    remedy: 'no command rewrites the ledger',
  },
  'the amount of a transaction': {
    of: ({ call }) => ledger.change({ kind: 'call', source: call.named }, { amount: more(1n) }),
    subject: ({ call }) => `call ${call.named}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'the seal of a transaction': {
    of: ({ buyer }) => ledger.change({ account: buyer, version: 1n }, { seal: `\\x${'00'.repeat(32)}` }),
    subject: ({ buyer }) => `account ${buyer}`,
    remedy: 'no command rewrites the ledger',
  },
  'the last seal of an account': {
    of: ({ debtor }) => accounts.change({ id: debtor }, { lastSeal: null }),
    subject: ({ debtor }) => `account ${debtor}`,
    remedy: 'no command rewrites the ledger',
  },
  'the balance of an account': {
    of: ({ subscriber }) => accounts.change({ id: subscriber }, { balance: more(5n) }),
    subject: ({ subscriber }) => `account ${subscriber}`,
    remedy: 'no command rewrites the ledger',
  },
  'a deleted account': {
    of: ({ buyer }) => accounts.remove({ id: buyer }),
    subject: ({ buyer }) => `account ${buyer}`,
    remedy: 'no command rewrites the ledger',
  },
  'a deleted account without transactions': {
    of: ({ idle }) => accounts.remove({ id: idle }),
    subject: ({ idle }) => `company ${idle}`,
    remedy: 'restore the row of companies, credit_accounts or postpaid_spans',
  },
  'the credit line of an account': {
    of: ({ buyer }) => accounts.change({ id: buyer }, { line: 1_000_000n }),
    subject: ({ buyer }) => `company ${buyer}`,
    remedy: 'restore the row of companies, credit_accounts or postpaid_spans',
  },
  'the company of a user’s account': {
    of: ({ otherUser, buyer }) => accounts.change({ id: otherUser }, { company: buyer }),
    subject: ({ otherUser }) => otherUser,
    remedy: 'compare both accounts with a backup',
  },
  'a transfer to a user without its other side': {
    of: ({ company, otherUser }) => ledger.remove({ account: company, source: `${company}:to ${otherUser}` }),
    subject: ({ otherUser }) => otherUser,
    remedy: 'compare both accounts with a backup',
  },
  'a doubled grant': {
    of: ({ subscriber, first }) =>
      ledger.double({ source: first }, { version: 1_000n, source: 'in_twice', account: subscriber }),
    subject: () => 'plan-invoice/in_twice',
    remedy: 'turnpike correct',
  },
  'a doubled adjustment': {
    of: ({ company }) =>
      ledger.double({ account: company, kind: 'adjustment' }, { version: 1_000n, source: 'twice' }),
    subject: ({ company }) => `account ${company}`,
    remedy: 'no command rewrites the ledger',
  },
  'a call without its charge': {
    of: ({ call }) => calls.change({ id: call.surcharged }, { charge: 0n }),
    subject: ({ call }) => `call ${call.surcharged}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'a charge without its call': {
    of: ({ call }) => calls.remove({ id: call.written }),
    subject: ({ call }) => `call ${call.written}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'a deleted call that cost nothing': {
    of: ({ call }) => calls.remove({ id: call.failed }),
    subject: ({ company }) => `company ${company}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'the tokens of a call': {
    of: ({ call }) => calls.change({ id: call.plain }, { prompt: more(100n) }),
    subject: ({ call }) => `call ${call.plain}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'the share of a call': {
    of: ({ call }) => calls.change({ id: call.shared }, { share: '500000' }),
    subject: ({ call }) => `call ${call.shared}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'the payer of a call': {
    of: ({ call, otherUser }) => calls.change({ id: call.ofUser }, { payer: otherUser }),
    subject: ({ call }) => `call ${call.ofUser}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'the key of a call': {
    of: ({ call, quietKey }) => calls.change({ id: call.plain }, { key: quietKey }),
    subject: ({ quietKey }) => `key ${quietKey}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'the cost of a call': {
    of: ({ call }) => calls.change({ id: call.plain }, { cost: more(1n) }),
    subject: ({ company }) => `costs of company ${company}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'the end user of a call': {
    of: ({ call }) => calls.change({ id: call.named }, { endUser: 'eve' }),
    subject: ({ company }) => `usage of company ${company} by END_USER`,
    remedy: 'set the stored sums to those of the calls',
  },
  'a price': {
    of: () =>
      prices.change({ alias: 'chat-premium', from: '2026-02-10T00:00:00Z' }, { prompt: more(1_000_000n) }),
    subject: ({ call }) => `call ${call.written}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'a deleted price': {
    of: () => prices.remove({ alias: 'chat-premium', from: '2026-02-10T00:00:00Z' }),
    subject: ({ call }) => `call ${call.written}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'the amount of withheld usage': {
    of: ({ call }) => withheld.change({ call: call.open }, { excess: more(1n) }),
    subject: ({ call }) => `call ${call.open}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'the amount of withheld usage that was posted': {
    of: ({ call }) => withheld.change({ call: call.posted }, { excess: more(1n) }),
    subject: ({ call }) => `call ${call.posted}`,
    remedy: 'turnpike withheld-usage',
  },
  'deleted withheld usage that was posted': {
    of: ({ call }) => withheld.remove({ call: call.posted }),
    subject: ({ call }) => `call ${call.posted}`,
    remedy: 'turnpike withheld-usage',
  },
  'deleted withheld usage that is open': {
    of: ({ call }) => withheld.remove({ call: call.open }),
    subject: ({ call }) => `call ${call.open}`,
    remedy: 'compare the call, its price and its transaction with a backup',
  },
  'usage of a day': {
    of: ({ key }) => usageDays.change({ key, day: '2026-02-20' }, { charge: more(1n) }),
    subject: ({ key }) => `key ${key}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'deleted usage of a day': {
    of: ({ quietKey }) => usageDays.remove({ key: quietKey }),
    subject: ({ quietKey }) => `key ${quietKey}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'usage of deleted calls': {
    of: ({ key }) => retiredUsage.change({ key }, { calls: more(1n) }),
    subject: ({ key }) => `key ${key}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'a month of usage': {
    of: ({ key }) => usageMonths.change({ key, month: '2026-02-01' }, { charge: more(1n) }),
    subject: ({ key }) => key,
    remedy: 'delete the month of this company from usage_months_done',
  },
  'a day of a tag': {
    of: ({ company }) => subjectDays.change({ company, kind: 'TAG', day: '2026-02-20' }, { calls: more(1n) }),
    subject: ({ company }) => company,
    remedy: 'set the stored sums to those of the calls',
  },
  'a day of a project, of calls that were deleted by retention': {
    of: ({ company }) =>
      subjectDays.change({ company, kind: 'PROJECT', day: '2026-01-20' }, { charge: more(1n) }),
    subject: ({ company }) => company,
    remedy: 'set the stored sums to those of the calls',
  },
  'what an end user has spent in a month': {
    of: ({ company }) => subjectMonths.change({ company, subject: 'bob' }, { charge: more(1n) }),
    subject: ({ company }) => `END_USER bob of company ${company}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'deleted spending of an end user': {
    of: ({ company }) => subjectMonths.remove({ company, subject: 'ada' }),
    subject: ({ company }) => `END_USER ada of company ${company}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'spending of an end user whose calls were deleted by retention': {
    of: ({ company }) => subjectMonths.change({ company, subject: 'old' }, { charge: more(1n) }),
    subject: ({ company }) => `END_USER old of company ${company}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'all spending of projects and end users': {
    of: () => subjectMonths.remove({ month: any }),
    subject: ({ company }) => `PROJECT web of company ${company}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'what a key has spent in a month': {
    of: ({ key }) => keyMonths.change({ key, month: '2026-02-01' }, { charge: more(-1n) }),
    subject: ({ key }) => `key ${key} in 2026-02`,
    remedy: 'set the stored sums to those of the calls',
  },
  'deleted spending of a key': {
    of: ({ key }) => keyMonths.remove({ key, month: '2026-01-01' }),
    subject: ({ key }) => `key ${key} in 2026-01`,
    remedy: 'set the stored sums to those of the calls',
  },
  'all spending of keys': {
    of: () => keyMonths.remove({ month: any }),
    subject: ({ quietKey }) => `key ${quietKey}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'the costs of a day': {
    of: ({ company }) => costDays.change({ company, day: '2026-02-20' }, { cost: more(1n) }),
    subject: ({ company }) => `company ${company}`,
    remedy: 'set the stored sums to those of the calls',
  },
  'the costs of a day of the platform': {
    of: () => platformDays.change({ day: '2026-02-20', cost: 11n }, { cost: more(1n) }),
    subject: () => '2026-02-20',
    remedy: 'delete the day from platform_days_done, or the month from company_cost_months_done',
  },
  'the costs of a month of a company': {
    of: ({ company }) => companyCosts.remove({ company, month: '2026-02-01' }),
    subject: ({ company }) => `company ${company}`,
    remedy: 'delete the day from platform_days_done, or the month from company_cost_months_done',
  },
  'the amount of a lot': {
    of: ({ expiring }) => lots.change({ account: expiring, version: 5n }, { amount: more(1n) }),
    subject: ({ expiring }) => `${expiring}:5`,
    remedy: 'compare the lot with the transactions of its account',
  },
  'what is left of a lot, lowered': {
    of: ({ expiring }) => lots.change({ account: expiring, version: 5n }, { left: more(-1n) }),
    subject: ({ expiring }) => `${expiring}:5`,
    remedy: 'compare the lot with the transactions of its account',
  },
  'what is left of a lot, raised': {
    of: ({ expiring }) => lots.change({ account: expiring, version: 5n }, { left: more(1n) }),
    subject: ({ expiring }) => `${expiring}:5`,
    remedy: 'compare the lot with the transactions of its account',
  },
  'the end of a lot': {
    of: ({ expiring }) =>
      lots.change({ account: expiring, version: 5n }, { expires: '2099-01-01T00:00:00Z' }),
    subject: ({ expiring }) => `${expiring}:5`,
    remedy: 'compare the lot with the transactions of its account',
  },
  'a deleted lot': {
    of: ({ expiring }) => lots.remove({ account: expiring, version: 5n }),
    subject: ({ openPack }) => openPack,
    remedy: 'compare the lot with the transactions of its account',
  },
  'a lot of no transaction': {
    of: ({ expiring }) => lots.double({ account: expiring, version: 5n }, { version: 6n }),
    subject: ({ expiring }) => `${expiring}:6`,
    remedy: 'compare the lot with the transactions of its account',
  },
  'what expired of a lot': {
    of: ({ expiring }) => lots.change({ account: expiring, version: 1n }, { taken: more(-1n) }),
    subject: ({ expiring }) => `${expiring}:1`,
    remedy: 'compare the lot with the transactions of its account',
  },
  'the usage of an invoice': {
    of: ({ openInvoice }) => invoices.change({ id: openInvoice }, { usage: more(1n) }),
    subject: ({ openInvoice }) => `invoice ${openInvoice}`,
    remedy: 'compare the invoice and the rows of postpaid_spans',
  },
  'the amount of an invoice': {
    of: ({ openInvoice }) => invoices.change({ id: openInvoice }, { minor: more(1n) }),
    subject: ({ openInvoice }) => `invoice ${openInvoice}`,
    remedy: 'turnpike void-invoice',
  },
  'a deleted invoice': {
    of: ({ openInvoice }) => invoices.remove({ id: openInvoice }),
    subject: ({ debtor }) => `company ${debtor}`,
    remedy: 'compare the invoice and the rows of postpaid_spans',
  },
  'an invoice that was not paid': {
    of: ({ paidInvoice }) => invoices.change({ id: paidInvoice }, { status: 'OPEN' }),
    subject: ({ paidInvoice }) => paidInvoice,
    remedy: 'turnpike mark-invoice-paid',
  },
  'an invoice that is void without giving its usage back': {
    of: ({ openInvoice }) => invoices.change({ id: openInvoice }, { status: 'VOID' }),
    subject: ({ openInvoice }) => `invoice ${openInvoice}`,
    remedy: 'turnpike mark-invoice-paid',
  },
  'how far a span is invoiced': {
    of: ({ debtor }) => spans.change({ company: debtor, until: null }, { invoiced: more(-1n) }),
    subject: ({ debtor }) => `company ${debtor}`,
    remedy: 'compare the invoice and the rows of postpaid_spans',
  },
  'a span that is invoiced beyond its end': {
    of: ({ debtor }) => spans.change({ company: debtor, until: null }, { invoiced: more(100n) }),
    subject: ({ debtor }) => `company ${debtor}`,
    remedy: 'restore the row of companies, credit_accounts or postpaid_spans',
  },
  'a span that overlaps the next': {
    of: ({ debtor }) => spans.change({ company: debtor, until: any }, { until: more(4n) }),
    subject: ({ debtor }) => `company ${debtor}`,
    remedy: 'restore the row of companies, credit_accounts or postpaid_spans',
  },
  'how a company pays': {
    of: ({ debtor }) => companies.change({ id: debtor }, { mode: 'PREPAID' }),
    subject: ({ debtor }) => `company ${debtor}`,
    remedy: 'restore the row of companies, credit_accounts or postpaid_spans',
  },
  'the rate of a pack': {
    of: () => packRates.change({ minor: 1_000n }, { credits: more(1n) }),
    subject: ({ purchase }) => `credit-pack-purchase/${purchase}`,
    remedy: 'turnpike correct',
  },
  'a purchase without its payment': {
    of: ({ purchase }) => cash.remove({ kind: 'credit-pack-purchase', source: purchase }),
    subject: ({ purchase }) => `credit-pack-purchase/${purchase}`,
    remedy: 'turnpike correct',
  },
  'a purchase that nobody has completed': {
    of: ({ purchase }) => purchases.change({ id: purchase }, { status: 'PENDING', completed: null }),
    subject: ({ purchase }) => `credit-pack-purchase/${purchase}`,
    remedy: 'turnpike correct',
  },
  'the credits of a purchase': {
    of: ({ purchase }) => [
      purchases.change({ id: purchase }, { credits: more(1_000_000n) }),
      ledger.change({ kind: 'credit-pack-purchase', source: purchase }, { amount: more(1_000_000n) }),
    ],
    subject: ({ purchase }) => `credit-pack-purchase/${purchase}`,
    remedy: 'turnpike correct',
  },
  'a deleted invoice of a purchase': {
    of: ({ buyer }) => invoices.remove({ company: buyer, kind: 'PACK' }),
    subject: ({ purchase }) => `credit-pack-purchase/${purchase}`,
    remedy: 'restore the one that was changed',
  },
  'the amount of the invoice of a purchase': {
    of: ({ buyer }) => invoices.change({ company: buyer, kind: 'PACK' }, { minor: more(1n) }),
    subject: ({ purchase }) => `credit-pack-purchase/${purchase}`,
    remedy: 'restore the one that was changed',
  },
  'the credits of a plan grant': {
    of: ({ first }) => grants.change({ invoice: first }, { credits: more(1n) }),
    subject: ({ first }) => `plan-invoice/${first}`,
    remedy: 'turnpike correct',
  },
  'a deleted plan grant': {
    of: ({ renewal }) => grants.remove({ invoice: renewal }),
    subject: ({ renewal }) => `plan-invoice/${renewal}`,
    remedy: 'turnpike correct',
  },
  'the amount of an invoice line': {
    of: ({ first }) => grantLines.change({ invoice: first }, { minor: more(-1_000n) }),
    subject: ({ first }) => `plan-invoice/${first}`,
    remedy: 'turnpike replay-payments',
  },
  'the rate of a plan': {
    of: () => planRates.change({ minor: 2_900n, credits: 2_900_000_000n }, { credits: more(100_000_000n) }),
    subject: ({ subscriber }) => `company ${subscriber}`,
    remedy: 'turnpike replay-payments',
  },
  'a deleted invoice line': {
    of: ({ first }) => grantLines.remove({ invoice: first }),
    subject: ({ first }) => `plan-invoice/${first}`,
    remedy: 'turnpike replay-payments',
  },
  'what the customer’s balance paid': {
    of: ({ other }) => balanceUses.change({ invoice: other }, { credits: more(-1n) }),
    subject: ({ other }) => `plan-invoice/${other}`,
    remedy: 'turnpike correct',
  },
  'the money that the customer’s balance paid': {
    of: ({ other }) => balanceUses.change({ invoice: other }, { minor: more(-500n) }),
    subject: ({ other }) => `plan-invoice/${other}`,
    remedy: 'restore the one that was changed',
  },
  'a deleted refund': {
    of: ({ charge }) => refunds.remove({ charge }),
    subject: ({ charge }) => `charge-refund/${charge}`,
    remedy: 'turnpike correct',
  },
  'the credits of a refund': {
    of: ({ charge }) => refunds.change({ charge }, { taken: more(-1n) }),
    subject: ({ charge }) => `charge-refund/${charge}`,
    remedy: 'turnpike correct',
  },
  'a refund of credits that is booked as one of usage': {
    of: ({ buyer, purchase }) => [
      refunds.double(
        { company: buyer },
        {
          charge: 'ch_gift',
          company: buyer,
          kind: 'INVOICE',
          source: purchase,
          refunded: 1n,
          micro: 0n,
          taken: 0n,
          granted: 0n,
        },
      ),
      `update charge_refunds set source_id = (select invoice_id::text from credit_pack_purchases where id = source_id::uuid) where charge_id = 'ch_gift' returning 1`,
      cash.double({ company: buyer, account: 'refunded' }, { id: 1_000n, source: 'ch_gift', minor: 1n }),
    ],
    subject: () => 'charge-refund/ch_gift',
    remedy: 'turnpike replay-payments --object ch_gift',
  },
  'a refund of another company': {
    of: ({ charge, subscriber }) => refunds.change({ charge }, { company: subscriber }),
    subject: ({ charge }) => `charge-refund/${charge}`,
    remedy: 'restore the one that was changed',
  },
  'a deleted refund that failed': {
    of: ({ failedRefund }) => failedRefunds.remove({ id: failedRefund }),
    subject: ({ charge }) => `charge-refund/${charge}`,
    remedy: 'turnpike correct',
  },
  'the credits of a refund that failed': {
    of: ({ failedRefund }) => failedRefunds.change({ id: failedRefund }, { returned: more(1n) }),
    subject: ({ failedRefund }) => failedRefund,
    remedy: 'restore the one that was changed',
  },
  'a deleted dispute': {
    of: ({ dispute }) => disputes.remove({ id: dispute }),
    subject: ({ dispute }) => dispute,
    remedy: 'turnpike correct',
  },
  'a dispute that was won': {
    of: ({ dispute }) => disputes.change({ id: dispute }, { status: 'won' }),
    subject: ({ dispute }) => dispute,
    remedy: 'turnpike correct',
  },
  'a deleted credit note': {
    of: ({ creditNote }) => refunds.remove({ charge: creditNote }),
    subject: ({ creditNote }) => creditNote,
    remedy: 'turnpike correct',
  },
  'a doubled cash entry': {
    of: ({ disputed }) => cash.double({ source: disputed }, { id: 1_000n, step: 'twice' }),
    subject: ({ disputed }) => `credit-pack-purchase/${disputed}`,
    remedy: 'turnpike correct',
  },
  'cash of another company': {
    of: ({ disputed, buyer }) => cash.change({ source: disputed }, { company: buyer }),
    subject: ({ disputed }) => `credit-pack-purchase/${disputed}`,
    remedy: 'restore the one that was changed',
  },
  'the amount of a correction': {
    of: ({ correction }) => corrections.change({ id: correction }, { amount: more(1n) }),
    subject: ({ call }) => `call ${call.corrected}`,
    remedy: 'compare charge_corrections and invoice_credits',
  },
  'a deleted correction': {
    of: ({ correction }) => corrections.remove({ id: correction }),
    subject: ({ call }) => `call ${call.corrected}/`,
    remedy: 'compare charge_corrections and invoice_credits',
  },
  'more corrections than a call cost': {
    of: ({ correction, call }) => corrections.change({ id: correction }, { call: call.quiet, amount: 77n }),
    subject: ({ call }) => `call ${call.quiet}`,
    remedy: 'compare charge_corrections and invoice_credits',
  },
  'what limits have back': {
    of: ({ company }) => usageDays.change({ company, returned: 50n }, { returned: 0n }),
    subject: ({ company }) => `company ${company}`,
    remedy: 'compare charge_corrections and invoice_credits',
  },
  'more returned to a key than it spent': {
    of: ({ quietKey }) => keyMonths.change({ key: quietKey }, { returned: 77n }),
    subject: ({ quietKey }) => `key ${quietKey}`,
    remedy: 'compare charge_corrections and invoice_credits',
  },
  'a deleted credit of an invoice': {
    of: ({ credit }) => invoiceCredits.remove({ correction: credit }),
    subject: ({ openInvoice }) => `invoice ${openInvoice}`,
    remedy: 'compare charge_corrections and invoice_credits',
  },
  'what was credited of a paid invoice': {
    of: ({ paidInvoice }) => invoices.change({ id: paidInvoice }, { credited: more(1n) }),
    subject: ({ paidInvoice }) => `invoice ${paidInvoice}`,
    remedy: 'mark-invoice-paid',
  },
};
describe('P-19 a healthy database that has some of everything', () => {
  test('has no fault', async () => {
    for (const isExact of [true, false]) expect(await faultsOf(database, isExact)).toEqual([]);
  });
});

describe('P-19 one corruption is found, with its subject and what to do', () => {
  test.each(Object.entries(PLANTED))('%s', async (_, { of, subject, remedy }) => {
    const found = await faultsAfter([of(books)].flat());
    for (const faults of Object.values(found)) {
      const told = faults.filter((fault) => fault.includes(subject(books)) && fault.includes(remedy));
      if (told.length === 0) expect(faults).toContain(`${subject(books)} … ${remedy}`);
    }
  });
});

test('each check has a remedy, of its own or for all of its faults', () => {
  const without = AUDIT_CHECKS.filter((check) => withRemedy(check, 'a fault') === 'a fault');
  expect(new Set(without)).toEqual(new Set([...MONEY_CHECKS, totalsCheck, planCreditsCheck]));
});

const HOUR_MS = 3_600_000;

describe('P-24 a refund at the provider that is not in the books', () => {
  const { database: shopDatabase, shop } = useShop();
  const from = new Date('2029-12-20T00:00:00Z');
  const to = new Date('2030-01-02T00:00:00Z');

  test('is found by the comparison with the provider, with its charge and what to do', async () => {
    const { payment } = await shop.buyPack();
    const { latest_charge: charge } = await shop.call('GET', `/v1/payment_intents/${payment}`);
    await shop.sandbox.provider.refund({ paymentId: payment, amountMinor: 400n, metadata: {} }, 'planted');
    await shop.sandbox.settled();
    shop.lose();
    expect(await faultsOf(shopDatabase, true)).toEqual([]);
    const clock = { ...shop.clock, now: () => to.getTime() + HOUR_MS, sleep: async () => {} };
    const provider = shop.sandbox.provider;
    const run = await auditRange({ ...shop.parts, clock, provider }, { from, to });
    expect(run).toMatchObject({
      outcome: 'done',
      report: {
        differences: [
          {
            subject: `charge-refund/${charge}`,
            expected: '400 usd refunded',
            remedy: `turnpike replay-payments --object ${charge}`,
          },
        ],
      },
    });
  });
});

describe('G-29 a hold that never ends', () => {
  const clock = createManualClock(Date.UTC(2030, 0, 1));
  const [log, sharedState] = [createSilentLog(), createInProcessState({ clock })];
  const held = createHeldCredits({ sharedState, log });
  const hold = { kind: 'held', name: BALANCE_LEVEL, amount: 500, rule: 'room', limit: 1_000 } as const;

  test('is refused by shared state, and one that no call renews ends within a day', async () => {
    const forged = (ttlMs: number) => sharedState.reserve('acme', [{ ...hold, entry: 'forged', ttlMs }]);
    await expect(forged(24 * HOUR_MS + 1)).rejects.toThrow('between 1 ms and a day');
    await forged(24 * HOUR_MS);
    expect(await held('acme')).toBe(500n);
    await clock.advance(24 * HOUR_MS);
    expect(await held('acme')).toBe(0n);
  });

  test('is renewed for two days by a call that never ends, then it is released', async () => {
    await sharedState.reserve('acme', [{ ...hold, entry: 'endless', ttlMs: 90_000 }]);
    createReservation({
      ...{ state: sharedState, sharedState, tag: 'acme', clock, isCountedAhead: false, places: [] },
      credits: [{ name: BALANCE_LEVEL, entry: 'endless', amount: 500 }],
      estimate: { name: 'tokens', bucket: 0, counted: 0, own: 0, companys: null },
      ...{ noteUnsettled: () => {}, onReleased: () => {} },
      settleTogether: (state, tag, settlements) => state.settle(tag, settlements),
      running: { add: () => {}, remove: () => {} },
    });
    await clock.advance(48 * HOUR_MS);
    expect(await held('acme')).toBe(500n);
    await clock.advance(90_000);
    expect(await held('acme')).toBe(0n);
  });
});
