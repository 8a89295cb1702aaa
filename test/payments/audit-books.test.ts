import { beforeAll, describe, expect, test } from 'bun:test';
import { correctCommand } from '../../src/command-line/audit/audit-commands.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../../src/command-line/command.ts';
import { settleInvoiceByHand } from '../../src/domain/credits/invoices/invoice.ts';
import { postMissingCash } from '../../src/domain/payments/cash/cash.ts';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import { settleByHand } from '../../src/domain/payments/postpaid-invoices.ts';
import { readTotals, totalsDifference } from '../../src/domain/reconciliation/credit-totals.ts';
import { MONEY_CHECKS } from '../../src/domain/reconciliation/money-checks.ts';
import { planCreditDifferences } from '../../src/domain/reconciliation/plan-credits-check.ts';
import type { Statements } from '../../src/ports/database.ts';
import { postAt } from '../doubles/posted-usage.ts';
import { typedCommand } from '../doubles/typed-command.ts';
import { CREDIT } from './payments-under-test.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop();
/** A company with a pack of 1,000 credits for 10 usd and a month of 10,000 credits for 100 usd. */
let companyId: string;
let purchaseId: string;
let invoiceId: string;

beforeAll(async () => {
  const plan = await shop.pricedPlan({ price: 100, creditsMicro: 10_000n * CREDIT });
  ({ companyId, purchaseId } = await shop.buyPack());
  const subscription = await shop.call('POST', '/v1/subscriptions', {
    customer: await shop.customerOf(companyId),
    'items[0][price]': plan.providerPriceId,
  });
  invoiceId = String(subscription.latest_invoice);
  await shop.balanceBecomes(companyId, 11_000n * CREDIT);
});

interface Row {
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
  readonly remedy: string;
}
async function differences(statements: Statements = database) {
  const rows = [];
  for (const { kind, differences: sql } of MONEY_CHECKS)
    for (const row of await statements.query<Row>(sql)) rows.push({ kind, ...row });
  return [...rows, ...(await planCreditDifferences(statements, 10))];
}
const cash = async (company: string) =>
  Object.fromEntries(
    (
      await database.query<{ account: string; minor: bigint }>(
        'select account, sum(amount_minor)::bigint as minor from cash_entries where company_id = $1 group by account',
        [company],
      )
    ).map(({ account, minor }) => [account, minor]),
  );

describe('cash accounts', () => {
  test('P-20 P-21 payments, refunds, disputes and credit notes are posted with their credits', async () => {
    const { companyId: other, payment: paid } = await shop.buyPack();
    expect(await cash(other)).toEqual({ received: 1_000n });
    await shop.sandbox.provider.refund({ paymentId: paid, amountMinor: 400n, metadata: {} }, 'part');
    await shop.balanceBecomes(other, 600n * CREDIT);
    expect(await cash(other)).toEqual({ received: 1_000n, refunded: 400n });
    await shop.sandbox.own('/sandbox/disputes', { payment_intent: paid, status: 'lost', amount: 600 });
    await readDisputes(shop.parts);
    expect(await shop.payments.balance(other)).toBe(0n);
    expect(await cash(other)).toEqual({ received: 1_000n, refunded: 400n, disputed: 600n });
    expect(await cash(companyId)).toEqual({ received: 11_000n });
    expect(await differences()).toEqual([]);
  });

  test('P-29 an invoice that is settled by hand is posted as money outside the provider, once', async () => {
    const other = await shop.newCompany();
    const id = crypto.randomUUID();
    await shop.plant(`insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
        last_version, period_start, period_end)
      values ('${id}', '${other}', 'POSTPAID', 'OPEN', 700, 'usd', 76, 1, 2, '2026-01-01', '2026-02-01')`);
    await postAt(database, other, -76n, new Date(shop.clock.now()).toISOString());
    const jobQueue = { enqueue: async () => null };
    const settle = () =>
      settleByHand({ database, jobQueue }, id, (transaction) =>
        settleInvoiceByHand(transaction, { invoiceId: id, paidAt: new Date(shop.clock.now()) }),
      );
    await settle();
    await settle();
    const rows = await database.query(
      'select account, amount_minor as minor, outside from cash_entries where company_id = $1',
      [other],
    );
    expect(rows).toEqual([{ account: 'received', minor: 700n, outside: true }]);
    expect(await differences()).toEqual([]);
  });

  test('outstanding credits are stated in currency: the share of the money that was not spent', async () => {
    const totals = await readTotals(database);
    expect(totalsDifference(totals)).toBeNull();
    // 11,000 credits for 110 usd, all of them left; the other company has none.
    expect(totals.cash).toEqual([
      {
        ...{ currency: 'usd', receivedMinor: 12_700n, refundedMinor: 400n, disputedMinor: 600n },
        ...{ customerBalanceMinor: 0n, outstandingMinor: 11_000n },
      },
    ]);
    expect(totals.credits).toMatchObject({ soldMicro: 2_000n * CREDIT, refundedMicro: 1_000n * CREDIT });
    await postAt(database, companyId, -2_750n * CREDIT, new Date(shop.clock.now()).toISOString());
    const spent = await readTotals(database);
    expect(spent.cash).toMatchObject([{ outstandingMinor: 8_250n }]);
    expect(totalsDifference(spent)).toBeNull();
    const wrong = { ...spent, credits: { ...spent.credits, leftMicro: 1n } };
    expect(totalsDifference(wrong)).toMatchObject({ kind: 'TOTALS', found: '0.000001 credits' });
  });

  test('a history posted repeatedly has the same cash entries', async () => {
    const sums = () =>
      database.query(`select company_id, account, outside, sum(amount_minor)::bigint as minor from cash_entries
        group by 1, 2, 3 order by 1, 2, 3`);
    const before = await sums();
    // One that was set aside, with an amount that cannot be read.
    const unreadable = `jsonb_set(payload, '{data,object,amount_paid}', '"much"')`;
    await shop.plant(`delete from cash_entries;
      insert into provider_events (id, provider_event_id, type, object_id, happened_at, payload, status, error, received_at)
      select gen_random_uuid(), 'evt_unreadable', type, object_id, happened_at + interval '1 second', ${unreadable},
        'FAILED', 'amount_paid cannot be read', received_at
      from provider_events where type = 'invoice.paid' and object_id = '${invoiceId}'`);
    expect((await differences()).filter(({ kind }) => kind === 'CASH')).not.toEqual([]);
    expect(await postMissingCash(database)).toBeGreaterThan(0);
    expect(await sums()).toEqual(before);
    expect(await postMissingCash(database)).toBe(0);
    expect(await differences()).toEqual([]);
  });
});

describe('P-19 faults planted in the books are found, and their remedies fix them', () => {
  const faults: readonly (readonly [string, () => string, () => Partial<Row> & { kind: string }])[] = [
    [
      'a completed purchase whose credits were not posted',
      () => `delete from credit_transactions where source_id = '${purchaseId}'`,
      () => ({
        kind: 'GRANT_POSTING',
        subject: `credit-pack-purchase/${purchaseId}`,
        found: 'nothing posted',
      }),
    ],
    [
      'a grant that was posted twice, under the name of another invoice',
      () => `insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra,
          source_kind, source_id)
        values ('${companyId}', 1000, 'SUBSCRIPTION_GRANT', 10000000000, 0, 'grants', 'plan-invoice', 'in_twice')`,
      () => ({
        kind: 'GRANT_POSTING',
        subject: 'plan-invoice/in_twice',
        remedy: 'turnpike correct plan-invoice/in_twice --credits=-10000',
      }),
    ],
    [
      'a posting whose amount was edited',
      () =>
        `update credit_transactions set amount_micro = 20000000000 where source_kind = 'plan-invoice' and source_id = '${invoiceId}'`,
      () => ({
        kind: 'GRANT_POSTING',
        subject: `plan-invoice/${invoiceId}`,
        found: `20000 credits on account ${companyId}`,
      }),
    ],
    [
      'a refund that took no credits back',
      () => `insert into charge_refunds (charge_id, company_id, source_kind, source_id, amount_minor, currency,
          refunded_minor, granted_micro, refunded_micro, updated_at)
        values ('ch_gift', '${companyId}', 'PURCHASE', '${purchaseId}', 1000, 'usd', 500, 1000000000, 500000000, now());
        select post_missing_cash()`,
      () => ({
        kind: 'REFUND_POSTING',
        subject: 'charge-refund/ch_gift',
        remedy: 'turnpike correct charge-refund/ch_gift --credits=-500',
      }),
    ],
    [
      'a purchase with more credits than its pack brought for its price',
      () => `update credit_pack_purchases set credits_micro = 5000000000 where id = '${purchaseId}';
        update credit_transactions set amount_micro = 5000000000 where source_id = '${purchaseId}'`,
      () => ({
        kind: 'GRANT_POSTING',
        expected: `1000 credits for company ${companyId}`,
        found: `5000 credits on account ${companyId}`,
      }),
    ],
    [
      'a purchase at a price that its pack never had',
      () => `update credit_pack_purchases set amount_minor = 3 where id = '${purchaseId}';
        update cash_entries set amount_minor = 3 where source_id = '${purchaseId}'`,
      () => ({ kind: 'PURCHASE_RATE', found: 'no such version, and 1000 credits' }),
    ],
    [
      'money that nothing explains',
      () => `insert into cash_entries (company_id, account, currency, amount_minor, source_kind, source_id, happened_at)
        values ('${companyId}', 'received', 'usd', 77, 'invoice', 'nothing', now())`,
      () => ({ kind: 'CASH', subject: 'invoice/nothing', expected: '0 usd', found: '77 usd' }),
    ],
  ];

  test.each(faults)('%s', async (_, damage, expected) => {
    // Each on the books as they were: what is found and mended is undone.
    const undo = new Error('undone');
    await database
      .transaction(async (transaction) => {
        await transaction.script(`set local session_replication_role = replica; ${damage()};
          set local session_replication_role = origin`);
        const within = {
          ...database,
          ...transaction,
          transaction: (work: never) => (work as Work)(transaction),
        };
        const found = await differences(transaction);
        expect(found).toEqual([expect.objectContaining(expected())]);
        const [, , ...words] = found[0]?.remedy.split(' ') ?? [];
        const run = () => typedCommand({ database: within as typeof database }, correctCommand, ...words);
        expect(await run()).toMatchObject({ exitCode: EXIT_OK });
        const again = await run();
        expect(again.lines.join()).toContain('was corrected before');
        expect(await differences(transaction)).toEqual([]);
        throw undo;
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error;
      });
  });
});

type Work = (transaction: unknown) => Promise<unknown>;

describe('turnpike correct', () => {
  const typed = (...words: string[]) => typedCommand({ database }, correctCommand, ...words);

  test('lists its options, and refuses what it cannot correct', async () => {
    for (const words of [
      [],
      ['credit-pack-purchase'],
      ['call/x', '--credits=1'],
      [`invoice/${purchaseId}`],
      ['invoice/a/b', '--cash-minor=1'],
      ['invoice/a', '--cash-minor=1.5'],
    ]) {
      expect(await typed(...words)).toMatchObject({ exitCode: EXIT_USAGE });
    }
    const unknown = await typed('invoice/in_unknown', '--cash-minor=1');
    expect(unknown).toMatchObject({ exitCode: EXIT_FAILED });
    expect(unknown.lines.join()).toContain('there is no invoice in_unknown');
  });

  test('a correction with a key is posted once, and the key cannot be used for other amounts', async () => {
    const correct = (...amounts: string[]) =>
      typed(`credit-pack-purchase/${purchaseId}`, ...amounts, '--idempotency-key', 'k');
    expect(await correct('--credits=1')).toMatchObject({ exitCode: EXIT_OK });
    for (const amounts of [['--credits=2'], ['--credits=1', '--cash-minor=3'], ['--cash-minor=3']]) {
      const other = await correct(...amounts);
      expect(other.lines).toEqual([expect.stringContaining('was used for other amounts')]);
    }
    expect((await correct('--credits=1')).lines.join()).toContain('was corrected before');
    const noCash = await typed(`plan-line/${invoiceId}:none`, '--credits=1');
    expect(noCash.exitCode).toBe(EXIT_FAILED);
  });
});
