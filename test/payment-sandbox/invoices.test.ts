import { beforeEach, describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useSandbox } from './sandbox-under-test.ts';
import { createSubscriber } from './subscriber.ts';

const { sandbox, database } = useSandbox();
const { shop, pass, state, storyOf, started } = createSubscriber(() => sandbox, 'invoices');

beforeEach(async () => {
  // What earlier tests left behind does not live on while this one moves the clock.
  await database.query('update payment_sandbox_objects set due_at = null');
  sandbox.received.length = 0;
});

describe('P-22 parts of an invoice', () => {
  type Line = { id: string; amount: number; discount_amounts: { amount: number }[]; proration: boolean };
  const linesOf = (invoice: Record<string, unknown> | undefined) =>
    invoice?.lines as { data: Line[]; has_more: boolean };

  test('a coupon is shown on lines for a period, and prorations are net without showing it', async () => {
    await sandbox.call('POST', '/v1/coupons', { id: 'HALF', percent_off: '50', duration: 'forever' });
    const { id } = await started({ coupon: 'HALF' });
    const [first] = sandbox.objectsOf('invoice.paid');
    expect(first).toMatchObject({ subtotal: 4_900, total: 2_450, amount_paid: 2_450 });
    expect(linesOf(first).data[0]).toMatchObject({ amount: 4_900, discount_amounts: [{ amount: 2_450 }] });
    const dearer = await shop.sell('recurring', 9_900n);
    sandbox.received.length = 0;
    const changes = { 'items[0][price]': dearer.priceId, proration_behavior: 'always_invoice' };
    await sandbox.call('POST', `/v1/subscriptions/${id}`, changes);
    await until(() => storyOf(id).includes('invoice.paid'));
    const parts = linesOf(sandbox.objectsOf('invoice.paid')[0]).data;
    expect(parts.map(({ amount }) => amount)).toEqual([-2_450, 4_950]);
    expect(parts.every((line) => line.discount_amounts.length === 0)).toBe(true);
  });

  test('the upcoming invoice is the one that the renewal makes: pending items, coupon and balance', async () => {
    const quarter = { id: 'QUARTER', percent_off: '25', duration: 'repeating', duration_in_months: '1' };
    await sandbox.call('POST', '/v1/coupons', quarter);
    for (const parameters of [{}, { coupon: 'HALF' }, { coupon: 'QUARTER' }]) {
      const { id, customerId } = await started(parameters);
      const fee = { customer: customerId, amount: '700', currency: 'usd', description: 'Fee' };
      await sandbox.call('POST', '/v1/invoiceitems', fee);
      const dearer = await shop.sell('recurring', 9_900n);
      const changes = { 'items[0][price]': dearer.priceId, proration_behavior: 'create_prorations' };
      await sandbox.call('POST', `/v1/subscriptions/${id}`, changes);
      await sandbox.call('POST', `/v1/customers/${customerId}`, { balance: '-300' });
      const { body: upcoming } = await sandbox.call('GET', `/v1/invoices/upcoming?subscription=${id}`);
      sandbox.received.length = 0;
      await pass(32);
      await until(() => storyOf(id).includes('invoice.paid'));
      const made = sandbox.objectsOf('invoice.paid').find(({ subscription }) => subscription === id);
      const shown = (invoice: Record<string, unknown> | undefined) => [
        linesOf(invoice).data.map(({ amount, proration }) => [amount, proration]),
        ...[invoice?.subtotal, invoice?.total, invoice?.amount_due, invoice?.starting_balance],
      ];
      expect(shown(upcoming as Record<string, unknown>)).toEqual(shown(made));
      expect(linesOf(made).data).toHaveLength(4);
    }
  });

  test('a price of another interval starts a period at once, and credits the unused time of the old one', async () => {
    const { id, customerId } = await started();
    const yearly = await sandbox.call('POST', '/v1/prices', {
      ...{ product: await product(), unit_amount: '49000', currency: 'usd' },
      'recurring[interval]': 'year',
    });
    const begun = await state(id);
    const halfMs = ((begun.current_period_end as number) - (begun.current_period_start as number)) / 2;
    await sandbox.own('/sandbox/clock', { advance_seconds: halfMs });
    const change = { 'items[0][price]': String(yearly.body.id) };
    await sandbox.call('POST', `/v1/subscriptions/${id}`, change);
    const { latest_invoice: invoice } = await state(id);
    const { body } = await sandbox.call('GET', `/v1/invoices/${invoice}`);
    expect(body).toMatchObject({
      status: 'paid',
      billing_reason: 'subscription_update',
      customer: customerId,
    });
    const lines = (body.lines as { data: { amount: number; proration: boolean }[] }).data;
    const unused = lines.filter(({ proration }) => proration).map(({ amount }) => amount);
    expect(unused).toHaveLength(1);
    expect(Math.abs((unused[0] ?? 0) + 2_450)).toBeLessThanOrEqual(1);
    expect(lines.filter(({ proration }) => !proration).map(({ amount }) => amount)).toEqual([49_000]);
    // Without prorations nothing is credited.
    const other = await started();
    await sandbox.call('POST', `/v1/subscriptions/${other.id}`, { ...change, proration_behavior: 'none' });
    const plain = await sandbox.call('GET', `/v1/invoices/${(await state(other.id)).latest_invoice}`);
    expect(plain.body).toMatchObject({ total: 49_000 });
  });

  async function product(): Promise<string> {
    return String((await sandbox.call('POST', '/v1/products', { name: 'Yearly' })).body.id);
  }
});
