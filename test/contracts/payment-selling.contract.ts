import { expect, test } from 'bun:test';
import { createShop, done, type ProviderUnderTest } from './payment-shop.ts';

/** Catalogue, checkout and portal, as every payment provider behind the port has them. */
export function describePaymentSelling(open: () => ProviderUnderTest): void {
  const { newKey, sell, checkout, buy } = createShop(open, 'selling');

  test('P-20 a checkout carries our ids on the session and on the payment, and knows its price', async () => {
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

  test('P-26 a price that the provider does not know fails in the provider’s words', async () => {
    const { provider } = open();
    const wanted = checkout('payment', 'price_unknown', null);
    const answer = await provider.createCheckoutSession(wanted, newKey());
    expect(answer).toEqual({
      outcome: 'failed',
      failure: { reason: 'not-found', message: "No such price: 'price_unknown'", code: 'resource_missing' },
    });
  });

  test('a checkout that was given up cannot be paid, and a paid one not given up', async () => {
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

  test('the billing portal has an address', async () => {
    const { customerId } = await sell('one-time');
    const wanted = { customerId, returnUrl: 'http://127.0.0.1:1/billing' };
    expect(done(await open().provider.createPortalSession(wanted, newKey())).url).toStartWith('http');
  });
}
