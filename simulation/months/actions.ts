import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { changeSubscriptionPlan, previewSubscriptionChange } from '../../src/domain/payments/change-plan.ts';
import { createCreditPackCheckout } from '../../src/domain/payments/checkout.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import { currentSubscription } from '../../src/domain/subscriptions/subscription.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import type { ModelCoupon, ModelInvoice } from './model.ts';
import { type Company, differ, type Fields, type World } from './months-world.ts';

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

async function subscriptionIdOf({ database }: World, { id }: Company): Promise<string> {
  return (await currentSubscription(database, id))?.providerSubscriptionId ?? '';
}

const subscribe: Action = async (world, company, random) => {
  if (isLive(company)) return null;
  const plan = random.pick(company.offers.plans);
  const opened = await createSubscriptionCheckout(world.buying, { companyId: company.id, planId: plan.id });
  if (opened.outcome !== 'opened') throw new Error(`not opened: ${opened.outcome}`);
  await world.click(`/checkout/${opened.page.providerSessionId}/pay`);
  company.model.cardWorks = true;
  company.model.subscribe(plan);
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

const use: Action = async (world, company, random) => {
  const { model } = company;
  const micro = 1 + random.below(Math.max(1, Math.floor(model.balanceMicro * 1.05)));
  if (model.balanceMicro <= 0) return null;
  await world.database.transaction((transaction) =>
    postTransaction(transaction, {
      ...{ accountId: company.id, type: 'USAGE', amountMicro: BigInt(-micro), contra: 'usage' },
      ...{ sourceKind: 'months', sourceId: world.parts.secrets.newId() },
    }),
  );
  model.use(micro);
  return `uses ${micro}`;
};

/** A refund, a lost dispute or a credit note of some payment, in part or whole. */
const giveBack: Action = async (world, company, random) => {
  const customer = await customerOf(world, company);
  if (customer === '') return null;
  const { data } = await world.call('GET', '/v1/charges', { customer, limit: '100' });
  const charges = (data as Fields[]).filter(
    ({ paid, refunded, disputed }) => paid === true && refunded === false && disputed === false,
  );
  if (charges.length === 0) return null;
  const charge = random.pick(charges);
  const left = Number(charge.amount) - Number(charge.amount_refunded);
  const { model } = company;
  const paidByCard = model.invoices.filter(({ status, dueMinor }) => status === 'PAID' && dueMinor > 0);
  const isPack = charge.invoice === null;
  const invoice = isPack
    ? undefined
    : paidByCard.find(
        (one) =>
          one.dueMinor === Number(charge.amount) &&
          one.returnedToCardMinor === Number(charge.amount_refunded),
      );
  const purchase = isPack
    ? model.purchases.find(
        (one) =>
          one.paidMinor === Number(charge.amount) && one.returnedMinor === Number(charge.amount_refunded),
      )
    : undefined;
  const alike = isPack
    ? model.purchases.filter((one) => one.paidMinor === Number(charge.amount)).length
    : paidByCard.filter((one) => one.dueMinor === Number(charge.amount)).length;
  // The model has no ids: only a payment that is like no other can be found in it.
  if (alike !== 1 || (invoice === undefined && purchase === undefined)) return null;
  // A credit note may have returned a part of what the charge paid.
  const open =
    invoice === undefined
      ? left
      : Math.min(left, invoice.totalMinor - invoice.notedMinor - invoice.returnedMinor);
  if (open <= 0) return null;
  const minor = random.below(2) === 0 ? open : 1 + random.below(open);
  const isDispute = random.below(3) === 0 && Number(charge.amount_refunded) === 0;
  const made = isDispute
    ? await world.own('/sandbox/disputes', { charge: charge.id, status: 'lost', amount: minor })
    : await world.call('POST', '/v1/refunds', { charge: String(charge.id), amount: String(minor) });
  const of =
    purchase !== undefined
      ? model.returnPurchase(purchase, minor)
      : model.returnInvoice(invoice as ModelInvoice, minor, 'card');
  company.returns.push({
    of,
    atMs: world.nowMs(),
    reversedBy: isDispute
      ? ['/sandbox/disputes', { charge: charge.id, status: 'won' }]
      : ['/sandbox/refunds', { refund: (made as Fields).id, status: 'failed' }],
  });
  return `gets ${minor} of ${charge.amount} back${isDispute ? ' by a dispute' : ''}${isPack ? ' of a pack' : ''}`;
};

/** Refunds are read from the provider for 60 days, disputes for longer. */
const REVERSED_WITHIN_MS = 50 * 86_400_000;

/** The bank decides a dispute for us after all, or cannot pay the last refund out. */
const reverse: Action = async (world, company) => {
  const last = company.returns.pop();
  const isRead = last !== undefined && world.nowMs() - last.atMs < REVERSED_WITHIN_MS;
  // The sum of a charge's refunds is compared: only the last one of all is reversed.
  company.returns.length = 0;
  if (!isRead) return null;
  const [path, body] = last.reversedBy;
  await world.own(path, body);
  company.model.undo(last.of);
  return `has a return reversed: ${JSON.stringify(body)}`;
};

/** Opened and won: nothing changes. */
const winDispute: Action = async (world, company) => {
  const customer = await customerOf(world, company);
  if (customer === '') return null;
  const { data } = await world.call('GET', '/v1/charges', { customer, limit: '100' });
  const charge = (data as Fields[]).find(({ paid, disputed }) => paid === true && disputed === false);
  if (charge === undefined) return null;
  for (const status of ['needs_response', 'won']) {
    await world.own('/sandbox/disputes', { charge: charge.id, status });
    await world.deliver();
  }
  return `wins a dispute of ${charge.amount}`;
};

/** Before payment it lowers what is due; after it the money is on the customer's balance. */
const creditNote: Action = async (world, company, random) => {
  const customer = await customerOf(world, company);
  if (customer === '') return null;
  const { data } = await world.call('GET', '/v1/invoices', { customer, limit: '100' });
  const invoices = (data as Fields[]).filter(
    ({ status, total, subscription }) =>
      subscription !== null && Number(total) > 0 && (status === 'open' || status === 'paid'),
  );
  if (invoices.length === 0) return null;
  const wanted = random.pick(invoices);
  const alike = company.model.invoices.filter(({ totalMinor }) => totalMinor === Number(wanted.total));
  const [invoice] = alike;
  if (alike.length !== 1 || invoice === undefined) return null;
  const isOpen = invoice.status === 'OPEN';
  const most = isOpen ? invoice.dueMinor : invoice.totalMinor - invoice.notedMinor - invoice.returnedMinor;
  if (most <= 0) return null;
  const minor = random.below(3) === 0 ? most : 1 + random.below(most);
  await world.call('POST', '/v1/credit_notes', {
    ...{ invoice: String(wanted.id), amount: String(minor) },
    ...(isOpen ? {} : { credit_amount: String(minor) }),
  });
  if (isOpen) company.model.noteOpen(invoice, minor);
  else company.model.returnInvoice(invoice, minor, 'balance');
  return `gets a credit note of ${minor} for an invoice of ${invoice.totalMinor}, ${invoice.status}`;
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
  ...[buy, use, use, giveBack, giveBack, reverse, winDispute, creditNote, creditNote, pause],
];
