import { expect, test } from 'bun:test';
import { createShop, done, type ProviderUnderTest } from './payment-shop.ts';

/** Refunds, invoices, events and keys, as every payment provider behind the port has them. */
export function describePaymentBilling(open: () => ProviderUnderTest): void {
  const { newKey, sell, buy } = createShop(open, 'billing');

  test('P-21 refunds are partial and whole, and the charge counts them', async () => {
    const { provider, session } = await buy('payment');
    const paymentId = String(session.payment_intent);
    const metadata = { purchaseId: 'purchase-1' };
    const part = done(await provider.refund({ paymentId, amountMinor: 500n, metadata }, newKey()));
    expect(part).toMatchObject({ amountMinor: 500n, status: 'succeeded' });
    const intent = done(await provider.retrievePaymentIntent(paymentId));
    const { id: chargeId } = intent.latest_charge as { id: string };
    expect(done(await provider.retrieveCharge(chargeId))).toMatchObject({
      amount_refunded: 500,
      refunded: false,
      payment_intent: paymentId,
    });
    const tooMuch = { paymentId: chargeId, amountMinor: 1_501n, metadata };
    expect(await provider.refund(tooMuch, newKey())).toMatchObject({ failure: { reason: 'refused' } });
    const rest = done(await provider.refund({ paymentId, amountMinor: null, metadata }, newKey()));
    expect(rest.amountMinor).toBe(1_500n);
    const charge = done(await provider.retrieveCharge(chargeId));
    expect(charge).toMatchObject({ amount_refunded: 2_000, refunded: true });
    expect(await provider.refund({ paymentId, amountMinor: null, metadata }, newKey())).toMatchObject({
      failure: { reason: 'refused', code: 'charge_already_refunded' },
    });
  });

  test('P-29 an invoice for what was used is open, numbered and due; the same key makes it once', async () => {
    const { provider } = open();
    const { customerId } = await sell('one-time');
    const wanted = {
      customerId,
      currency: 'usd',
      daysUntilDue: 14,
      description: 'Usage of May',
      lines: [
        { description: 'Calls', amountMinor: 1_234n, period: { startMs: 1_000_000, endMs: 2_000_000 } },
        { description: 'Parsing', amountMinor: 66n },
      ],
      metadata: { companyId: 'c1' },
    };
    const key = newKey();
    const invoice = done(await provider.createInvoice(wanted, key));
    expect(invoice).toMatchObject({
      status: 'open',
      billing_reason: 'manual',
      collection_method: 'send_invoice',
      amount_due: 1_300,
      customer: customerId,
      metadata: { companyId: 'c1' },
      hosted_invoice_url: expect.stringContaining('http'),
    });
    const { due_date: due, number, created } = invoice as Record<string, number>;
    expect((due ?? 0) - (created ?? 0)).toBe(14 * 86_400);
    expect(number).toBeTruthy();
    const lines = (invoice.lines as { data: { amount: number }[] }).data;
    expect(lines.map((line) => line.amount).sort((one, other) => one - other)).toEqual([66, 1_234]);
    expect(done(await provider.createInvoice(wanted, key)).id).toBe(invoice.id);
    const paid = done(await provider.markInvoicePaid(String(invoice.id), newKey()));
    expect(paid).toMatchObject({ status: 'paid', paid_out_of_band: true });
  });

  test('P-22 a subscription ends at its period’s end, or now', async () => {
    const { provider, session } = await buy('subscription');
    const id = String(session.subscription);
    const later = done(await provider.cancelSubscription(id, 'period-end', newKey()));
    expect(later).toMatchObject({ status: 'active', cancel_at_period_end: true });
    const now = done(await provider.cancelSubscription(id, 'now', newKey()));
    expect(now).toMatchObject({ status: 'canceled', ended_at: expect.any(Number) });
  });

  test('what is not there is not-found, whatever it is', async () => {
    const { provider } = open();
    const answers = await Promise.all([
      provider.retrieveCheckoutSession('cs_test_none'),
      provider.retrieveSubscription('sub_none'),
      provider.retrieveInvoice('in_none'),
      provider.retrieveCharge('ch_none'),
      provider.retrievePaymentIntent('pi_none'),
      provider.deleteWebhookEndpoint('we_none'),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ failure: { reason: 'not-found', code: 'resource_missing' } });
    }
  });

  test('the same key and input have one effect; another input is refused', async () => {
    const { provider } = open();
    const key = newKey();
    const wanted = { name: 'Once', metadata: {} };
    const first = done(await provider.createProduct(wanted, key));
    expect(done(await provider.createProduct(wanted, key))).toEqual(first);
    expect(await provider.createProduct({ name: 'Twice', metadata: {} }, key)).toMatchObject({
      outcome: 'failed',
      failure: { reason: 'refused', message: expect.stringContaining('same parameters') },
    });
  });

  test('P-24 events of the last days are listed, newest first, page by page', async () => {
    const { provider, session } = await buy('payment');
    const asked = { sinceMs: 0, eventKinds: ['checkout.session.completed'], limit: 1 };
    const { items } = done(await provider.listEvents(asked));
    expect(items[0]).toMatchObject({
      type: 'checkout.session.completed',
      apiVersion: '2023-10-16',
      object: { id: session.id, payment_status: 'paid' },
    });
    await buy('payment');
    const newest = done(await provider.listEvents(asked));
    expect(newest).toMatchObject({ hasMore: true });
    const after = newest.items[0]?.id;
    const older = done(await provider.listEvents({ ...asked, after }));
    expect(older.items[0]?.object.id).toBe(session.id);
  });

  test('P-28 an endpoint’s secret is told once, in our version', async () => {
    const { provider } = open();
    const url = 'http://127.0.0.1:1/payments/webhook';
    const wanted = { url, eventKinds: ['invoice.paid', 'charge.refunded'] };
    const made = done(await provider.createWebhookEndpoint(wanted, newKey()));
    expect(made.secret).toMatch(/^whsec_.{16,}/);
    const listed = done(await provider.listWebhookEndpoints());
    const found = listed.items.find((one) => one.id === made.id);
    expect(found).toEqual({ id: made.id, url, eventKinds: wanted.eventKinds, apiVersion: '2023-10-16' });
    expect(JSON.stringify(listed)).not.toContain(made.secret);
    expect(done(await provider.deleteWebhookEndpoint(made.id))).toEqual({ id: made.id });
  });
}
