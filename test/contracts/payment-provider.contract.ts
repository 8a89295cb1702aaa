import { expect, test } from 'bun:test';
import type { CheckoutParams, PaymentProvider, ProviderAnswer } from '../../src/ports/payment-provider.ts';

export interface ProviderUnderTest {
  readonly provider: PaymentProvider;
  /** Pays an open checkout as its buyer would, and waits until its events were delivered. */
  pay(sessionId: string): Promise<void>;
  /** Issues a credit note as the operator would, with the provider's own parameters. Returns its id. */
  issueCreditNote(parameters: Readonly<Record<string, string>>): Promise<string>;
}

/** Catalogue, checkout and portal, as every payment provider behind the port has them. */
export function describePaymentSelling(open: () => ProviderUnderTest): void {
  const { newKey, sell, checkout, buy } = createShop(open, 'selling');

  test('P-20 a checkout carries our ids on the session and on the payment, and has its price', async () => {
    const { provider } = open();
    const { priceId, customerId } = await sell('one-time');
    const opened = done(
      await provider.createCheckoutSession(checkout('payment', priceId, customerId), newKey()),
    );
    expect(opened.url).toStartWith('http');
    const before = done(await provider.retrieveCheckoutSession(opened.id));
    expect(before).toMatchObject({ status: 'open', payment_status: 'unpaid', payment_intent: null });
    await open().pay(opened.id);
    const session = done(await provider.retrieveCheckoutSession(opened.id));
    expect(session).toMatchObject({
      object: 'checkout.session',
      mode: 'payment',
      status: 'complete',
      payment_status: 'paid',
      amount_total: 2_000,
      currency: 'usd',
      customer: customerId,
      client_reference_id: 'purchase-1',
      metadata: { purchaseId: 'purchase-1', companyId: 'c1' },
      payment_method_types: ['card'],
      line_items: { data: [{ price: { id: priceId }, quantity: 1, amount_total: 2_000 }] },
    });
    const intent = done(await provider.retrievePaymentIntent(String(session.payment_intent)));
    expect(intent).toMatchObject({
      status: 'succeeded',
      amount_received: 2_000,
      metadata: { purchaseId: 'purchase-1', companyId: 'c1' },
      latest_charge: { object: 'charge', paid: true },
    });
  });

  test('P-22 a subscription carries our ids, its price and its period', async () => {
    const { provider, session, customerId, priceId } = await buy('subscription', 4_900n);
    const subscription = done(await provider.retrieveSubscription(String(session.subscription)));
    expect(subscription).toMatchObject({
      status: 'active',
      customer: customerId,
      metadata: { purchaseId: 'purchase-1', companyId: 'c1' },
      items: { data: [{ price: { id: priceId } }] },
      current_period_start: expect.any(Number),
      current_period_end: expect.any(Number),
    });
    const invoice = done(await provider.retrieveInvoice(String(subscription.latest_invoice)));
    expect(invoice).toMatchObject({
      status: 'paid',
      billing_reason: 'subscription_create',
      amount_paid: 4_900,
      subscription: subscription.id,
      subscription_details: { metadata: { companyId: 'c1' } },
      lines: { data: [{ proration: false, period: { end: subscription.current_period_end } }] },
    });
    const listed = done(await provider.listSubscriptions(customerId));
    expect(listed.items.map((one) => one.id)).toEqual([subscription.id]);
  });

  test('P-26 an unknown price fails with the provider’s message', async () => {
    const { provider } = open();
    const wanted = checkout('payment', 'price_unknown', null);
    const answer = await provider.createCheckoutSession(wanted, newKey());
    expect(answer).toEqual({
      outcome: 'failed',
      failure: { reason: 'not-found', message: "No such price: 'price_unknown'", code: 'resource_missing' },
    });
  });

  test('a customer has the last profile that was set, or none', async () => {
    const { provider } = open();
    const { customerId } = await sell('one-time');
    const address = {
      ...{ line1: '1 Main Street', line2: null, postalCode: '10115', city: 'Berlin', state: null },
      country: 'DE',
    };
    const profile = { name: 'Acme Ltd', email: 'bills@acme.example', address, taxId: 'DE123456789' };
    done(await provider.updateCustomer(customerId, profile));
    const invoice = async (key: string) =>
      done(
        await provider.createInvoice(
          {
            ...{ customerId, currency: 'usd', daysUntilDue: 3, description: 'Usage', metadata: {} },
            lines: [{ description: 'Usage', amountMinor: 100n }],
          },
          key,
        ),
      );
    expect(await invoice(newKey())).toMatchObject({
      customer_name: 'Acme Ltd',
      customer_email: 'bills@acme.example',
      customer_address: { line1: '1 Main Street', postal_code: '10115', city: 'Berlin', country: 'DE' },
      custom_fields: [{ name: 'Tax ID', value: 'DE123456789' }],
    });
    done(await provider.updateCustomer(customerId, { ...profile, address: null, taxId: null }));
    expect(await invoice(newKey())).toMatchObject({ customer_address: null, custom_fields: null });
  });

  test('an expired checkout cannot be paid, and a paid one cannot be expired', async () => {
    const { provider } = open();
    const { priceId } = await sell('one-time');
    const { id } = done(await provider.createCheckoutSession(checkout('payment', priceId, null), newKey()));
    expect(done(await provider.expireCheckoutSession(id, newKey()))).toMatchObject({ status: 'expired' });
    await open().pay(id);
    expect(done(await provider.retrieveCheckoutSession(id))).toMatchObject({ payment_status: 'unpaid' });
    expect(await provider.expireCheckoutSession(id, newKey())).toMatchObject({
      failure: { reason: 'refused' },
    });
  });
}

/** Refunds, invoices, events and keys, as every payment provider behind the port has them. */
export function describePaymentBilling(open: () => ProviderUnderTest): void {
  const { newKey, sell, buy } = createShop(open, 'billing');

  test('P-21 refunds are partial or full, and the charge has their sum', async () => {
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

  test('P-29 an invoice for usage is open, numbered and due; the same idempotency key creates it once', async () => {
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

  test('P-22 credit notes are listed, newest first, with how they were paid out and their refunds', async () => {
    const { provider, session } = await buy('subscription', 4_900n);
    const since = { sinceMs: Date.now() - 86_400_000 };
    const subscription = done(await provider.retrieveSubscription(String(session.subscription)));
    const invoice = String(subscription.latest_invoice);
    const issue = (amount: string, ways: Record<string, string>) =>
      open().issueCreditNote({ invoice, amount, ...ways });
    const ids = [
      await issue('1000', { credit_amount: '1000' }),
      await issue('700', { out_of_band_amount: '700' }),
      await issue('900', { refund_amount: '600', credit_amount: '300' }),
    ];
    const listed = done(await provider.listCreditNotes({ ...since, limit: 3 })).items;
    expect(listed.map((note) => note.id)).toEqual(ids.toReversed());
    expect(listed).toMatchObject([
      { total: 900, refund: { object: 'refund', amount: 600 }, invoice },
      { total: 700, refund: null, out_of_band_amount: 700, customer_balance_transaction: null },
      { total: 1_000, refund: null, customer_balance_transaction: expect.any(String) },
    ]);
    expect(done(await provider.retrieveCreditNote(ids[2] ?? ''))).toMatchObject({ refund: { amount: 600 } });
    const range = { ...since, untilMs: Date.UTC(2099, 0, 1), limit: 1 };
    const charges = done(await provider.listCharges(range));
    expect(charges).toMatchObject({
      items: [{ object: 'charge', paid: true, amount_refunded: 600, invoice }],
    });
    const invoices = done(await provider.listInvoices(range));
    expect(invoices.items).toMatchObject([{ id: invoice, status: 'paid', amount_paid: 4_900 }]);
    const past = { sinceMs: 0, untilMs: 1_000_000 };
    expect(done(await provider.listCharges(past)).items).toEqual([]);
    expect(done(await provider.listInvoices(past)).items).toEqual([]);
  });

  test('P-22 a subscription ends at its period’s end, or now', async () => {
    const { provider, session } = await buy('subscription');
    const id = String(session.subscription);
    const later = done(await provider.cancelSubscription(id, 'period-end', newKey()));
    expect(later).toMatchObject({ status: 'active', cancel_at_period_end: true });
    const now = done(await provider.cancelSubscription(id, 'now', newKey()));
    expect(now).toMatchObject({ status: 'canceled', ended_at: expect.any(Number) });
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

  test('P-28 an endpoint’s secret is returned once, with our API version', async () => {
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

export function done<T>(answer: ProviderAnswer<T>): T {
  if (answer.outcome === 'done') return answer.value;
  throw new Error(`${answer.failure.reason}: ${answer.failure.message}`);
}

/** What is bought in the contract's tests, and by whom; each time with keys of its own. */
export function createShop(open: () => Pick<ProviderUnderTest, 'provider' | 'pay'>, name: string) {
  let count = 0;
  const newKey = () => {
    count += 1;
    return `${name}:${count}`;
  };

  async function sell(kind: 'one-time' | 'recurring', amountMinor = 2_000n) {
    const { provider } = open();
    const product = done(await provider.createProduct({ name: 'A thing', metadata: { a: 'b' } }, newKey()));
    const recurring = kind === 'recurring' ? ({ interval: 'month', intervalCount: 1 } as const) : null;
    const wanted = { productId: product.id, amountMinor, currency: 'usd', recurring, metadata: {} };
    const price = done(await provider.createPrice(wanted, newKey()));
    const given = { name: 'Acme', email: 'acme@example.com', metadata: { companyId: 'c1' } };
    const customer = done(await provider.createCustomer(given, newKey()));
    return { priceId: price.id, customerId: customer.id };
  }

  function checkout(
    mode: CheckoutParams['mode'],
    priceId: string,
    customerId: string | null,
  ): CheckoutParams {
    return {
      mode,
      priceId,
      quantity: 1,
      customerId,
      referenceId: 'purchase-1',
      metadata: { purchaseId: 'purchase-1', companyId: 'c1' },
      successUrl: 'http://127.0.0.1:1/paid?session={CHECKOUT_SESSION_ID}',
      cancelUrl: 'http://127.0.0.1:1/canceled',
    };
  }

  async function buy(mode: CheckoutParams['mode'], amountMinor?: bigint) {
    const { provider, pay } = open();
    const { priceId, customerId } = await sell(mode === 'payment' ? 'one-time' : 'recurring', amountMinor);
    const { id } = done(await provider.createCheckoutSession(checkout(mode, priceId, customerId), newKey()));
    await pay(id);
    const session = done(await provider.retrieveCheckoutSession(id));
    return { provider, session, customerId, priceId };
  }

  return { newKey, sell, checkout, buy };
}
