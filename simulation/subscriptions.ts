import type { Plan } from '../src/domain/catalog/plan.ts';
import type { Database } from '../src/ports/database.ts';
import { createSeededRandom, type SeededRandom } from '../test/doubles/seeded-random.ts';
import { Violation } from './books.ts';

/** The payment provider, as its operator and its customers use it. */
export interface ProviderDesk {
  /** Form-encoded, as the wire wants it; the answer's body. */
  call(method: string, path: string, parameters?: Record<string, string>): Promise<Fields>;
  own(path: string, body: object): Promise<unknown>;
}

export interface Fields {
  readonly [name: string]: unknown;
}

/** A subscription of one company, whose customer does what customers do. */
export interface Life {
  readonly companyId: string;
  readonly customer: string;
  subscription: string | null;
  /** Credit that the operator gave to the customer's balance: a way of paying. */
  givenMinor: bigint;
}

interface Doing {
  readonly desk: ProviderDesk;
  readonly plans: readonly Plan[];
  readonly life: Life;
  readonly random: SeededRandom;
}

async function list(
  desk: ProviderDesk,
  path: string,
  parameters: Record<string, string> = {},
): Promise<Fields[]> {
  const { data } = await desk.call('GET', path, { limit: '100', ...parameters });
  return (data ?? []) as Fields[];
}

async function newCoupon({ desk, random }: Doing): Promise<string> {
  const duration = random.pick(['once', 'forever', 'repeating']);
  const kind: Record<string, string> =
    random.below(2) === 0
      ? { percent_off: String(random.pick([10, 33, 50, 99, 100])) }
      : { amount_off: String(1 + random.below(4_000)), currency: 'usd' };
  const { id } = await desk.call('POST', '/v1/coupons', { duration, duration_in_months: '2', ...kind });
  return String(id);
}

async function subscribe(doing: Doing): Promise<void> {
  const { desk, plans, life, random } = doing;
  const wanted: Record<string, string> = {
    customer: life.customer,
    'items[0][price]': String(random.pick(plans).providerPriceId),
    'items[0][quantity]': String(1 + random.below(3)),
  };
  if (random.below(5) === 0) wanted.trial_period_days = '7';
  if (random.below(2) === 0) wanted.coupon = await newCoupon(doing);
  const { id } = await desk.call('POST', '/v1/subscriptions', wanted);
  life.subscription = id === undefined ? null : String(id);
}

type Step = (doing: Doing) => Promise<unknown>;

const change: Step = async ({ desk, plans, life, random }) => {
  // Several at once: their lines fill more than one page.
  for (let count = random.pick([1, 1, 6]); count > 0; count -= 1) {
    await desk.call('POST', `/v1/subscriptions/${life.subscription}`, {
      'items[0][price]': String(random.pick(plans).providerPriceId),
      'items[0][quantity]': String(1 + random.below(3)),
      proration_behavior: random.pick(['create_prorations', 'always_invoice', 'none']),
    });
  }
};

const discount: Step = async (doing) => {
  const coupon = doing.random.below(3) === 0 ? '' : await newCoupon(doing);
  await doing.desk.call('POST', `/v1/subscriptions/${doing.life.subscription}`, { coupon });
};

const fee: Step = ({ desk, life, random }) => {
  const amount = String(1 + random.below(500));
  const parameters = { customer: life.customer, amount, currency: 'usd', description: 'Fee' };
  return desk.call('POST', '/v1/invoiceitems', parameters);
};

const give: Step = async ({ desk, life, random }) => {
  const { balance } = await desk.call('GET', `/v1/customers/${life.customer}`);
  const minor = 1 + random.below(3_000);
  await desk.call('POST', `/v1/customers/${life.customer}`, { balance: String(Number(balance) - minor) });
  life.givenMinor += BigInt(minor);
};

const card: Step = ({ desk, life, random }) =>
  desk.own('/sandbox/cards', { customer: life.customer, card: random.pick(['works', 'works', 'declines']) });

const settle: Step = async ({ desk, life, random }) => {
  const { customer } = life;
  const [open] = await list(desk, '/v1/invoices', { customer, status: 'open' });
  if (open === undefined) return;
  const due = Number(open.amount_remaining);
  if (random.below(2) === 0 && due > 1) {
    const amount = String(1 + random.below(due - 1));
    await desk.call('POST', '/v1/credit_notes', { invoice: String(open.id), amount });
  }
  await desk.own('/sandbox/cards', { customer, card: 'works' });
  await desk.call('POST', `/v1/invoices/${open.id}/pay`);
};

const refund: Step = async ({ desk, life, random }) => {
  const charges = await list(desk, '/v1/charges', { customer: life.customer });
  const left = charges.filter((one) => one.paid === true && one.refunded === false);
  if (left.length === 0) return;
  const charge = random.pick(left);
  const rest = Number(charge.amount) - Number(charge.amount_refunded);
  const amount = random.below(3) === 0 ? rest : 1 + random.below(rest);
  await desk.call('POST', '/v1/refunds', { charge: String(charge.id), amount: String(amount) });
};

/** Of an invoice that is paid: to the customer's balance, to the card, or outside of the provider. */
const note: Step = async ({ desk, life, random }) => {
  const invoices = await list(desk, '/v1/invoices', { customer: life.customer, status: 'paid' });
  const left = invoices.filter((one) => notable(one) > 0);
  if (left.length === 0) return;
  const invoice = random.pick(left);
  const amount = random.below(3) === 0 ? notable(invoice) : 1 + random.below(notable(invoice));
  const way = random.pick(['credit_amount', 'credit_amount', 'out_of_band_amount', 'refund_amount']);
  const wanted = { invoice: String(invoice.id), amount: String(amount), [way]: String(amount) };
  await desk.call('POST', '/v1/credit_notes', wanted);
};

function notable(invoice: Fields): number {
  const { total, pre_payment_credit_notes_amount: before, post_payment_credit_notes_amount: after } = invoice;
  return Number(total) - Number(before) - Number(after);
}

const cancel: Step = async ({ desk, life }) => {
  await desk.call('DELETE', `/v1/subscriptions/${life.subscription}`);
  life.subscription = null;
};

const STEPS_BY_WEIGHT: readonly Step[] = [
  ...[change, change, change, change, discount, fee, give, card, settle, settle, refund, refund, note, note],
  cancel,
];

/** One step of a random life. What it causes comes as events, whenever they come. */
export async function takeStep(
  desk: ProviderDesk,
  plans: readonly Plan[],
  life: Life,
  seed: number,
): Promise<void> {
  const random = createSeededRandom(seed);
  const doing = { desk, plans, life, random };
  if (life.subscription !== null) {
    const { status } = await desk.call('GET', `/v1/subscriptions/${life.subscription}`);
    if (status === 'canceled' || status === 'incomplete_expired') life.subscription = null;
  }
  if (life.subscription === null) await subscribe(doing);
  else await random.pick(STEPS_BY_WEIGHT)(doing);
}

interface Money {
  readonly invoices: readonly Fields[];
  readonly charges: readonly Fields[];
  /** What credit notes returned outside of the provider, by invoice. */
  readonly outside: ReadonlyMap<string, number>;
  readonly givenMinor: number;
}

/**
 * The most money that the company had paid at any time, without what was returned of those payments since. What is
 * returned of a later invoice, as of one that the balance of a downgrade paid, is taken from later grants alone: credits
 * that were granted before it are never taken for it (decisions/0027).
 */
export function mostMoney({ invoices, charges, outside, givenMinor }: Money): number {
  const byCard = Map.groupBy(charges, (one) => String(one.invoice));
  const cardMinor = (invoiceId: string) =>
    (byCard.get(invoiceId) ?? []).reduce(
      (sum, one) => sum + (one.paid === true ? Number(one.amount) - Number(one.amount_refunded) : 0),
      0,
    );
  const paidAt = (one: Fields) => Number((one.status_transitions as Fields).paid_at);
  const inOrder = invoices.toSorted(
    (one, other) => paidAt(one) - paidAt(other) || String(one.number).localeCompare(String(other.number)),
  );
  let [most, money] = [0, givenMinor];
  for (const { id } of inOrder) {
    money += cardMinor(String(id)) - (outside.get(String(id)) ?? 0);
    most = Math.max(most, money);
  }
  return most;
}

/** What the provider's own objects say; in floating point, which is exact far beyond a micro-credit here. */
async function expected(desk: ProviderDesk, plans: readonly Plan[], { customer, givenMinor }: Life) {
  const rates = new Map(
    plans.map((plan) => [plan.providerPriceId, Number(plan.creditsMicro) / Number(plan.priceMinor)]),
  );
  const charges = await list(desk, '/v1/charges', { customer });
  const refunded = new Map(charges.map((one) => [String(one.invoice), Number(one.amount_refunded)]));
  const outside = new Map<string, number>();
  for (const one of await list(desk, '/v1/credit_notes', { customer })) {
    if (one.type !== 'post_payment' || one.refund !== null) continue;
    const invoiceId = String(one.invoice);
    refunded.set(invoiceId, (refunded.get(invoiceId) ?? 0) + Number(one.amount));
    outside.set(invoiceId, (outside.get(invoiceId) ?? 0) + Number(one.out_of_band_amount ?? 0));
  }
  // The best rate that this company has paid: more than all its money at that rate is never granted (decisions/0027).
  let [paidFor, lines, best] = [0, 0, 0];
  const invoices = await list(desk, '/v1/invoices', { customer, status: 'paid' });
  for (const invoice of invoices) {
    const total = Number(invoice.total);
    const noted = Number(invoice.pre_payment_credit_notes_amount);
    const kept = total <= 0 ? 1 : 1 - noted / total;
    const paid = total - noted;
    const share = paid <= 0 ? 1 : 1 - (refunded.get(String(invoice.id)) ?? 0) / paid;
    let moved = 0;
    for (const line of await list(desk, `/v1/invoices/${invoice.id}/lines`)) {
      const rate = rates.get(String((line.price as Fields | null)?.id));
      if (rate === undefined) continue;
      const off = (line.discount_amounts as { amount: number }[]).reduce((sum, one) => sum + one.amount, 0);
      moved += rate * (Number(line.amount) - off);
      if (Number(line.amount) > off) best = Math.max(best, rate);
      lines += 1;
    }
    paidFor += moved > 0 ? moved * kept * share : moved;
  }
  const most = best * mostMoney({ invoices, charges, outside, givenMinor: Number(givenMinor) });
  return { most, least: Math.min(paidFor, most), lines };
}

/**
 * Once every event is applied: a company has at most the money that was received at the best rate, and at least what
 * was paid for. Trials are besides.
 */
export async function compareWithMoney(
  desk: ProviderDesk,
  database: Database,
  plans: readonly Plan[],
  life: Life,
): Promise<void> {
  const { most, least, lines } = await expected(desk, plans, life);
  const [sum] = await database.query<{ granted: bigint; trial: bigint }>(
    `select (select coalesce(sum(amount_micro), 0)::bigint from credit_transactions
       where account_id = $1 and type not in ('USAGE', 'ADJUSTMENT', 'EXPIRY')) as granted,
       (select coalesce(sum(moved_micro), 0)::bigint from plan_grant_lines
         where company_id = $1 and kind = 'TRIAL') as trial`,
    [life.companyId],
  );
  const granted = Number((sum?.granted ?? 0n) - (sum?.trial ?? 0n));
  const where = `${granted} micro-credits granted to ${life.companyId}, ${least} to ${most} were paid for`;
  // A micro-credit per line for rounding, and one for each of these sums.
  if (granted > most + 1 || granted < least - lines - 2) throw new Violation(where);
}
