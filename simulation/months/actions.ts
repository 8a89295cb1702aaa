import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { changeSubscriptionPlan, previewSubscriptionChange } from '../../src/domain/payments/change-plan.ts';
import { createCreditPackCheckout } from '../../src/domain/payments/checkout.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import type { ModelCoupon, ModelInvoice } from './model.ts';
import { type Company, differ, type Fields, type MadeReturn, type World } from './months-world.ts';

interface Did {
  readonly did: string;
  readonly differences?: readonly string[];
}
type Action = (world: World, company: Company, random: SeededRandom) => Promise<Did | string | null>;

/** Returns what differs from the model right after it. */
export async function takeAction(
  world: World,
  company: Company,
  random: SeededRandom,
): Promise<readonly string[]> {
  let taken = null;
  // Most are possible in some states of a company only.
  for (let tries = 0; taken === null && tries < 4; tries += 1) {
    taken = await random.pick(ACTIONS)(world, company, random);
  }
  if (taken === null) return [];
  const { did, differences = [] }: Did = typeof taken === 'string' ? { did: taken } : taken;
  company.lines.push(`${new Date(world.nowMs()).toISOString()} ${did}`);
  return differences;
}

function isLive({ model }: Company): boolean {
  return model.subscription !== null && model.subscription.status !== 'CANCELED';
}

async function customerOf({ database }: World, { id }: Company): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    `select coalesce(provider_customer_id, '') as id from companies where id = $1`,
    [id],
  );
  return row?.id ?? '';
}

async function subscriptionIdOf(world: World, company: Company): Promise<string> {
  const [live] = await listed(world, '/v1/subscriptions', { customer: await customerOf(world, company) });
  return String(live?.id);
}

/** At most so many are listed at once, newest first. */
const MOST = 100;

async function listed(
  world: World,
  path: string,
  filter: Record<string, string>,
): Promise<readonly Fields[]> {
  const { data } = await world.call('GET', path, { ...filter, limit: String(MOST) });
  if (!Array.isArray(data) || data.length === MOST) throw new Error(`too many: ${path}`);
  return data;
}

/** Those of plans, oldest first, as the model has them. */
async function invoicesOf(world: World, customer: string): Promise<readonly Fields[]> {
  const all = await listed(world, '/v1/invoices', { customer });
  return all.filter(({ subscription, status }) => subscription !== null && status !== 'draft').toReversed();
}

const subscribe: Action = async (world, company, random) => {
  if (isLive(company)) return null;
  const plan = random.pick(company.offers.plans);
  const opened = await createSubscriptionCheckout(world.buying, { companyId: company.id, planId: plan.id });
  // Before the events of the last subscription have arrived, it counts.
  if (opened.outcome !== 'opened' && world.isHolding) return null;
  if (opened.outcome !== 'opened') throw new Error(`not opened: ${opened.outcome}`);
  const { providerSessionId: session } = opened.page;
  const { status } = await world.call('GET', `/v1/checkout/sessions/${session}`);
  if (status !== 'open' && world.isHolding) return null;
  await world.click(`/checkout/${session}/pay`);
  company.model.cardWorks = true;
  if (world.isHolding) {
    const [live] = await listed(world, '/v1/subscriptions', { customer: await customerOf(world, company) });
    company.model.subscribe(plan, live?.status === 'trialing');
  } else company.model.subscribe(plan);
  return `subscribes to ${plan.priceMinor} for ${plan.months} months`;
};

const change: Action = async (world, company, random) => {
  const { subscription } = company.model;
  const plan = random.pick(company.offers.plans);
  const isPossible = subscription?.status === 'ACTIVE' || subscription?.status === 'TRIALING';
  if (subscription === null || !isPossible || subscription.plan.id === plan.id) return null;
  // What becomes of the invoice of a change then is the provider's own affair.
  if (subscription.paused !== null) return null;
  const wanted = { companyId: company.id, planId: plan.id };
  const previewed = await previewSubscriptionChange(world.buying, wanted);
  const before = company.model.invoices.length;
  const changed = await changeSubscriptionPlan(world.buying, wanted);
  // Before the events of the subscription have arrived, there may be nothing to change.
  if (world.isHolding && changed.outcome !== 'changed') return null;
  const isChanged = company.model.change(plan);
  const dueMinor = company.model.invoices[before]?.dueMinor ?? 0;
  const previewedMinor = previewed.outcome === 'previewed' ? Number(previewed.amountDueMinor) : 0;
  return {
    did: `changes to ${plan.priceMinor} for ${plan.months} months: ${changed.outcome}`,
    differences: [
      ...differ('changed', changed.outcome === 'changed', isChanged),
      ...(isChanged ? differ('preview', previewedMinor, dueMinor) : []),
    ],
  };
};

const coupon: Action = async (world, company, random) => {
  if (!isLive(company)) return null;
  const duration = random.pick(['once', 'repeating', 'forever'] as const);
  const isPercent = random.below(2) === 0;
  const of: ModelCoupon = {
    ...{ duration, months: 1 + random.below(3), percent: isPercent ? random.pick([10, 33, 50, 100]) : null },
    amountMinor: 1 + random.below(2_500),
  };
  const { id } = await world.call('POST', '/v1/coupons', {
    duration,
    ...(duration === 'repeating' ? { duration_in_months: String(of.months) } : {}),
    ...(of.percent === null
      ? { amount_off: String(of.amountMinor), currency: company.currency }
      : { percent_off: String(of.percent) }),
  });
  await world.call('POST', `/v1/subscriptions/${await subscriptionIdOf(world, company)}`, {
    coupon: String(id),
  });
  company.model.setCoupon(of);
  return `gets a coupon ${JSON.stringify(of)}`;
};

const cancelLater: Action = async (world, company, random) => {
  if (!isLive(company) || company.model.subscription === null) return null;
  const cancels = random.below(2) === 0;
  await world.call('POST', `/v1/subscriptions/${await subscriptionIdOf(world, company)}`, {
    cancel_at_period_end: String(cancels),
  });
  company.model.subscription.cancelsAtPeriodEnd = cancels;
  return cancels ? 'cancels at the end of the period' : 'resumes';
};

const cancelNow: Action = async (world, company, random) => {
  if (!isLive(company) || random.below(3) > 0) return null;
  await world.call('DELETE', `/v1/subscriptions/${await subscriptionIdOf(world, company)}`);
  company.model.cancelNow();
  return 'cancels at once';
};

const card: Action = async (world, company, random) => {
  const customer = await customerOf(world, company);
  if (customer === '') return null;
  const works = random.below(2) === 0;
  await world.own('/sandbox/cards', { customer, card: works ? 'works' : 'declines' });
  company.model.cardWorks = works;
  return works ? 'has a card that works' : 'has a card that is declined';
};

const payOpen: Action = async (world, company) => {
  if (!company.model.invoices.some(({ status }) => status === 'OPEN')) return null;
  const customer = await customerOf(world, company);
  const { data } = await world.call('GET', '/v1/invoices', { customer, status: 'open' });
  const [open] = data as { id: string }[];
  if (open === undefined) return null;
  await world.click(`/invoice/${open.id}/pay`);
  company.model.payOpen();
  return 'pays the open invoice';
};

const buy: Action = async (world, company, random) => {
  const pack = random.pick(company.offers.packs);
  const opened = await createCreditPackCheckout(world.buying, {
    companyId: company.id,
    creditPackId: pack.id,
  });
  if (opened.outcome !== 'opened') throw new Error(`not opened: ${opened.outcome}`);
  await world.click(`/checkout/${opened.page.providerSessionId}/pay`);
  company.model.buy(pack);
  return `buys a pack of ${pack.priceMinor}`;
};

/** Posted as an operator takes credits: it takes the same ones as usage, and there are no calls here. */
const use: Action = async (world, company, random) => {
  const { model } = company;
  const micro = 1 + random.below(Math.max(1, Math.floor(model.balanceMicro * 1.05)));
  if (model.balanceMicro <= 0) return null;
  await world.database.transaction((transaction) =>
    postTransaction(transaction, {
      ...{ accountId: company.id, type: 'ADJUSTMENT', amountMicro: BigInt(-micro), contra: 'adjustments' },
      ...{ sourceKind: 'months', sourceId: world.parts.secrets.newId() },
    }),
  );
  model.use(micro);
  return `uses ${micro}`;
};

/** A refund or a lost dispute of some payment, in part or whole. */
const giveBack: Action = async (world, company, random) => {
  const customer = await customerOf(world, company);
  if (customer === '') return null;
  const paid = (await listed(world, '/v1/charges', { customer }))
    .filter((charge) => charge.paid === true)
    .toReversed();
  const charges = paid.filter(({ refunded, disputed }) => refunded === false && disputed === false);
  if (charges.length === 0) return null;
  const charge = random.pick(charges);
  const { model } = company;
  const purchase = model.purchases[paid.filter(({ invoice }) => invoice === null).indexOf(charge)];
  const place = (await invoicesOf(world, customer)).findIndex(({ id }) => id === charge.invoice);
  const invoice = model.invoices[place];
  const left = Number(charge.amount) - Number(charge.amount_refunded);
  // A credit note may have returned a part of what the charge paid.
  const open =
    invoice === undefined
      ? left
      : Math.min(left, invoice.totalMinor - invoice.notedMinor - invoice.returnedMinor);
  if (open <= 0) return null;
  const minor = random.below(2) === 0 ? open : 1 + random.below(open);
  const isDispute = random.below(3) === 0;
  const made = isDispute
    ? await lose(world, String(charge.id), { minor, isOpenedBefore: random.below(2) === 0 })
    : await world.call('POST', '/v1/refunds', { charge: String(charge.id), amount: String(minor) });
  const did = `gets ${minor} of ${charge.amount} back${isDispute ? ' by a dispute' : ''}`;
  // An invoice for something else has brought no credits.
  if (company.others.has(String(charge.invoice))) return `${did} of an invoice for no plan`;
  const of =
    purchase !== undefined
      ? model.returnPurchase(purchase, minor)
      : model.returnInvoice(invoice as ModelInvoice, minor, 'card');
  const names = isDispute ? { charge: String(charge.id) } : { refund: String((made as Fields).id) };
  company.returns.push({ of, atMs: world.nowMs(), ...names });
  return `${did}${purchase === undefined ? '' : ' of a pack'}`;
};

async function lose(
  world: World,
  charge: string,
  { minor, isOpenedBefore }: { readonly minor: number; readonly isOpenedBefore: boolean },
): Promise<void> {
  if (isOpenedBefore) {
    await world.own('/sandbox/disputes', { charge, status: 'needs_response', amount: minor });
    await world.deliver();
  }
  await world.own('/sandbox/disputes', { charge, status: 'lost', amount: minor });
}

/** Refunds are read from the provider for 60 days, disputes for longer. */
const REVERSED_WITHIN_MS = 30 * 86_400_000;

/** The bank decides a dispute for us after all, or cannot pay a refund out. */
const reverse: Action = async (world, company, random) => {
  const { returns, won, model } = company;
  // Credits that expire are given back for the last return only: the model does not know those of another.
  const at = world.holds ? random.below(Math.max(1, returns.length)) : returns.length - 1;
  const [one] = returns.splice(at, 1);
  if (!world.holds) returns.length = 0;
  if (one === undefined || world.nowMs() - one.atMs >= REVERSED_WITHIN_MS || one.atMs === world.nowMs())
    return null;
  const { charge, refund } = one;
  if (charge === undefined) await world.own('/sandbox/refunds', { refund, status: 'failed' });
  else await world.own('/sandbox/disputes', { charge, status: 'won' });
  model.undo(one.of);
  if (charge !== undefined) won.push({ ...one, atMs: world.nowMs() });
  return `has a return of ${one.of.minor} reversed: ${charge ?? refund}`;
};

/** The bank decides a dispute against us once more. */
const loseAgain: Action = async (world, { won, returns, model }) => {
  const [one] = won.splice(0, 1);
  if (one === undefined || one.atMs === world.nowMs()) return null;
  const { charge = '', of } = one;
  await lose(world, charge, { minor: of.minor, isOpenedBefore: false });
  const again: MadeReturn = { charge, of: model.returnAgain(of), atMs: world.nowMs() };
  returns.push(again);
  return `loses the dispute of ${charge} once more`;
};

/** Opened and won: nothing changes. */
const winDispute: Action = async (world, company) => {
  const customer = await customerOf(world, company);
  if (customer === '') return null;
  const charges = await listed(world, '/v1/charges', { customer });
  const charge = charges.find(({ paid, disputed }) => paid === true && disputed === false);
  if (charge === undefined) return null;
  for (const status of ['needs_response', 'won']) {
    await world.own('/sandbox/disputes', { charge: charge.id, status });
    await world.deliver();
  }
  return `wins a dispute of ${charge.amount}`;
};

/** Before payment it lowers what is due; after it the money is on the customer's balance, or was returned elsewhere. */
const creditNote: Action = async (world, company, random) => {
  const customer = await customerOf(world, company);
  if (customer === '') return null;
  const invoices = await invoicesOf(world, customer);
  const place = random.below(Math.max(1, invoices.length));
  const [wanted, invoice] = [invoices[place], company.model.invoices[place]];
  if (wanted === undefined || invoice === undefined || invoice.totalMinor <= 0 || invoice.status === 'VOID')
    return null;
  const isOpen = invoice.status === 'OPEN';
  const most = isOpen ? invoice.dueMinor : invoice.totalMinor - invoice.notedMinor - invoice.returnedMinor;
  if (most <= 0) return null;
  const minor = random.below(3) === 0 ? most : 1 + random.below(most);
  const to = random.below(4) === 0 ? 'outside' : 'balance';
  const made = await world.call('POST', '/v1/credit_notes', {
    ...{ invoice: String(wanted.id), amount: String(minor) },
    ...(isOpen ? {} : { [to === 'balance' ? 'credit_amount' : 'out_of_band_amount']: String(minor) }),
  });
  if (made.id === undefined) throw new Error('no credit note');
  if (isOpen) company.model.noteOpen(invoice, minor);
  else company.model.returnInvoice(invoice, minor, to);
  return `gets a credit note of ${minor} for an invoice of ${invoice.totalMinor}, ${invoice.status}: ${to}`;
};

/** An invoice for usage: the customer's balance pays first. */
const payUsage: Action = async (world, company, random) => {
  const customer = await customerOf(world, company);
  const { model } = company;
  const minor = 1 + random.below(2_000);
  if (customer === '' || (minor > -model.customerMinor && !model.cardWorks)) return null;
  // An invoice of a plan that is paid in the same second is counted before it.
  const passSecond = async () => {
    if (world.isHolding) await world.pass(1, 'late');
    model.advance(world.nowMs() / 1000);
  };
  await passSecond();
  const { currency } = company;
  const { id } = await world.call('POST', '/v1/invoices', { customer, currency });
  const invoice = String(id);
  await world.call('POST', '/v1/invoiceitems', { customer, invoice, currency, amount: String(minor) });
  const { status } = await world.call('POST', `/v1/invoices/${invoice}/finalize`);
  if (status === 'open') await world.call('POST', `/v1/invoices/${invoice}/pay`);
  company.others.add(invoice);
  model.payOther(minor);
  await passSecond();
  return `pays ${minor} for usage`;
};

/** Collection is paused, with renewals as drafts or void, or goes on. */
const pause: Action = async (world, company, random) => {
  const { subscription } = company.model;
  if (!isLive(company) || subscription === null || random.below(2) === 0) return null;
  const paused = subscription.paused === null ? random.pick(['keep_as_draft', 'void'] as const) : null;
  await world.call('POST', `/v1/subscriptions/${await subscriptionIdOf(world, company)}`, {
    ...(paused === null ? { pause_collection: '' } : { 'pause_collection[behavior]': paused }),
  });
  subscription.paused = paused;
  return paused === null ? 'is charged again' : `is not charged for now: ${paused}`;
};

const ACTIONS: readonly Action[] = [
  ...[subscribe, subscribe, change, change, coupon, cancelLater, cancelNow, card, payOpen, payOpen],
  ...[buy, use, use, giveBack, giveBack, reverse, loseAgain, winDispute, creditNote, creditNote],
  ...[payUsage, payUsage, pause],
];
