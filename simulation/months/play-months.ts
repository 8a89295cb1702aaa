import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createCreditPack } from '../../src/domain/catalog/credit-pack.ts';
import { createPlan, syncAllPlansProviderPricing } from '../../src/domain/catalog/plan.ts';
import { expireCredits } from '../../src/domain/credits/expiry/expire-credits.ts';
import { readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { listLots } from '../../src/domain/credits/ledger/credit-lots.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { createMailOutbox } from '../../src/domain/mail/outbox.ts';
import { HANDLED_EVENT_KINDS } from '../../src/domain/payments/apply-event.ts';
import { changeSubscriptionPlan, previewSubscriptionChange } from '../../src/domain/payments/change-plan.ts';
import { createCreditPackCheckout } from '../../src/domain/payments/checkout.ts';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import { createPaymentEvents } from '../../src/domain/payments/payment-events.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import { currentSubscription, endGrace } from '../../src/domain/subscriptions/subscription.ts';
import { createPaymentSandbox } from '../../src/payment-sandbox/server.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Database } from '../../src/ports/database.ts';
import {
  PROVIDER_API_VERSION,
  type ProviderEvent,
  type WireObject,
} from '../../src/ports/payment-provider.ts';
import { createSeededRandom, type SeededRandom } from '../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../test/doubles/silent-log.ts';
import { replaceGlobals } from '../frame/globals.ts';
import { NEVER } from '../frame/scheduler.ts';
import { createSimulatedSecrets } from '../frame/secrets.ts';
import { openProvider, WEBHOOK_SECRET, WEBHOOK_URL } from '../platform-process.ts';
import { CompanyModel, type ModelCoupon, type ModelPack, type ModelPlan } from './model.ts';

/** Months end in it, and a leap day: 2028 has a 29 February. */
const STARTS = [
  Date.UTC(2026, 0, 31, 9),
  Date.UTC(2026, 7, 30, 23, 59, 30),
  Date.UTC(2028, 0, 30, 1),
  Date.UTC(2027, 9, 15),
];
const CREDIT = 1_000_000;
const GRACE_MS = 7 * 86_400_000;
const COMPANIES = 3;
/** Rounding: a micro-credit for each line and refund. */
const TOLERANCE_MICRO = 60;

export interface PlayedMonths {
  readonly steps: number;
  /** What differs from the model, and the steps of that company before it; empty where nothing does. */
  readonly differences: readonly string[];
}

/** Companies that subscribe, change, cancel, pay late, buy and get money back for so many days, compared after each step. */
export async function playMonths(database: Database, seed: number, days: number): Promise<PlayedMonths> {
  const random = createSeededRandom(seed);
  const startMs = STARTS[seed % STARTS.length] ?? 0;
  const world = openWorld(database, random, startMs);
  const putBack = replaceGlobals({ nowMs: world.nowMs, random, fetch: world.fetch });
  try {
    const offers = await world.makeOffers();
    const companies = [];
    for (let count = 0; count < COMPANIES; count += 1) companies.push(await world.newCompany());
    let steps = 0;
    while (world.nowMs() < startMs + days * 86_400_000) {
      await world.pass(1 + random.below(12 * 86_400));
      for (const company of companies) {
        company.model.advance(world.nowMs() / 1000);
        const passed = await world.compare(company);
        const acted =
          passed.length > 0 || random.below(3) === 0 ? [] : await takeAction(world, company, offers, random);
        await world.deliver();
        company.model.advance(world.nowMs() / 1000);
        steps += 1;
        const differences = [...passed, ...acted, ...(await world.compare(company))];
        if (differences.length > 0) return { steps, differences: [...company.lines, ...differences] };
      }
    }
    return { steps, differences: [] };
  } finally {
    putBack();
  }
}

interface Offers {
  readonly plans: readonly ModelPlan[];
  readonly packs: readonly (ModelPack & { readonly id: string })[];
}

interface Company {
  readonly id: string;
  readonly model: CompanyModel;
  readonly lines: string[];
}

type World = ReturnType<typeof openWorld>;
type Fields = Readonly<Record<string, unknown>>;

function openWorld(database: Database, random: SeededRandom, startMs: number) {
  let aheadMs = 0;
  const nowMs = () => startMs + aheadMs;
  const still = {
    uptimeMs: () => 0,
    after: () => ({ cancel() {} }),
    turn: async () => {},
    sleep: () => NEVER,
  };
  const clock: Clock = { ...still, now: nowMs };
  const log = createSilentLog();
  const secrets = createSimulatedSecrets(clock, random);
  const sandbox = createPaymentSandbox({
    ...{ secrets, log, database, webhookSecret: WEBHOOK_SECRET, eventKinds: HANDLED_EVENT_KINDS },
    // Its own clock is moved by its switch.
    clock: { ...still, now: () => startMs },
    baseUrl: () => 'http://sandbox.simulated',
    webhookUrl: () => WEBHOOK_URL,
  });
  const fetch = async (request: Request) =>
    request.url === WEBHOOK_URL ? new Response('') : await sandbox.fetch(request);
  const provider = openProvider({ clock, log }, 'months');
  const sharedState = createInProcessState({ clock });
  const jobQueue = { enqueue: async () => secrets.newId() };
  const mail = createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain: 'mail.example' });
  const parts = { database, sharedState, provider, mail, secrets, clock, log, pastDueGraceMs: GRACE_MS };
  const paymentEvents = createPaymentEvents(parts);
  const buying = {
    ...{ ...parts, paymentEvents, consoleUrl: 'https://console.example' },
    checkoutTaxes: { isAutomatic: false, collectsTaxIds: false },
  };
  let delivered = 0n;

  const send = async (method: string, path: string, body?: string, type = 'x-www-form-urlencoded') => {
    const headers = { authorization: 'Bearer sk_test', 'content-type': `application/${type}` };
    const init = body === undefined ? { method, headers } : { method, headers, body };
    return await sandbox.fetch(new Request(`http://sandbox.simulated${path}`, init));
  };

  return {
    ...{ nowMs, fetch, provider, parts, buying, database },
    async call(method: string, path: string, parameters: Record<string, string> = {}): Promise<Fields> {
      const form = new URLSearchParams(parameters).toString();
      const answer =
        method === 'POST' ? await send(method, path, form) : await send(method, `${path}?${form}`);
      return (await answer.json()) as Fields;
    },
    own: (path: string, body: object) => send('POST', path, JSON.stringify(body), 'json'),
    click: (path: string) => send('POST', path, ''),
    async pass(seconds: number): Promise<void> {
      await this.own('/sandbox/clock', { advance_seconds: seconds });
      aheadMs += seconds * 1000;
      await this.deliver();
    },
    /** What the provider has sent, in order, some of it twice; then the jobs that run all the time. */
    async deliver(): Promise<void> {
      const rows = await database.query<{ sequence: bigint; body: Fields }>(
        `select sequence, body from payment_sandbox_objects where kind = 'event' and sequence > $1 order by sequence`,
        [delivered],
      );
      for (const { sequence, body } of rows) {
        delivered = sequence;
        if (!HANDLED_EVENT_KINDS.includes(String(body.type))) continue;
        await paymentEvents.receive(eventOf(body));
        if (random.below(8) === 0) await paymentEvents.receive(eventOf(body));
      }
      await readDisputes({ ...parts, paymentEvents });
      await expireCredits({ database, sharedState, clock, log });
      await endGrace(database, { now: new Date(nowMs()), graceMs: GRACE_MS });
    },
    async newCompany(): Promise<Company> {
      const id = secrets.newId();
      await addCompany(database, { id, name: 'Company', billingMode: 'PREPAID' });
      return { id, model: new CompanyModel(nowMs() / 1000), lines: [] };
    },
    async makeOffers(): Promise<Offers> {
      await sandbox.begin();
      const plans: ModelPlan[] = [];
      for (const wanted of PLANS) {
        const { name, months, priceMinor, creditsMicro, trialDays, trialCreditsMicro, expireDays } = wanted;
        const made = await createPlan(
          { statements: database, secrets, clock },
          {
            ...{ name, price: priceMinor / 100, currency: 'USD', billingMode: 'PREPAID', active: true },
            ...{ interval: months === 1 ? 'MONTH' : 'YEAR', creditsMicro: BigInt(creditsMicro), trialDays },
            ...{ trialCreditsMicro: BigInt(trialCreditsMicro), creditsExpireAfterDays: expireDays },
          },
        );
        if (made.outcome !== 'created') throw new Error(made.message);
        plans.push({ ...wanted, id: made.plan.id });
      }
      await syncAllPlansProviderPricing({ database, provider, clock, log });
      const packs = [];
      for (const { priceMinor, creditsMicro, expireDays } of PACKS) {
        const made = await createCreditPack(parts, {
          ...{ name: 'Pack', price: String(priceMinor / 100), currency: 'usd', sortOrder: 1 },
          ...{ creditsMicro: BigInt(creditsMicro), creditsExpireAfterDays: expireDays },
        });
        if (made.outcome !== 'created') throw new Error(made.message);
        packs.push({ id: made.pack.id, priceMinor, creditsMicro, expireDays });
      }
      return { plans, packs };
    },
    async compare({ id, model }: Company): Promise<string[]> {
      const lots = await listLots(database, id, { first: 100 });
      const subscription = await currentSubscription(database, id);
      const invoices = await database.query<{ status: string; minor: bigint }>(
        `select status, amount_minor as minor from invoices where company_id = $1 and kind = 'SUBSCRIPTION' order by created_at, id`,
        [id],
      );
      const level = await readLevel(database, id);
      const { subscription: wanted } = model;
      const open = model.lots
        .filter(({ leftMicro }) => leftMicro > TOLERANCE_MICRO)
        .toSorted((one, other) => one.expiresAt - other.expiresAt);
      const found = lots.filter(({ leftMicro }) => leftMicro > TOLERANCE_MICRO);
      return [
        ...differ('balance', Number(level?.balanceMicro ?? 0n), model.balanceMicro),
        ...differ('lots', found.length, open.length),
        ...open.flatMap((lot, at) => [
          ...differ(`lot ${at}`, Number(found[at]?.leftMicro ?? 0n), lot.leftMicro),
          ...differ(`end of lot ${at}`, secondsOf(found[at]?.expiresAt), Math.floor(lot.expiresAt)),
        ]),
        ...differ('status', subscription?.status, wanted?.status),
        ...differ('plan', subscription?.planId, wanted?.plan.id),
        ...differ('active', subscription?.isActive ?? false, model.isActive),
        ...differ('period end', secondsOf(subscription?.currentPeriodEnd), wanted?.periodEnd),
        ...differ('cancels', subscription?.cancelAtPeriodEnd, wanted?.cancelsAtPeriodEnd),
        ...differ('end', secondsOf(subscription?.endDate), endOf(model)),
        ...differ(
          'invoices',
          invoices
            .map(({ status, minor }) => `${status} ${minor}`)
            .toSorted()
            .join(),
          model.invoices
            .map(({ status, totalMinor }) => `${status} ${Math.max(0, totalMinor)}`)
            .toSorted()
            .join(),
        ),
      ];
    },
  };
}

const PLANS = [
  {
    name: 'Basic',
    priceMinor: 2_900,
    creditsMicro: 3_200 * CREDIT,
    months: 1,
    trialDays: null,
    trialCreditsMicro: 0,
    expireDays: null,
  },
  {
    name: 'Trial',
    priceMinor: 4_900,
    creditsMicro: 5_500 * CREDIT,
    months: 1,
    trialDays: 14,
    trialCreditsMicro: 500 * CREDIT,
    expireDays: null,
  },
  {
    name: 'Short',
    priceMinor: 1_900,
    creditsMicro: 2_500 * CREDIT,
    months: 1,
    trialDays: null,
    trialCreditsMicro: 0,
    expireDays: 20,
  },
  {
    name: 'Year',
    priceMinor: 29_900,
    creditsMicro: 40_000 * CREDIT,
    months: 12,
    trialDays: 30,
    trialCreditsMicro: 700 * CREDIT,
    expireDays: null,
  },
] as const;
const PACKS = [
  { priceMinor: 1_000, creditsMicro: 1_000 * CREDIT, expireDays: null },
  { priceMinor: 777, creditsMicro: 901 * CREDIT, expireDays: 30 },
] as const;

function endOf({ subscription }: CompanyModel): number | undefined {
  if (subscription === null) return undefined;
  return subscription.endedAt ?? (subscription.cancelsAtPeriodEnd ? subscription.periodEnd : undefined);
}

function secondsOf(moment: Date | null | undefined): number | undefined {
  return moment == null ? undefined : Math.floor(moment.getTime() / 1000);
}

function differ(what: string, found: unknown, wanted: unknown): string[] {
  if (typeof found === 'number' && typeof wanted === 'number' && Math.abs(found - wanted) <= tolerance(what))
    return [];
  return found === wanted || (found == null && wanted == null)
    ? []
    : [`${what}: ${found} here, ${wanted} by the model`];
}

function tolerance(what: string): number {
  return what === 'balance' || what.startsWith('lot ') ? TOLERANCE_MICRO : 0;
}

function eventOf(body: Fields): ProviderEvent {
  const data = body.data as { object: WireObject; previous_attributes?: Fields };
  return {
    ...{ id: String(body.id), type: String(body.type), apiVersion: PROVIDER_API_VERSION, livemode: false },
    ...{ createdAtMs: Number(body.created) * 1000, object: data.object, payload: body },
    previousAttributes: data.previous_attributes ?? null,
  };
}

interface Did {
  readonly did: string;
  readonly differences?: readonly string[];
}
type Action = (
  world: World,
  company: Company,
  offers: Offers,
  random: SeededRandom,
) => Promise<Did | string | null>;

async function takeAction(
  world: World,
  company: Company,
  offers: Offers,
  random: SeededRandom,
): Promise<readonly string[]> {
  const taken = await random.pick(ACTIONS)(world, company, offers, random);
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

const subscribe: Action = async (world, company, { plans }, random) => {
  if (isLive(company)) return null;
  const plan = random.pick(plans);
  const opened = await createSubscriptionCheckout(world.buying, { companyId: company.id, planId: plan.id });
  if (opened.outcome !== 'opened') throw new Error(`not opened: ${opened.outcome}`);
  await world.click(`/checkout/${opened.page.providerSessionId}/pay`);
  company.model.cardWorks = true;
  company.model.subscribe(plan);
  return `subscribes to ${plan.priceMinor} for ${plan.months} months`;
};

const change: Action = async (world, company, { plans }, random) => {
  const { subscription } = company.model;
  const plan = random.pick(plans);
  const isPossible = subscription?.status === 'ACTIVE' || subscription?.status === 'TRIALING';
  if (subscription === null || !isPossible || subscription.plan.id === plan.id) return null;
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

const coupon: Action = async (world, company, _offers, random) => {
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
      ? { amount_off: String(of.amountMinor), currency: 'usd' }
      : { percent_off: String(of.percent) }),
  });
  await world.call('POST', `/v1/subscriptions/${await subscriptionIdOf(world, company)}`, {
    coupon: String(id),
  });
  company.model.setCoupon(of);
  return `gets a coupon ${JSON.stringify(of)}`;
};

const cancelLater: Action = async (world, company, _offers, random) => {
  if (!isLive(company) || company.model.subscription === null) return null;
  const cancels = random.below(2) === 0;
  await world.call('POST', `/v1/subscriptions/${await subscriptionIdOf(world, company)}`, {
    cancel_at_period_end: String(cancels),
  });
  company.model.subscription.cancelsAtPeriodEnd = cancels;
  return cancels ? 'cancels at the end of the period' : 'resumes';
};

const cancelNow: Action = async (world, company, _offers, random) => {
  if (!isLive(company) || random.below(3) > 0) return null;
  await world.call('DELETE', `/v1/subscriptions/${await subscriptionIdOf(world, company)}`);
  company.model.cancelNow();
  return 'cancels at once';
};

const card: Action = async (world, company, _offers, random) => {
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

const buy: Action = async (world, company, { packs }, random) => {
  const pack = random.pick(packs);
  const opened = await createCreditPackCheckout(world.buying, {
    companyId: company.id,
    creditPackId: pack.id,
  });
  if (opened.outcome !== 'opened') throw new Error(`not opened: ${opened.outcome}`);
  await world.click(`/checkout/${opened.page.providerSessionId}/pay`);
  company.model.buy(pack);
  return `buys a pack of ${pack.priceMinor}`;
};

const use: Action = async (world, company, _offers, random) => {
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
const giveBack: Action = async (world, company, _offers, random) => {
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
          one.pack.priceMinor === Number(charge.amount) &&
          one.returnedMinor === Number(charge.amount_refunded),
      )
    : undefined;
  const alike = isPack
    ? model.purchases.filter((one) => one.pack.priceMinor === Number(charge.amount)).length
    : paidByCard.filter((one) => one.dueMinor === Number(charge.amount)).length;
  // The model has no ids: only a payment that is like no other can be found in it.
  if (alike !== 1 || (invoice === undefined && purchase === undefined)) return null;
  const minor = random.below(2) === 0 ? left : 1 + random.below(left);
  const isDispute = random.below(4) === 0 && Number(charge.amount_refunded) === 0;
  if (isDispute) await world.own('/sandbox/disputes', { charge: charge.id, status: 'lost', amount: minor });
  else await world.call('POST', '/v1/refunds', { charge: String(charge.id), amount: String(minor) });
  if (purchase !== undefined) model.returnPurchase(purchase, minor);
  if (invoice !== undefined) model.returnInvoice(invoice, minor, 'card');
  return `gets ${minor} of ${charge.amount} back${isDispute ? ' by a dispute' : ''}${isPack ? ' of a pack' : ''}`;
};

const ACTIONS: readonly Action[] = [
  ...[subscribe, subscribe, change, change, coupon, cancelLater, cancelNow, card, payOpen, payOpen],
  ...[buy, use, use, giveBack],
];
