import { beforeAll, describe, expect, test } from 'bun:test';
import type { ProviderEvent, WireObject } from '../../src/ports/payment-provider.ts';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import { CREDIT, makeCompany, makePlan, makePurchase, openWebhook } from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { madeEvent, RECORDED_AT, wireLines } from './recorded-events.ts';
import {
  invoiceEvent,
  newSubscription,
  subscriptionEvent,
  subscriptionSession,
  wireSubscription,
} from './subscription-facts.ts';
import { expectSound, usePayments } from './use-payments.ts';

const SECRET = 'whsec_under_test';
const { database, payments } = usePayments();
let post: ReturnType<typeof openWebhook>;
beforeAll(() => {
  post = openWebhook(payments, SECRET);
});

async function deliver(payload: unknown): Promise<number> {
  const body = JSON.stringify(payload);
  const hash = new Bun.CryptoHasher('sha256', SECRET).update(`${RECORDED_AT}.${body}`).digest('hex');
  return (await post(body, `t=${RECORDED_AT},v1=${hash}`)).status;
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Place = Record<string | number, Json>;

const HOSTILE: readonly Json[] = [
  null,
  '',
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  true,
  [],
  {},
  [[]],
  'x\u0000y',
  '\ud800',
  'a'.repeat(3000),
  'jpy',
  'xxx',
  { id: 'cus_expanded', deleted: true },
  { id: null },
  253402300800,
  '2900',
  { data: [null, 5, 'x'] },
  { data: [{}], has_more: true },
  'past_due',
  'canceled',
  'trialing',
  'paused',
  'void',
  'paid',
  'lost',
  'subscription',
  'payment',
  '__proto__',
];

/** Every place within a value, by its steps. */
function places(value: Json, at: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (value === null || typeof value !== 'object') return [at];
  return [at, ...Object.entries(value).flatMap(([name, one]) => places(one, [...at, name]))];
}

/** The event with one or two of its fields removed, expanded or replaced. */
function changed(random: SeededRandom, { payload }: ProviderEvent, others: readonly Json[]) {
  const given = structuredClone(payload) as { data: { object: Json } };
  for (let left = 1 + random.below(2); left > 0; left -= 1) {
    const steps = random.pick(places(given.data.object).filter((one) => one.length > 0));
    const last = steps.at(-1) ?? '';
    let place = given.data.object as Place;
    for (const step of steps.slice(0, -1)) place = place[step] as Place;
    const choice = random.below(10);
    if (choice === 0) delete place[last];
    else if (choice === 1) place[last] = { id: place[last] ?? null, deleted: true };
    else place[last] = structuredClone(random.pick(choice < 4 ? others : HOSTILE));
  }
  return given;
}

/** What a company buys, and what comes of it, once; its events in this order. */
async function story(random: SeededRandom) {
  const company = await makeCompany(database, random.below(6) === 0 ? 'POSTPAID' : 'PREPAID');
  const currency = random.pick(['usd', 'jpy', 'kwd']);
  const plan = await makePlan(database, { trialCredits: 100n, currency });
  const purchase = await makePurchase(database, company.id, { currency });
  const subscription = newSubscription(company, plan.priceId);
  const end = purchase.id.slice(-8);
  const invoiceId = `in_${subscription.id}_0`;
  const lines = wireLines([{ priceId: plan.priceId, amount: 2900, start: RECORDED_AT }]).data;
  payments.known.set(subscription.id, wireSubscription(subscription) as WireObject);
  payments.invoiceLines.set(invoiceId, lines as WireObject[]);
  const of = { currency, charge: purchase.chargeId, payment_intent: purchase.paymentId };
  const found = (type: string, object: Record<string, unknown>) => {
    const event = madeEvent({ type: 'charge.refunded', object });
    return { ...event, type, payload: { ...event.payload, type } };
  };
  const dispute = (kind: string, status: string) =>
    found(`charge.dispute.${kind}`, { ...of, id: `dp_${end}`, amount: 1_000, status });
  const note = { id: `cn_${end}`, invoice: invoiceId, amount: 500, total: 500, currency, status: 'issued' };
  const events = [
    paidSession(company, purchase, { currency }),
    subscriptionEvent('created', subscription, { status: random.pick(['active', 'trialing', 'incomplete']) }),
    subscriptionSession(subscription, { currency }),
    invoiceEvent('finalized', subscription, { currency }),
    invoiceEvent('paid', subscription, { currency }),
    invoiceEvent('payment_failed', subscription, { currency }, { month: 1 }),
    invoiceEvent('payment_action_required', subscription, { currency }, { month: 1 }),
    invoiceEvent('finalization_failed', subscription, { currency }, { month: 1 }),
    invoiceEvent('paid', subscription, { currency }, { month: 1 }),
    invoiceEvent('upcoming', subscription, { currency }, { month: 2 }),
    subscriptionEvent('trial_will_end', subscription),
    subscriptionEvent('updated', subscription, { status: 'past_due' }),
    subscriptionEvent('paused', subscription, { status: 'paused' }),
    subscriptionEvent('resumed', subscription),
    subscriptionEvent('deleted', subscription, { status: 'canceled' }),
    refundOf(company, purchase, 400, { currency }),
    refundOf(company, purchase, 1_000, { currency }),
    dispute('created', 'needs_response'),
    dispute('closed', 'lost'),
    dispute('closed', 'won'),
    found('credit_note.created', { ...note, customer: company.customerId, lines: { data: [] } }),
    found('charge.refund.updated', { ...of, id: `re_${end}`, status: 'failed', amount: 400 }),
  ];
  return {
    company,
    events,
    names: [company.id, company.customerId, purchase.id, subscription.id, invoiceId],
  };
}

describe('signed events with any contents', () => {
  const SEEDS = 12;

  test('P-3 are acknowledged, and applied or set aside with a reason; other companies get nothing, and the books agree', async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const random = createSeededRandom(seed);
      const other = await makeCompany(database);
      const { events, names } = await story(random);
      const order = random.below(2) === 0 ? events : events.toSorted(() => random.below(3) - 1);
      for (const event of order) {
        if (random.below(5) === 0) continue;
        const isChanged = random.below(10) < 6;
        const payload = isChanged ? changed(random, event, [...names, other.customerId]) : event.payload;
        const was = `seed ${seed}: ${event.type} ${JSON.stringify(payload)}`;
        expect(await deliver(payload), was).toBe(200);
        if (random.below(6) === 0) expect(await deliver(payload), was).toBe(200);
        const { status, error } = await payments.found(event);
        expect(['PROCESSED', 'FAILED', 'DEFERRED'], was).toContain(status);
        if (status !== 'PROCESSED') expect(error, was).not.toBeNull();
      }
      expect(await payments.balance(other.id), `seed ${seed}`).toBe(0n);
    }
    await expectSound(database);
  });

  test.each([
    ['amount_paid', { amount_paid: 2_900.5 }],
    ['amount_paid', { amount_paid: '2900' }],
    ['amount_paid', { amount_paid: -2_900 }],
    ['amount_paid', { amount_paid: undefined }],
    ['currency', { currency: 'dollars' }],
    ['total', { total: 4e18 }],
    ['ending_balance', { ending_balance: -0.5 }],
    ['amount of a line', { lines: { data: [{ id: 'il_1', amount: 0.5 }] } }],
  ])(
    'P-22 an invoice whose %s cannot be read grants nothing and is set aside: %j',
    async (field, changes) => {
      const company = await makeCompany(database);
      const subscription = newSubscription(company, (await makePlan(database)).priceId);
      await payments.receive(subscriptionEvent('created', subscription));
      const event = invoiceEvent('paid', subscription, changes);
      expect(await deliver(event.payload)).toBe(200);
      const { status, error } = await payments.found(event);
      expect([status, error]).toEqual(['FAILED', expect.stringContaining(`${field} of invoice`)]);
      expect(error).toContain('turnpike adjust-credits');
      expect(await payments.balance(company.id)).toBe(0n);
    },
  );

  test.each([
    ['an amount with a fraction', { amount_total: 1_000.5 }, 'cannot be read as money'],
    ['an amount in words', { amount_total: 'ten' }, 'cannot be read as money'],
    ['no currency', { currency: 'dollars' }, 'cannot be read as money'],
    ['the invoice of another company', { invoice: 'in_elsewhere' }, "is known as another company's"],
  ])('P-20 a paid checkout with %s completes no purchase and is set aside', async (_, changes, reason) => {
    const elsewhere = await makeCompany(database);
    await payments.receive(
      madeEvent({
        type: 'invoice.paid',
        object: {
          id: 'in_elsewhere',
          customer: elsewhere.customerId,
          subscription: null,
          lines: { data: [] },
        },
      }),
    );
    const company = await makeCompany(database);
    const event = paidSession(company, await makePurchase(database, company.id), changes);
    expect(await deliver(event.payload)).toBe(200);
    const { status, error } = await payments.found(event);
    expect([status, error]).toEqual(['FAILED', expect.stringContaining(reason)]);
    expect(await payments.balance(company.id)).toBe(0n);
  });

  test.each([
    ['an amount with a fraction', { amount: 1_000.5 }],
    ['a refunded amount in words', { amount_refunded: 'all', refunded: true }],
    ['no currency', { currency: 'dollars' }],
  ])('P-21 a refund with %s takes no credits and is set aside', async (_, changes) => {
    const company = await makeCompany(database);
    const purchase = await makePurchase(database, company.id);
    await payments.receive(paidSession(company, purchase));
    const event = refundOf(company, purchase, 400, changes);
    expect(await deliver(event.payload)).toBe(200);
    const { status, error } = await payments.found(event);
    expect([status, error]).toEqual(['FAILED', expect.stringContaining('cannot be read as money')]);
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    await payments.receive(refundOf(company, purchase, 500));
    expect(await payments.balance(company.id)).toBe(500n * CREDIT);
  });
});
