import { describe, expect, test } from 'bun:test';
import { createShop, done } from '../contracts/payment-provider.contract.ts';
import { useSandbox } from './sandbox-under-test.ts';

const { sandbox } = useSandbox();

const shop = createShop(
  () => ({
    provider: sandbox.provider,
    pay: async (id) => void (await sandbox.click(`/checkout/${id}/pay`)),
  }),
  'pages',
);

async function opened(mode: 'payment' | 'subscription' = 'payment', name = 'Pack <b>&</b> more') {
  const { provider } = sandbox;
  const product = done(await provider.createProduct({ name, metadata: {} }, shop.newKey()));
  const recurring = mode === 'subscription' ? ({ interval: 'month', intervalCount: 1 } as const) : null;
  const wanted = { productId: product.id, amountMinor: 123_456n, currency: 'eur', recurring, metadata: {} };
  const { id: priceId } = done(await provider.createPrice(wanted, shop.newKey()));
  const { customerId } = await shop.sell('one-time');
  const checkout = shop.checkout(mode, priceId, customerId);
  return { ...done(await provider.createCheckoutSession(checkout, shop.newKey())), customerId };
}

const read = async (url: string) => {
  const answer = await fetch(url);
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

describe('P-20 the checkout page', () => {
  test('shows the product and its price, without scripts or content from other hosts', async () => {
    const { url } = await opened();
    const { status, headers, text } = await read(url);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain('1,234.56 EUR');
    expect(text).toContain('Pack &lt;b&gt;&amp;&lt;/b&gt; more');
    expect(text).not.toContain('<script');
    expect(text).not.toContain('style=');
    expect(text).toContain('<html lang="en">');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; style-src 'self'");
    // A browser also checks where a form is redirected to.
    expect(policy).toContain("form-action 'self' http://127.0.0.1:1");
    const style = await read(`${sandbox.url}/sandbox/style.css`);
    expect(style.headers.get('content-type')).toStartWith('text/css');
  });

  test('pays, notifies the backend first, and redirects back with the session’s id', async () => {
    const { id } = await opened();
    const answer = await sandbox.click(`/checkout/${id}/pay`);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe(`http://127.0.0.1:1/paid?session=${id}`);
    const completed = sandbox.objectsOf('checkout.session.completed').find((one) => one.id === id);
    expect(completed).toMatchObject({
      mode: 'payment',
      status: 'complete',
      payment_status: 'paid',
      amount_total: 123_456,
      currency: 'eur',
      client_reference_id: 'purchase-1',
      payment_intent: expect.stringMatching(/^pi_/),
      customer_details: { email: 'acme@example.com' },
      url: null,
    });
    expect(completed).not.toHaveProperty('line_items');
  });

  test('takes the money once, however often and fast it is clicked', async () => {
    const { id, customerId } = await opened();
    const clicks = await Promise.all(Array.from({ length: 20 }, () => sandbox.click(`/checkout/${id}/pay`)));
    for (const click of clicks) {
      expect(click.headers.get('location')).toBe(`http://127.0.0.1:1/paid?session=${id}`);
    }
    const charges = await sandbox.call('GET', '/v1/charges', { customer: customerId });
    expect(charges.body.data).toHaveLength(1);
    expect(sandbox.objectsOf('checkout.session.completed').filter((one) => one.id === id)).toHaveLength(1);
    const { text } = await read(`${sandbox.url}/checkout/${id}`);
    expect(text).toContain('This is paid. It cannot be paid again.');
    expect(text).not.toContain('<form');
  });

  test('a declined card takes nothing, shows an error, and can be tried again', async () => {
    const { id, customerId } = await opened();
    const declined = await sandbox.click(`/checkout/${id}/decline`);
    expect(declined.status).toBe(303);
    const { text } = await read(`${sandbox.url}${declined.headers.get('location')}`);
    expect(text).toContain('Your card was declined. Nothing was charged.');
    expect(text).toContain('<form');
    const session = done(await sandbox.provider.retrieveCheckoutSession(id));
    expect(session).toMatchObject({ status: 'open', payment_status: 'unpaid' });
    expect((await sandbox.click(`/checkout/${id}/pay`)).status).toBe(303);
    const { body } = await sandbox.call('GET', '/v1/charges', { customer: customerId });
    expect((body.data as { status: string }[]).map((one) => one.status)).toEqual(['succeeded', 'failed']);
    const intents = await sandbox.call('GET', '/v1/payment_intents', { customer: customerId });
    expect(intents.body.data).toHaveLength(1);
  });

  test('a checkout older than a day has expired: it takes no money and shows that', async () => {
    const { id } = await opened();
    await sandbox.own('/sandbox/clock', { advance_seconds: 86_400 });
    expect((await sandbox.click(`/checkout/${id}/pay`)).headers.get('location')).toBe(`/checkout/${id}`);
    const { status, text } = await read(`${sandbox.url}/checkout/${id}`);
    expect(status).toBe(410);
    expect(text).toContain('This checkout has expired. Nothing was charged.');
    const session = done(await sandbox.provider.retrieveCheckoutSession(id));
    expect(session).toMatchObject({ status: 'expired', payment_status: 'unpaid', url: null });
  });

  test('a form from another site, an unknown session and an unknown action do nothing', async () => {
    const { id } = await opened();
    const foreign = (headers: Record<string, string>) =>
      fetch(`${sandbox.url}/checkout/${id}/pay`, { method: 'POST', headers, redirect: 'manual' });
    expect((await foreign({ origin: 'http://evil.example' })).status).toBe(403);
    expect((await foreign({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await sandbox.click(`/checkout/${id}/steal`)).status).toBe(404);
    expect((await read(`${sandbox.url}/checkout/cs_test_none`)).status).toBe(404);
    expect((await read(`${sandbox.url}/checkout/${id}/pay`)).status).toBe(404);
    expect(done(await sandbox.provider.retrieveCheckoutSession(id))).toMatchObject({ status: 'open' });
    expect((await foreign({ origin: sandbox.url })).status).toBe(303);
  });
});

describe('the other pages', () => {
  test('P-29 an open invoice is paid on its page, once', async () => {
    const { customerId } = await shop.sell('one-time');
    const lines = [{ description: 'Usage <May>', amountMinor: 5_000n }];
    const base = { customerId, currency: 'usd', daysUntilDue: 7, description: 'May', metadata: {} };
    const invoice = done(await sandbox.provider.createInvoice({ ...base, lines }, shop.newKey()));
    const { text } = await read(String(invoice.hosted_invoice_url));
    expect(text).toContain('50.00 USD');
    expect(text).toContain('Usage &lt;May&gt;');
    await sandbox.click(`/invoice/${invoice.id}/decline`);
    expect(done(await sandbox.provider.retrieveInvoice(String(invoice.id)))).toMatchObject({
      status: 'open',
      attempt_count: 1,
    });
    expect(sandbox.objectsOf('invoice.payment_failed').map((one) => one.id)).toContain(invoice.id);
    await Promise.all([1, 2, 3].map(() => sandbox.click(`/invoice/${invoice.id}/pay`)));
    const paid = sandbox.objectsOf('invoice.paid').filter((one) => one.id === invoice.id);
    expect(paid).toMatchObject([
      { amount_paid: 5_000, billing_reason: 'manual', charge: expect.any(String) },
    ]);
    expect((await read(String(invoice.hosted_invoice_url))).text).toContain('This invoice is paid.');
  });

  test('P-22 the portal shows invoices, cancels a subscription and resumes it', async () => {
    const { session, customerId } = await shop.buy('subscription', 4_900n);
    const subscription = String(session.subscription);
    const wanted = { customerId, returnUrl: 'http://127.0.0.1:1/billing' };
    const portal = done(await sandbox.provider.createPortalSession(wanted, shop.newKey()));
    const { text } = await read(portal.url);
    expect(text).toContain('49.00 USD');
    expect(text).toContain('every month');
    expect(text).toContain('paid');
    expect(text).toContain('href="http://127.0.0.1:1/billing"');
    await sandbox.click(`/portal/${portal.id}/cancel`, { subscription });
    const state = async () => done(await sandbox.provider.retrieveSubscription(subscription));
    expect(await state()).toMatchObject({ status: 'active', cancel_at_period_end: true });
    await sandbox.click(`/portal/${portal.id}/keep`, { subscription });
    expect(await state()).toMatchObject({ cancel_at_period_end: false, canceled_at: null });
    const updates = sandbox.received.flatMap(({ event }) =>
      event?.type === 'customer.subscription.updated' && event.object.id === subscription ? [event] : [],
    );
    expect(updates.at(-1)?.previousAttributes).toMatchObject({ cancel_at_period_end: true });
    const other = await shop.buy('subscription');
    await sandbox.click(`/portal/${portal.id}/cancel`, { subscription: String(other.session.subscription) });
    const untouched = done(await sandbox.provider.retrieveSubscription(String(other.session.subscription)));
    expect(untouched).toMatchObject({ cancel_at_period_end: false });
  });
});
