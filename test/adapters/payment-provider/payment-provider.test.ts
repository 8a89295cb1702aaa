import { beforeAll, describe, expect, test } from 'bun:test';
import {
  createShop,
  describePaymentBilling,
  describePaymentSelling,
  done,
  type ProviderUnderTest,
} from '../../contracts/payment-provider.contract.ts';
import { openSandbox, type SandboxUnderTest, useSandbox } from '../../payment-sandbox/sandbox-under-test.ts';
import { describePostgres, usePostgres } from '../../setup/use-postgres.ts';

const asProvider = (sandbox: SandboxUnderTest): ProviderUnderTest => ({
  provider: sandbox.provider,
  pay: async (sessionId) => void (await sandbox.click(`/checkout/${sessionId}/pay`)),
  issueCreditNote: async (given) =>
    String((await sandbox.call('POST', '/v1/credit_notes', { ...given })).body.id),
});

describe('the payment provider with the sandbox on PGlite', () => {
  const { sandbox } = useSandbox();
  describePaymentSelling(() => asProvider(sandbox));
  describePaymentBilling(() => asProvider(sandbox));
});

describePostgres('with a server', () => {
  const database = usePostgres({ beforeClose: () => sandbox?.close() });
  let sandbox: SandboxUnderTest;

  beforeAll(async () => {
    sandbox = await openSandbox(database);
  });

  const open = () => asProvider(sandbox);
  describePaymentSelling(open);
  describePaymentBilling(open);

  const shop = createShop(open, 'postgres');

  test('P-20 twenty concurrent payments take the money once', async () => {
    const { priceId, customerId } = await shop.sell('one-time');
    const wanted = shop.checkout('payment', priceId, customerId);
    const { id } = done(await sandbox.provider.createCheckoutSession(wanted, shop.newKey()));
    const clicks = await Promise.all(Array.from({ length: 20 }, () => sandbox.click(`/checkout/${id}/pay`)));
    expect(clicks.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 303));
    const charges = await sandbox.call('GET', '/v1/charges', { customer: customerId });
    expect(charges.body.data).toHaveLength(1);
  });

  test('P-21 concurrent refunds never return more than was paid', async () => {
    const { session } = await shop.buy('payment', 1_000n);
    const paymentId = String(session.payment_intent);
    const refunds = await Promise.all(
      Array.from({ length: 12 }, () =>
        sandbox.provider.refund({ paymentId, amountMinor: 150n, metadata: {} }, shop.newKey()),
      ),
    );
    expect(refunds.filter(({ outcome }) => outcome === 'done')).toHaveLength(6);
    const intent = done(await sandbox.provider.retrievePaymentIntent(paymentId));
    expect(intent.latest_charge).toMatchObject({ amount_refunded: 900, refunded: false });
  });

  test('the same key fifty times at once creates one', async () => {
    const key = shop.newKey();
    const calls = Array.from({ length: 50 }, () =>
      sandbox.call('POST', '/v1/customers', { name: 'Once' }, key),
    );
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  });
});
