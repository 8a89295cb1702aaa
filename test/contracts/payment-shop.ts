import type { PaymentProvider, ProviderAnswer, WantedCheckout } from '../../src/ports/payment-provider.ts';

export interface ProviderUnderTest {
  readonly provider: PaymentProvider;
  /** Pays an open checkout as its buyer would, and waits until its events were delivered. */
  pay(sessionId: string): Promise<void>;
}

export function done<T>(answer: ProviderAnswer<T>): T {
  if (answer.outcome === 'done') return answer.value;
  throw new Error(`${answer.failure.reason}: ${answer.failure.message}`);
}

/** What is bought in the contract's tests, and by whom; each time with keys of its own. */
export function createShop(open: () => ProviderUnderTest, name: string) {
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
    mode: WantedCheckout['mode'],
    priceId: string,
    customerId: string | null,
  ): WantedCheckout {
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

  async function buy(mode: WantedCheckout['mode'], amountMinor?: bigint) {
    const { provider, pay } = open();
    const { priceId, customerId } = await sell(mode === 'payment' ? 'one-time' : 'recurring', amountMinor);
    const { id } = done(await provider.createCheckoutSession(checkout(mode, priceId, customerId), newKey()));
    await pay(id);
    const session = done(await provider.retrieveCheckoutSession(id));
    return { provider, session, customerId, priceId };
  }

  return { newKey, sell, checkout, buy };
}
