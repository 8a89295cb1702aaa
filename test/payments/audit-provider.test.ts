import { beforeAll, describe, expect, test } from 'bun:test';
import { correctCommand } from '../../src/command-line/audit/audit-commands.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../../src/command-line/command.ts';
import { auditCommand } from '../../src/command-line/credit-commands.ts';
import { replayPaymentsCommand } from '../../src/command-line/payment-commands.ts';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import {
  auditDaily,
  auditRange,
  readReport,
} from '../../src/domain/reconciliation/provider/provider-audit.ts';
import type { PaymentProvider } from '../../src/ports/payment-provider.ts';
import { typedCommand } from '../doubles/typed-command.ts';
import { CREDIT } from './payments-under-test.ts';
import { countingCalls } from './shop-under-test.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop();
let plan: Awaited<ReturnType<typeof shop.pricedPlan>>;
beforeAll(async () => {
  plan = await shop.pricedPlan({ price: 100, creditsMicro: 10_000n * CREDIT });
});

const RANGE = { from: new Date('2029-12-20T00:00:00Z'), to: new Date('2030-01-02T00:00:00Z') };
/** The next day: everything has settled. */
const clock = () => ({ ...shop.clock, now: () => RANGE.to.getTime() + 3_600_000, sleep: async () => {} });
const parts = (provider: PaymentProvider = shop.sandbox.provider) => ({
  ...{ ...shop.parts, clock: clock(), provider },
});
async function audit(provider?: PaymentProvider) {
  const run = await auditRange(parts(provider), RANGE);
  if (run.outcome !== 'done') throw new Error(run.message);
  return run.report;
}
const differences = async () => (await audit()).differences;

const opened = (words: string[], command: typeof auditCommand) =>
  typedCommand(
    { database, payments: async () => parts(), paymentProvider: async () => shop.sandbox.provider },
    command,
    ...words,
  );
/** Does what a remedy says, as an operator would. */
async function mend(remedy: string): Promise<void> {
  const [, command, ...words] = remedy.split(' ');
  if (remedy.startsWith('refund charge ')) {
    const wanted = { paymentId: remedy.split(' ')[2] ?? '', amountMinor: null, metadata: {} };
    expect(await shop.sandbox.provider.refund(wanted, remedy)).toMatchObject({ outcome: 'done' });
    return await shop.deliver();
  }
  const known = { correct: correctCommand, 'replay-payments': replayPaymentsCommand }[command ?? ''];
  if (known === undefined) throw new Error(`no command of this test: ${remedy}`);
  expect(await opened(words, known)).toMatchObject({ exitCode: EXIT_OK });
}
/** Events that never arrive. */
async function lose(): Promise<void> {
  await shop.sandbox.settled();
  shop.lose();
}
/** A company that has paid 10 usd for 1,000 credits. */
async function buyer() {
  const bought = await shop.buyPack();
  const intent = await shop.call('GET', `/v1/payment_intents/${bought.payment}`);
  return { ...bought, charge: String(intent.latest_charge) };
}
/** A company that has paid 100 usd for 10,000 credits of a plan. */
async function subscriber(isLost = false) {
  const { companyId, customer, invoice } = await shop.subscribe(plan.providerPriceId);
  if (isLost) await lose();
  else await shop.balanceBecomes(companyId, 10_000n * CREDIT);
  const { payment_intent } = await shop.call('GET', `/v1/invoices/${invoice}`);
  return { companyId, customer, invoice, payment: String(payment_intent) };
}
const balance = (companyId: string) => shop.payments.balance(companyId);
const refund = (payment: string, amountMinor: bigint) =>
  shop.sandbox.provider.refund(
    { paymentId: payment, amountMinor, metadata: {} },
    `${payment}:${amountMinor}`,
  );
const dispute = async (payment: string) => {
  const answer = await shop.sandbox.own('/sandbox/disputes', { payment_intent: payment, status: 'lost' });
  return String(((await answer.json()) as { id: string }).id);
};
const post = (companyId: string, micro: bigint, kind: string, id: string) => `
  insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind, source_id)
  select id, version + 1, 'ADJUSTMENT', ${micro}, balance_micro + ${micro}, 'adjustments', '${kind}', '${id}'
  from credit_accounts where id = '${companyId}';
  update credit_accounts set version = version + 1, balance_micro = balance_micro + ${micro} where id = '${companyId}';`;

describe('P-24 the audit against the payment provider', () => {
  test('finds nothing in correct books: purchases, plans, refunds, credit notes, disputes, failed refunds', async () => {
    const [refunded, disputed] = [await buyer(), await buyer()];
    await refund(refunded.payment, 300n);
    const failed = await refund(refunded.payment, 200n);
    await shop.deliver();
    if (failed.outcome === 'done') {
      await shop.sandbox.own('/sandbox/refunds', { refund: failed.value.id, status: 'failed' });
    }
    await dispute(disputed.payment);
    const { invoice, companyId } = await subscriber();
    for (const way of ['credit_amount', 'out_of_band_amount', 'refund_amount']) {
      await shop.call('POST', '/v1/credit_notes', { invoice, amount: '1000', [way]: '1000' });
    }
    await shop.deliver();
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(7_000n * CREDIT);
    expect(await balance(refunded.companyId)).toBe(700n * CREDIT);
    const report = await audit();
    expect(report.differences).toEqual([]);
    expect(report.totals.cash).toMatchObject([
      { receivedMinor: 12_000n, refundedMinor: 2_300n, disputedMinor: 1_000n, customerBalanceMinor: 1_000n },
    ]);
    expect(await readReport(database)).toEqual(report);
  });

  const faults: readonly (readonly [
    name: string,
    plant: () => Promise<string>,
    kinds: readonly string[],
    mended: bigint | null,
  ])[] = [
    // First: reading disputes would mend those that are missed below.
    [
      'a dispute that was lost after a credit note, and took only the rest',
      async () => {
        const { companyId, invoice, payment } = await subscriber();
        await shop.call('POST', '/v1/credit_notes', { invoice, amount: '2500', credit_amount: '2500' });
        await readDisputes(parts());
        const id = await dispute(payment);
        await readDisputes(parts());
        await shop.plant(`update charge_refunds set amount_minor = 7500, refunded_minor = 7500, granted_micro = 7500000000,
            refunded_micro = 7500000000 where charge_id = '${id}'`);
        return companyId;
      },
      ['DISPUTE_POSTING'],
      null,
    ],
    [
      'a payment without its grant: the checkout never arrived',
      async () => {
        const { companyId, sessionId } = await shop.openPack();
        await shop.sandbox.click(`/checkout/${sessionId}/pay`);
        await lose();
        return companyId;
      },
      ['CHARGE_NOT_BOOKED'],
      1_000n,
    ],
    [
      'a purchase without a payment',
      async () => {
        const { companyId } = await buyer();
        const id = crypto.randomUUID();
        await shop.plant(`insert into credit_pack_purchases (id, company_id, credit_pack_id, status, credits_micro, amount_minor,
            currency, provider_payment_intent_id, created_at, completed_at, updated_at)
          select '${id}', company_id, credit_pack_id, status, credits_micro, amount_minor, currency, 'pi_none', created_at,
            completed_at, updated_at from credit_pack_purchases where company_id = '${companyId}';
          ${post(companyId, 1_000n * CREDIT, 'credit-pack-purchase', id)} select post_missing_cash()`);
        return companyId;
      },
      ['PURCHASE_WITHOUT_PAYMENT'],
      1_000n,
    ],
    [
      'a purchase that was paid twice',
      async () => {
        const { companyId, purchaseId } = await buyer();
        const { id } = await shop.call('POST', '/v1/checkout/sessions', {
          ...{ mode: 'payment', success_url: 'https://console.example/', client_reference_id: purchaseId },
          ...{ 'line_items[0][quantity]': '1', 'payment_intent_data[metadata][purchaseId]': purchaseId },
          'line_items[0][price]': await packPrice(companyId),
        });
        await shop.sandbox.click(`/checkout/${id}/pay`);
        await shop.deliver();
        return companyId;
      },
      ['CHARGE_NOT_BOOKED'],
      1_000n,
    ],
    [
      'a refund that took no credits back',
      async () => {
        const { companyId, payment } = await buyer();
        await refund(payment, 400n);
        await lose();
        return companyId;
      },
      ['REFUND_NOT_BOOKED'],
      600n,
    ],
    [
      'a refund that failed and gave nothing back',
      async () => {
        const { companyId, payment } = await buyer();
        const made = await refund(payment, 400n);
        await shop.deliver();
        if (made.outcome === 'done')
          await shop.sandbox.own('/sandbox/refunds', { refund: made.value.id, status: 'failed' });
        await lose();
        return companyId;
      },
      ['REFUND_UNKNOWN'],
      1_000n,
    ],
    [
      'a refund that there was not',
      async () => {
        const { companyId, purchaseId, charge } = await buyer();
        await shop.plant(`insert into charge_refunds (charge_id, company_id, source_kind, source_id, amount_minor, currency,
            refunded_minor, granted_micro, refunded_micro, updated_at)
          values ('${charge}', '${companyId}', 'PURCHASE', '${purchaseId}', 1000, 'usd', 500, 1000000000, 500000000,
            '2030-01-01');
          ${post(companyId, -500n * CREDIT, 'charge-refund', `${charge}:500`)} select post_missing_cash()`);
        return companyId;
      },
      ['REFUND_UNKNOWN'],
      1_000n,
    ],
    [
      'a credit note after payment that was missed',
      async () => {
        const { companyId, invoice } = await subscriber();
        await shop.call('POST', '/v1/credit_notes', { invoice, amount: '2500', credit_amount: '2500' });
        await lose();
        return companyId;
      },
      ['CREDIT_NOTE_NOT_BOOKED'],
      7_500n,
    ],
    [
      'a lost dispute that was missed',
      async () => {
        const { companyId, payment } = await buyer();
        await dispute(payment);
        await lose();
        return companyId;
      },
      ['DISPUTE_NOT_BOOKED'],
      0n,
    ],
    [
      'a dispute that there was not',
      async () => {
        const { companyId, purchaseId, charge } = await buyer();
        await shop.plant(`insert into payment_disputes (dispute_id, company_id, charge_id, status, amount_minor, currency,
            opened_at, updated_at)
          values ('dp_none', '${companyId}', '${charge}', 'lost', 1000, 'usd', '2030-01-01', '2030-01-01');
          insert into charge_refunds (charge_id, company_id, source_kind, source_id, amount_minor, currency,
            refunded_minor, granted_micro, refunded_micro, updated_at)
          values ('dp_none', '${companyId}', 'PURCHASE', '${purchaseId}', 1000, 'usd', 1000, 1000000000, 1000000000,
            '2030-01-01');
          ${post(companyId, -1_000n * CREDIT, 'charge-refund', 'dp_none:1000')} select post_missing_cash()`);
        return companyId;
      },
      ['DISPUTE_UNKNOWN'],
      1_000n,
    ],
    [
      'a paid invoice that was missed',
      async () => (await subscriber(true)).companyId,
      ['INVOICE_NOT_BOOKED'],
      10_000n,
    ],
    [
      'an invoice that is paid here and unknown there',
      async () => {
        const { companyId } = await subscriber();
        await shop.plant(`insert into invoices (id, company_id, kind, status, amount_minor, currency, provider_invoice_id, paid_at)
          values ('${crypto.randomUUID()}', '${companyId}', 'SUBSCRIPTION', 'PAID', 10000, 'usd', 'in_none', '2030-01-01');
          insert into plan_grants (provider_invoice_id, company_id, plan_id, kind, period_start, credits_micro, amount_minor,
            currency, created_at)
          select 'in_none', company_id, plan_id, 'PRORATION', period_start, credits_micro, amount_minor, currency, created_at
          from plan_grants where company_id = '${companyId}';
          ${post(companyId, 10_000n * CREDIT, 'plan-invoice', 'in_none')} select post_missing_cash()`);
        return companyId;
      },
      ['INVOICE_UNKNOWN'],
      10_000n,
    ],
    [
      'a grant at the wrong rate',
      async () => {
        const { companyId, invoice } = await subscriber();
        await shop.plant(`update plan_grant_lines set moved_micro = moved_micro * 2 where provider_invoice_id = '${invoice}';
          update plan_grants set moved_micro = moved_micro * 2, credits_micro = credits_micro * 2,
            best_credits_micro = best_credits_micro * 2 where provider_invoice_id = '${invoice}';
          update credit_transactions set amount_micro = amount_micro * 2, balance_after_micro = balance_after_micro * 2
            where source_id = '${invoice}';
          update credit_accounts set balance_micro = balance_micro * 2 where id = '${companyId}'`);
        return companyId;
      },
      ['INVOICE_LINES', 'PLAN_CREDITS'],
      10_000n,
    ],
    [
      'an invoice whose amounts were edited in all our books',
      async () => {
        const { companyId, invoice } = await subscriber();
        await shop.plant(`update plan_grant_lines set moved_micro = moved_micro * 3, amount_minor = amount_minor * 3
            where provider_invoice_id = '${invoice}';
          update plan_grants set moved_micro = moved_micro * 3, credits_micro = credits_micro * 3,
            lines_minor = lines_minor * 3, amount_minor = amount_minor * 3 where provider_invoice_id = '${invoice}';
          update invoices set amount_minor = amount_minor * 3 where provider_invoice_id = '${invoice}';
          update cash_entries set amount_minor = amount_minor * 3 where company_id = '${companyId}';
          update credit_transactions set amount_micro = amount_micro * 3, balance_after_micro = balance_after_micro * 3
            where source_id = '${invoice}';
          update credit_accounts set balance_micro = balance_micro * 3 where id = '${companyId}'`);
        return companyId;
      },
      ['INVOICE_AMOUNT', 'INVOICE_LINES'],
      10_000n,
    ],
    [
      'a purchase whose money was edited',
      async () => {
        const { companyId, purchaseId } = await buyer();
        await shop.plant(`update cash_entries set amount_minor = 1 where source_id = '${purchaseId}'`);
        return companyId;
      },
      ['CASH', 'CHARGE_AMOUNT'],
      1_000n,
    ],
    [
      'an invoice that is void there and still asked for here',
      async () => {
        const { companyId, customer } = await subscriber();
        const { id } = await shop.call('POST', '/v1/invoices', {
          customer,
          collection_method: 'send_invoice',
          days_until_due: '7',
        });
        const item = { customer, invoice: String(id), amount: '700', currency: 'usd' };
        await shop.call('POST', '/v1/invoiceitems', item);
        await shop.call('POST', `/v1/invoices/${id}/finalize`);
        await shop.deliver();
        await shop.call('POST', `/v1/invoices/${id}/void`);
        await lose();
        return companyId;
      },
      ['INVOICE_STATUS'],
      10_000n,
    ],
  ];

  async function packPrice(companyId: string): Promise<string> {
    const [row] = await database.query<{ price: string }>(
      `select provider_price_id as price from credit_packs join credit_pack_purchases on credit_pack_id = credit_packs.id
       where company_id = $1`,
      [companyId],
    );
    return row?.price ?? '';
  }

  test('finds every planted fault among the others, and the remedies fix them all', async () => {
    const planted = [];
    for (const [name, damage, kinds, mended] of faults)
      planted.push({ name, companyId: await damage(), kinds, mended });
    const found = await differences();
    expect(found.map(({ kind }) => kind).sort()).toEqual(planted.flatMap(({ kinds }) => [...kinds]).sort());
    for (const remedy of new Set(found.map((one) => one.remedy))) await mend(remedy);
    expect(await differences()).toEqual([]);
    for (const { name, companyId, mended } of planted) {
      if (mended !== null) expect([name, await balance(companyId)]).toEqual([name, mended * CREDIT]);
    }
  });

  test('a charge of a customer without a company is counted, not compared', async () => {
    const customer = String((await shop.call('POST', '/v1/customers', { name: 'Other' })).id);
    await shop.call('POST', '/v1/subscriptions', {
      customer,
      'items[0][price]': String(plan.providerPriceId),
    });
    await lose();
    const before = await audit();
    expect(before).toMatchObject({ differences: [], foreignCharges: 1n });
  });

  test('pauses when the provider does not answer, and continues on the same page, also to an end that is now', async () => {
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    let isDown = true;
    const failure = { reason: 'rate-limited', message: 'Too many requests.', code: null } as const;
    const broken = {
      ...provider,
      listDisputes: async (asked: never) =>
        isDown ? ({ outcome: 'failed', failure } as const) : await provider.listDisputes(asked),
    };
    const range = { from: new Date('2029-12-22T00:00:00Z'), to: new Date(parts().clock.now()) };
    const later = (minutes: number) => {
      const now = range.to.getTime() + minutes * 60_000;
      return { ...parts(broken), clock: { ...parts().clock, now: () => now } };
    };
    const paused = await auditRange(later(0), range);
    expect(paused).toEqual({ outcome: 'paused', message: 'Too many requests.' });
    const before = [calls.get('listCharges'), calls.get('listRefunds')];
    expect(before[0]).toBe(1);
    isDown = false;
    expect(await auditRange(later(5), range)).toMatchObject({ outcome: 'done', report: { differences: [] } });
    // Charges and refunds were not read again.
    expect([calls.get('listCharges'), calls.get('listRefunds')]).toEqual(before);
  });

  test('reads every page, however many there are', async () => {
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    const small: PaymentProvider = {
      ...provider,
      listCharges: (asked) => provider.listCharges({ ...asked, limit: 4 }),
      listInvoices: (asked) => provider.listInvoices({ ...asked, limit: 3 }),
    };
    expect((await audit(small)).differences).toEqual([]);
    expect(calls.get('listCharges')).toBeGreaterThan(3);
  });

  test('runs once a day by the timer; without a provider it compares the books alone', async () => {
    const first = await auditDaily(parts());
    expect(first).toMatchObject({ outcome: 'done', report: { differences: [] } });
    expect(await auditDaily(parts())).toBeNull();
    await database.query('delete from audits where is_daily');
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    expect(await auditDaily({ ...parts(provider), hasProvider: false })).toMatchObject({ outcome: 'done' });
    expect(calls.size).toBe(0);
    const [left] = await database.query<{ count: bigint }>(
      'select count(*) as count from audit_provider_objects',
    );
    expect(left?.count).toBe(0n);
  });

  test('turnpike audit --provider prints differences with their remedies and exits with 1', async () => {
    const range = ['--from', '2029-12-20', '--to', '2030-01-01'];
    const typed = (...words: string[]) => opened(['--provider', ...words], auditCommand);
    const sound = await typed(...range);
    expect(sound).toMatchObject({ exitCode: EXIT_OK });
    expect(sound.lines.join('\n')).toContain('the books agree with the payment provider');
    const { charge, payment } = await buyer();
    await refund(payment, 400n);
    await lose();
    const { exitCode, lines } = await typed('--json', ...range);
    expect(exitCode).toBe(EXIT_FAILED);
    expect(JSON.parse(lines.join(''))).toMatchObject({
      differences: [
        {
          kind: 'REFUND_NOT_BOOKED',
          subject: `charge-refund/${charge}`,
          expected: '400 usd refunded',
          found: '0 usd',
          remedy: `turnpike replay-payments --object ${charge}`,
        },
      ],
      cash: [{ currency: 'usd' }],
    });
    expect((await typed(...range)).lines.join('\n')).toContain(
      `To mend it: turnpike replay-payments --object ${charge}`,
    );
    await mend(`turnpike replay-payments --object ${charge}`);
    expect(await typed('--from', '2030-01-02', '--to', '2030-01-01')).toMatchObject({ exitCode: EXIT_USAGE });
    const none = await typedCommand({ database }, auditCommand, '--provider');
    expect(none).toMatchObject({ exitCode: EXIT_FAILED });
    expect(await opened(['--object', 'xx_1'], replayPaymentsCommand)).toMatchObject({ exitCode: EXIT_USAGE });
    expect(await opened(['--object', 'in_missing'], replayPaymentsCommand)).toMatchObject({
      exitCode: EXIT_FAILED,
    });
  });
});
