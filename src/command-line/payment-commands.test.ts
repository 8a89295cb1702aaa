import { describe, expect, test } from 'bun:test';
import { createAgreeingProvider } from '../../test/doubles/agreeing-provider.ts';
import { type TypedParts, typedCommand } from '../../test/doubles/typed-command.ts';
import {
  makeCompany,
  makePlan,
  makePurchase,
  openPayments,
} from '../../test/payments/payments-under-test.ts';
import { paidSession } from '../../test/payments/purchase-facts.ts';
import { RECORDED_AT, wireLines } from '../../test/payments/recorded-events.ts';
import { invoiceEvent, newSubscription, subscriptionEvent } from '../../test/payments/subscription-facts.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { findByProviderId } from '../domain/subscriptions/subscription.ts';
import type { PaymentProvider, WebhookEndpoint } from '../ports/payment-provider.ts';
import { commandNamed } from './commands.ts';

const database = useDatabase();

async function type(name: string, words: readonly string[], parts: object = {}) {
  const command = commandNamed(name);
  if (command === null) throw new Error(`there is no such command: ${name}`);
  return await typedCommand({ database, ...parts } as TypedParts, command, ...words);
}

/** Two active subscriptions: the first has had no event since its period ended, long ago. */
async function subscribed() {
  const payments = openPayments(database);
  const plan = await makePlan(database);
  const [stale, live] = [
    newSubscription(await makeCompany(database), plan.priceId),
    newSubscription(await makeCompany(database), plan.priceId),
  ];
  const long = Date.UTC(2029, 0, 1) / 1000;
  await payments.receive(
    subscriptionEvent('updated', stale, { current_period_end: long }, { created: long }),
  );
  await payments.receive(subscriptionEvent('updated', live));
  const status = async ({ id }: { id: string }) => await findByProviderId(database, id);
  return { stale, live, status };
}

describe('deactivate-stale-subscriptions', () => {
  test('P-27 shows what it would do, and does it only with --apply', async () => {
    const { stale, live, status } = await subscribed();
    const shown = await type('deactivate-stale-subscriptions', []);
    expect(shown.exitCode).toBe(0);
    expect(shown.lines.join('\n')).toContain(stale.id);
    expect(shown.lines.join('\n')).not.toContain(live.id);
    expect(shown.lines.at(-1)).toContain('would be canceled: add --apply');
    expect(await status(stale)).toMatchObject({ isActive: true });
    await type('deactivate-stale-subscriptions', ['--apply']);
    const now = new Date(Date.UTC(2030, 0, 1));
    expect(await status(stale)).toMatchObject({
      status: 'CANCELED',
      isActive: false,
      endDate: now,
      updatedAt: now,
    });
    expect(await status(live)).toMatchObject({ status: 'ACTIVE', isActive: true });
    expect((await type('deactivate-stale-subscriptions', ['--apply'])).lines).toEqual([
      '0 subscriptions canceled.',
    ]);
  });
});

describe('webhook endpoints', () => {
  const url = 'https://backend.example/payments/webhook';

  function provider() {
    const endpoints: WebhookEndpoint[] = [];
    let made = 0;
    const double: Pick<
      PaymentProvider,
      'createWebhookEndpoint' | 'listWebhookEndpoints' | 'deleteWebhookEndpoint'
    > = {
      async createWebhookEndpoint({ url: at, eventKinds }) {
        made += 1;
        endpoints.push({ id: `we_${made}`, url: at, eventKinds, apiVersion: '2023-10-16' });
        return { outcome: 'done', value: { id: `we_${made}`, secret: `whsec_${made}` } };
      },
      listWebhookEndpoints: async () => ({ outcome: 'done', value: { items: endpoints, hasMore: false } }),
      async deleteWebhookEndpoint(id) {
        endpoints.splice(
          endpoints.findIndex((endpoint) => endpoint.id === id),
          1,
        );
        return { outcome: 'done', value: { id } };
      },
    };
    return { endpoints, parts: { paymentProvider: async () => double as PaymentProvider } };
  }

  test('P-28 the signing secret is printed once; a lost one means recreating, the new one before the old is removed', async () => {
    const { endpoints, parts } = provider();
    const created = await type('create-webhook-endpoint', [url], parts);
    expect(created.lines[1]).toBe('the signing secret, shown only now: whsec_1');
    expect(endpoints[0]?.eventKinds).toHaveLength(14);
    const again = await type('create-webhook-endpoint', [url], parts);
    expect(again).toMatchObject({ exitCode: 1 });
    expect(again.lines.join()).toContain('recreate-webhook-endpoint');
    expect(again.lines.join()).not.toContain('whsec_');
    const recreated = await type('recreate-webhook-endpoint', [url], parts);
    expect(recreated.lines).toContain('the signing secret, shown only now: whsec_2');
    expect(recreated.lines.at(-1)).toBe('deleted we_1');
    expect(endpoints.map(({ id }) => id)).toEqual(['we_2']);
  });
});

test('payment-events shows the result or error of each, and replay-payment-event retries one', async () => {
  const payments = openPayments(database);
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id);
  const wrong = paidSession(company, purchase, { amount_total: 1 });
  await payments.receive(wrong);
  const { id } = await payments.found(wrong);
  const failed = await type('payment-events', ['failed']);
  expect(failed.lines[0]).toContain(`${id} `);
  expect(failed.lines[0]).toContain(`FAILED checkout.session.completed ${wrong.id}: 1 usd was paid`);
  const enqueued: string[] = [];
  const jobQueue = { enqueue: async (queue: string) => void enqueued.push(queue) };
  expect(await type('replay-payment-event', [wrong.id], { jobQueue })).toMatchObject({ exitCode: 0 });
  expect(enqueued).toEqual(['payment-events']);
  await database.query('update credit_pack_purchases set amount_minor = 1 where id = $1', [purchase.id]);
  await payments.events.retryDue();
  expect(await payments.statusOf(wrong)).toBe('PROCESSED');
  expect(await type('replay-payment-event', [id], { jobQueue })).toMatchObject({ exitCode: 1 });
  expect(await type('replay-payment-event', ['evt_none'], { jobQueue })).toMatchObject({ exitCode: 1 });
});

test('replay-payment-event --drop ends an event for good, with the reason', async () => {
  const payments = openPayments(database);
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id);
  const wrong = paidSession(company, purchase, { amount_total: 1 });
  await payments.receive(wrong);
  const drop = (...words: string[]) => type('replay-payment-event', [wrong.id, '--drop', ...words]);
  expect((await drop('refunded by hand')).lines).toEqual([`${wrong.id} dropped: it is never applied`]);
  expect(await payments.found(wrong)).toMatchObject({
    status: 'IGNORED',
    effect: expect.stringMatching(/^dropped: refunded by hand; it was FAILED: 1 usd was paid/),
    error: null,
  });
  await database.query('update credit_pack_purchases set amount_minor = 1 where id = $1', [purchase.id]);
  expect(await payments.receive(wrong)).toMatchObject({ outcome: 'duplicate' });
  expect(await payments.balance(company.id)).toBe(0n);
  expect(await drop('again')).toMatchObject({ exitCode: 1 });
  expect(await drop(' ')).toMatchObject({ exitCode: 2 });
});

test('replay-payments reads a range of events again, with the whole last day', async () => {
  const { events, parts } = openPayments(database);
  const asked: object[] = [];
  const listEvents: PaymentProvider['listEvents'] = async ({ sinceMs, untilMs }) => {
    asked.push({ from: new Date(sinceMs), to: new Date(untilMs ?? 0) });
    return { outcome: 'done', value: { items: [], hasMore: false } };
  };
  const payments = async () => ({
    ...parts,
    provider: { ...createAgreeingProvider(), listEvents },
    paymentEvents: events,
  });
  const replayed = await type('replay-payments', ['--from', '2030-01-01', '--to', '2030-01-02'], {
    payments,
  });
  expect(replayed).toMatchObject({ exitCode: 0 });
  expect(replayed.lines.at(-1)).toBe('0 events read, 0 of them applied now');
  expect(asked).toEqual([{ from: new Date('2030-01-01'), to: new Date('2030-01-02T23:59:59.999Z') }]);
  const backwards = ['--from', '2030-01-02', '--to', '2030-01-01'];
  expect(await type('replay-payments', backwards, { payments })).toMatchObject({ exitCode: 2 });
  expect(await type('replay-payments', ['--from', '2030-01-01', '--to', '2030-01-02'])).toMatchObject({
    exitCode: 1,
  });
});

describe('plan rates', () => {
  test('a rate in another currency is added once, and invoices that wait for it are retried', async () => {
    const payments = openPayments(database);
    const plan = await makePlan(database, { credits: 3_000n, priceMinor: 2_900n });
    const subscription = newSubscription(await makeCompany(database), plan.priceId);
    const event = invoiceEvent('paid', subscription, { currency: 'eur' });
    expect(await payments.receive(event)).toMatchObject({ outcome: 'deferred' });
    const queued: string[] = [];
    const jobQueue = { enqueue: async (name: string) => void queued.push(name) };
    const added = await type('set-plan-rate', [plan.priceId, 'eur', '29'], { jobQueue });
    expect(added).toMatchObject({ exitCode: 0 });
    expect(added.lines.join()).toContain('1 waiting events');
    expect(queued).toHaveLength(1);
    await payments.receive(event);
    expect(await payments.balance(subscription.company.id)).toBe(3_000n * 1_000_000n);
    expect((await type('plan-rates', [])).lines.join('\n')).toContain(
      `${plan.priceId} 29.00 eur = 3000 credits`,
    );
    expect(await type('set-plan-rate', [plan.priceId, 'eur', '30'])).toMatchObject({ exitCode: 1 });
  });

  test('lines of paid invoices that belong to no plan are listed', async () => {
    const payments = openPayments(database);
    const plan = await makePlan(database);
    const subscription = newSubscription(await makeCompany(database), plan.priceId);
    const made = [
      { priceId: plan.priceId, amount: 2_900, start: RECORDED_AT },
      { priceId: null, amount: 500, start: RECORDED_AT, description: 'Set-up' },
    ];
    const lines = wireLines(made);
    await payments.receive(invoiceEvent('paid', subscription, { lines, total: 3_400, amount_paid: 3_400 }));
    expect((await type('other-invoice-lines', [])).lines.join('\n')).toContain('5.00 usd: Set-up');
  });
});
