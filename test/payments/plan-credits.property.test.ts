import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Plan } from '../../src/domain/catalog/plan.ts';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import { MONEY_CHECKS } from '../../src/domain/reconciliation/money-checks.ts';
import { planCreditDifferences } from '../../src/domain/reconciliation/plan-credits-check.ts';
import type { Database } from '../../src/ports/database.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import type { Fields } from '../payment-sandbox/sandbox-under-test.ts';
import { CREDIT } from './payments-under-test.ts';
import { openShop, type Shop } from './shop-under-test.ts';

/**
 * Random lives of subscriptions in the sandbox. After every step the credits of the company are compared with the
 * sandbox's own charges and invoices: never more than the money that was received at the best rate, and never less
 * than what was paid for.
 */
const SEEDS = 6;
const STEPS = 14;
const TRIAL_CREDITS = 50n;

let database: Database;
let shop: Shop;
let plans: readonly Plan[];
beforeAll(async () => {
  database = await openMemoryDatabase();
  shop = await openShop(database);
  await shop.newPlan({ name: 'Basic', price: 29, creditsMicro: 3_200n * CREDIT });
  await shop.newPlan({ name: 'Pro', price: 99, creditsMicro: 12_000n * CREDIT });
  await shop.newPlan({ name: 'Odd', price: '7.77', creditsMicro: 1_001n * CREDIT });
  await shop.newPlan({ name: 'Yearly', price: 290, creditsMicro: 36_000n * CREDIT, interval: 'YEAR' });
  await database.query('update plans set trial_credits_micro = $1', [TRIAL_CREDITS * CREDIT]);
  const synced = await shop.sync();
  if (synced.outcome !== 'synced') throw new Error(synced.message);
  plans = synced.plans;
});
afterAll(async () => {
  await shop.sandbox.close();
  await database.close();
});

interface Life {
  readonly random: SeededRandom;
  readonly companyId: string;
  readonly customer: string;
  subscription: string | null;
  /** Credit that the operator gave to the customer's balance: a way of paying. */
  givenMinor: bigint;
}

async function call(method: string, path: string, parameters: Record<string, string> = {}): Promise<Fields> {
  return (await shop.sandbox.call(method, path, parameters)).body;
}

async function list(path: string, parameters: Record<string, string>): Promise<Fields[]> {
  const { data } = await call('GET', path, { limit: '100', ...parameters });
  return data as Fields[];
}

async function born(seed: number): Promise<Life> {
  const random = createSeededRandom(seed);
  const companyId = await shop.newCompany();
  const { id } = await call('POST', '/v1/customers', { name: `Company ${seed}` });
  const customer = String(id);
  await database.query('update companies set provider_customer_id = $2 where id = $1', [companyId, customer]);
  return { random, companyId, customer, subscription: null, givenMinor: 0n };
}

async function newCoupon({ random }: Life): Promise<string> {
  const duration = random.pick(['once', 'forever', 'repeating']);
  const kind: Record<string, string> =
    random.below(2) === 0
      ? { percent_off: String(random.pick([10, 33, 50, 99, 100])) }
      : { amount_off: String(1 + random.below(4_000)), currency: 'usd' };
  const { id } = await call('POST', '/v1/coupons', { duration, duration_in_months: '2', ...kind });
  return String(id);
}

async function subscribe(life: Life): Promise<void> {
  const { random, customer } = life;
  const wanted: Record<string, string> = {
    customer,
    'items[0][price]': String(random.pick(plans).providerPriceId),
    'items[0][quantity]': String(1 + random.below(3)),
  };
  if (random.below(5) === 0) wanted.trial_period_days = '7';
  if (random.below(2) === 0) wanted.coupon = await newCoupon(life);
  life.subscription = String((await call('POST', '/v1/subscriptions', wanted)).id);
}

type Step = (life: Life) => Promise<void>;

const change: Step = async ({ random, subscription }) => {
  // Several at once: their lines fill more than one page.
  for (let count = random.pick([1, 1, 6]); count > 0; count -= 1) {
    await call('POST', `/v1/subscriptions/${subscription}`, {
      'items[0][price]': String(random.pick(plans).providerPriceId),
      'items[0][quantity]': String(1 + random.below(3)),
      proration_behavior: random.pick(['create_prorations', 'always_invoice', 'none']),
    });
  }
};

const pass: Step = async ({ random }) => {
  const seconds = random.pick([60, 86_400, 9 * 86_400, 31 * 86_400]) + random.below(3_600);
  await shop.sandbox.own('/sandbox/clock', { advance_seconds: seconds });
};

const discount: Step = async (life) => {
  const coupon = life.random.below(3) === 0 ? '' : await newCoupon(life);
  await call('POST', `/v1/subscriptions/${life.subscription}`, { coupon });
};

const fee: Step = async ({ random, customer }) => {
  const amount = String(1 + random.below(500));
  await call('POST', '/v1/invoiceitems', { customer, amount, currency: 'usd', description: 'Fee' });
};

const give: Step = async (life) => {
  const { balance } = await call('GET', `/v1/customers/${life.customer}`);
  const minor = 1 + life.random.below(3_000);
  await call('POST', `/v1/customers/${life.customer}`, { balance: String(Number(balance) - minor) });
  life.givenMinor += BigInt(minor);
};

const card: Step = async ({ random, customer }) => {
  await shop.sandbox.own('/sandbox/cards', { customer, card: random.pick(['works', 'works', 'declines']) });
};

const settle: Step = async ({ random, customer }) => {
  const [open] = await list('/v1/invoices', { customer, status: 'open' });
  if (open === undefined) return;
  const due = Number(open.amount_remaining);
  if (random.below(2) === 0 && due > 1) {
    const amount = String(1 + random.below(due - 1));
    await call('POST', '/v1/credit_notes', { invoice: String(open.id), amount });
  }
  await shop.sandbox.own('/sandbox/cards', { customer, card: 'works' });
  await call('POST', `/v1/invoices/${open.id}/pay`);
};

const refund: Step = async ({ random, customer }) => {
  const charges = await list('/v1/charges', { customer });
  const left = charges.filter((one) => one.paid === true && one.refunded === false);
  if (left.length === 0) return;
  const charge = random.pick(left);
  const rest = Number(charge.amount) - Number(charge.amount_refunded);
  const amount = random.below(3) === 0 ? rest : 1 + random.below(rest);
  await call('POST', '/v1/refunds', { charge: String(charge.id), amount: String(amount) });
};

/** Of an invoice that is paid: to the customer's balance, to the card, or outside of the provider. */
const note: Step = async ({ random, customer }) => {
  const invoices = await list('/v1/invoices', { customer, status: 'paid' });
  const left = invoices.filter((one) => notable(one) > 0);
  if (left.length === 0) return;
  const invoice = random.pick(left);
  const amount = random.below(3) === 0 ? notable(invoice) : 1 + random.below(notable(invoice));
  const way = random.pick(['credit_amount', 'credit_amount', 'out_of_band_amount', 'refund_amount']);
  const wanted = { invoice: String(invoice.id), amount: String(amount), [way]: String(amount) };
  await shop.sandbox.call('POST', '/v1/credit_notes', wanted);
};

function notable(invoice: Fields): number {
  const { total, pre_payment_credit_notes_amount: before, post_payment_credit_notes_amount: after } = invoice;
  return Number(total) - Number(before) - Number(after);
}

const cancel: Step = async (life) => {
  await call('DELETE', `/v1/subscriptions/${life.subscription}`);
  life.subscription = null;
};

const STEPS_BY_WEIGHT: readonly Step[] = [
  ...[
    change,
    change,
    change,
    change,
    pass,
    pass,
    pass,
    discount,
    fee,
    give,
    card,
    settle,
    refund,
    refund,
    note,
    note,
  ],
  cancel,
];

/** The events of the step in a random order, some of them twice. */
async function deliver({ random }: Life): Promise<void> {
  await shop.sandbox.settled();
  const events = shop.sandbox.received.splice(0).flatMap(({ event }) => (event === null ? [] : [event]));
  const sent = events.flatMap((event) => (random.below(5) === 0 ? [event, event] : [event]));
  while (sent.length > 0) {
    const [event] = sent.splice(random.below(sent.length), 1);
    if (event !== undefined) await shop.payments.receive(event);
  }
  const paymentEvents = shop.payments.events;
  await readDisputes({ ...shop.parts, provider: shop.sandbox.provider, paymentEvents });
}

/** What the sandbox's own objects say; in floating point, which is exact far beyond a micro-credit here. */
async function expected({ customer, givenMinor }: Life) {
  const rates = new Map(
    plans.map((plan) => [plan.providerPriceId, Number(plan.creditsMicro) / Number(plan.priceMinor)]),
  );
  const best = Math.max(...rates.values());
  const charges = await list('/v1/charges', { customer });
  const received = charges.reduce(
    (sum, one) => sum + (one.paid === true ? Number(one.amount) - Number(one.amount_refunded) : 0),
    Number(givenMinor),
  );
  const refunded = new Map(charges.map((one) => [String(one.invoice), Number(one.amount_refunded)]));
  let returned = 0;
  for (const one of await list('/v1/credit_notes', { customer })) {
    if (one.type !== 'post_payment' || one.refund !== null) continue;
    const invoiceId = String(one.invoice);
    refunded.set(invoiceId, (refunded.get(invoiceId) ?? 0) + Number(one.amount));
    returned += Number(one.out_of_band_amount ?? 0);
  }
  const most = best * Math.max(0, received - returned);
  let [paidFor, lines] = [0, 0];
  for (const invoice of await list('/v1/invoices', { customer, status: 'paid' })) {
    const total = Number(invoice.total);
    const noted = Number(invoice.pre_payment_credit_notes_amount);
    const kept = total <= 0 ? 1 : 1 - noted / total;
    const paid = total - noted;
    const share = paid <= 0 ? 1 : 1 - (refunded.get(String(invoice.id)) ?? 0) / paid;
    let moved = 0;
    for (const line of await list(`/v1/invoices/${invoice.id}/lines`, {})) {
      const rate = rates.get(String((line.price as Fields | null)?.id));
      if (rate === undefined) continue;
      const off = (line.discount_amounts as { amount: number }[]).reduce((sum, one) => sum + one.amount, 0);
      moved += rate * (Number(line.amount) - off);
      lines += 1;
    }
    paidFor += moved > 0 ? moved * kept * share : moved;
  }
  return { most, least: Math.min(paidFor, most), lines };
}

async function compare(seed: number, step: number, life: Life): Promise<void> {
  const { most, least, lines } = await expected(life);
  const [trial] = await database.query<{ micro: bigint }>(
    `select coalesce(sum(moved_micro), 0)::bigint as micro from plan_grant_lines where company_id = $1 and kind = 'TRIAL'`,
    [life.companyId],
  );
  expect([0n, TRIAL_CREDITS * CREDIT]).toContain(trial?.micro ?? 0n);
  const granted = Number((await shop.payments.balance(life.companyId)) - (trial?.micro ?? 0n));
  const where = `seed ${seed}, step ${step}: ${granted} granted, ${least} to ${most} micro-credits expected`;
  // A micro-credit per line for rounding, and one for each of this test's own sums.
  expect(granted <= most + 1, where).toBe(true);
  expect(granted >= least - lines - 2, where).toBe(true);
}

test(`P-22 credits are at most the money received at the best rate and at least what was paid for, in ${SEEDS} random lives`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const life = await born(seed);
    for (let step = 0; step < STEPS; step += 1) {
      if (life.subscription === null) await subscribe(life);
      else await life.random.pick(STEPS_BY_WEIGHT)(life);
      await deliver(life);
      const state =
        life.subscription === null ? null : await call('GET', `/v1/subscriptions/${life.subscription}`);
      if (state?.status === 'canceled' || state?.status === 'incomplete_expired') life.subscription = null;
      await compare(seed, step, life);
    }
    if (life.subscription !== null) await cancel(life);
    await deliver(life);
    for (const { faults } of MONEY_CHECKS) expect(await database.query(faults)).toEqual([]);
    expect(await planCreditDifferences(database, 10)).toEqual([]);
  }
}, 300_000);
