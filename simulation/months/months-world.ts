import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createCreditPack } from '../../src/domain/catalog/credit-pack.ts';
import { createPlan, syncAllPlansProviderPricing } from '../../src/domain/catalog/plan.ts';
import { expireCredits } from '../../src/domain/credits/expiry/expire-credits.ts';
import { readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { listLots } from '../../src/domain/credits/ledger/credit-lots.ts';
import { createMailOutbox } from '../../src/domain/mail/outbox.ts';
import { effectOf, HANDLED_EVENT_KINDS } from '../../src/domain/payments/apply-event.ts';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import { createPaymentEvents } from '../../src/domain/payments/payment-events.ts';
import { AUDIT_CHECKS } from '../../src/domain/reconciliation/audit.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { currentSubscription, endGrace } from '../../src/domain/subscriptions/subscription.ts';
import { createPaymentSandbox } from '../../src/payment-sandbox/server.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Database } from '../../src/ports/database.ts';
import {
  PROVIDER_API_VERSION,
  type ProviderEvent,
  type WireObject,
} from '../../src/ports/payment-provider.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../test/doubles/silent-log.ts';
import { NEVER } from '../frame/scheduler.ts';
import { createSimulatedSecrets } from '../frame/secrets.ts';
import { openProvider, WEBHOOK_SECRET, WEBHOOK_URL } from '../platform-process.ts';
import { CompanyModel, type ModelPack, type ModelPlan, type Return } from './model.ts';

const CREDIT = 1_000_000;
const GRACE_MS = 7 * 86_400_000;
/** Rounding: a micro-credit for each line and refund. */
const TOLERANCE_MICRO = 60;
/** The only rate of the payment sandbox. */
const TAX_PERCENT = 20;

export interface Offers {
  readonly plans: readonly ModelPlan[];
  readonly packs: readonly (ModelPack & { readonly id: string })[];
}

export interface Company {
  readonly id: string;
  readonly model: CompanyModel;
  readonly currency: Currency;
  readonly offers: Offers;
  /** Disputes that were lost, and refunds: a bank may reverse either. */
  readonly returns: MadeReturn[];
  /** Disputes that were won after they were lost: they may be lost again. */
  readonly won: MadeReturn[];
  /** The provider's ids of invoices that are for no plan. */
  readonly others: Set<string>;
  readonly lines: string[];
}

export interface MadeReturn {
  readonly of: Return;
  /** Of a charge with a dispute, or of a refund. */
  readonly charge?: string;
  readonly refund?: string;
  readonly atMs: number;
}

export type World = ReturnType<typeof openMonths>;
/** One for each company; yen have no minor unit. */
export const CURRENCIES = ['usd', 'jpy', 'eur'] as const;
type Currency = (typeof CURRENCIES)[number];
export type Fields = Readonly<Record<string, unknown>>;

interface MonthsOptions {
  readonly startMs: number;
  readonly isTaxed: boolean;
  /** Events may wait, and credits do not expire: what is left of those depends on when they arrive. */
  readonly holds: boolean;
}

export function openMonths(
  database: Database,
  random: SeededRandom,
  { startMs, isTaxed, holds }: MonthsOptions,
) {
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
    checkoutTaxes: { isAutomatic: isTaxed, collectsTaxIds: false },
  };
  let delivered = 0n;
  let held: ProviderEvent[] = [];
  const arrived: ProviderEvent[] = [];

  const send = async (method: string, path: string, body?: string, type = 'x-www-form-urlencoded') => {
    const headers = { authorization: 'Bearer sk_test', 'content-type': `application/${type}` };
    const init = body === undefined ? { method, headers } : { method, headers, body };
    return await sandbox.fetch(new Request(`http://sandbox.simulated${path}`, init));
  };

  return {
    ...{ nowMs, fetch, provider, parts, buying, database, holds },
    /** While it is set most events wait, for days, and each arrives whenever it happens to. */
    isHolding: false,
    async call(method: string, path: string, parameters: Record<string, string> = {}): Promise<Fields> {
      const form = new URLSearchParams(parameters).toString();
      const answer =
        method === 'POST' ? await send(method, path, form) : await send(method, `${path}?${form}`);
      return (await answer.json()) as Fields;
    },
    own: (path: string, body: object) => send('POST', path, JSON.stringify(body), 'json'),
    click: (path: string) => send('POST', path, ''),
    async pass(seconds: number, arrives: 'at once' | 'late' = 'at once'): Promise<void> {
      await this.own('/sandbox/clock', { advance_seconds: seconds });
      aheadMs += seconds * 1000;
      if (arrives === 'at once') await this.deliver();
      else await this.runJobs();
    },
    /**
     * What the provider has sent, in any order, some of it twice, at once or under a second id, and some of what arrived
     * long ago once more; then the jobs that run all the time.
     */
    async deliver(): Promise<void> {
      const rows = await database.query<{ sequence: bigint; body: Fields }>(
        `select sequence, body from payment_sandbox_objects where kind = 'event' and sequence > $1 order by sequence`,
        [delivered],
      );
      delivered = rows.at(-1)?.sequence ?? delivered;
      const fresh = rows.map(({ body }) => eventOf(body)).filter(({ type }) => effectOf(type) !== undefined);
      const isLate = () => this.isHolding && random.below(HELD_OF) > 0;
      const waiting = [...held, ...fresh].map((event) => ({ event, isLate: isLate() }));
      held = waiting.flatMap(({ event, isLate: stays }) => (stays ? [event] : []));
      const sent = waiting.flatMap(({ event, isLate: stays }) => (stays ? [] : [event]));
      if (arrived.length > 0 && random.below(4) === 0) sent.push(random.pick(arrived));
      arrived.push(...sent);
      const isInOrder = random.below(2) === 0;
      for (const event of isInOrder ? sent : shuffled(sent, random)) {
        await Promise.all(repeated(event, random).map((one) => paymentEvents.receive(one)));
      }
      await paymentEvents.retryDue();
      if (!this.isHolding || random.below(2) === 0) await readDisputes({ ...parts, paymentEvents });
      await this.runJobs();
    },
    async runJobs(): Promise<void> {
      await expireCredits({ database, sharedState, clock, log });
      await endGrace(database, { now: new Date(nowMs()), graceMs: GRACE_MS });
    },
    begin: () => sandbox.begin(),
    async newCompany(currency: Currency): Promise<Company> {
      const id = secrets.newId();
      await addCompany(database, { id, name: 'Company', billingMode: 'PREPAID' });
      const model = new CompanyModel(nowMs() / 1000, isTaxed ? TAX_PERCENT : 0);
      return { id, model, currency, offers: await this.makeOffers(currency), ...lists() };
    },
    async makeOffers(currency: Currency): Promise<Offers> {
      const unit = currency === 'jpy' ? 1 : 100;
      const plans: ModelPlan[] = [];
      for (const plan of PLANS) {
        const wanted = holds ? { ...plan, trialCreditsMicro: 0, expireDays: null } : plan;
        const { name, months, priceMinor, creditsMicro, trialDays, trialCreditsMicro, expireDays } = wanted;
        const made = await createPlan(
          { statements: database, secrets, clock },
          {
            ...{ name, price: priceMinor / unit, currency, billingMode: 'PREPAID', active: true },
            ...{ interval: months === 1 ? 'MONTH' : 'YEAR', creditsMicro: BigInt(creditsMicro), trialDays },
            ...{ trialCreditsMicro: BigInt(trialCreditsMicro), creditsExpireAfterDays: expireDays },
          },
        );
        if (made.outcome !== 'created') throw new Error(made.message);
        plans.push({ ...wanted, id: made.plan.id });
      }
      await syncAllPlansProviderPricing({ database, provider, clock, log });
      const packs = [];
      for (const { priceMinor, creditsMicro, expireDays: days } of PACKS) {
        const expireDays = holds ? null : days;
        const made = await createCreditPack(parts, {
          ...{ name: 'Pack', price: String(priceMinor / unit), currency, sortOrder: 1 },
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
        ...(await compareCash(database, id, model)),
      ];
    },
    /** With nothing on its way: the books hold, and no event waits or has failed. */
    async audit(): Promise<string[]> {
      const events = await database.query<{ problem: string }>(
        `select format('event %s (%s) is %s: %s', provider_event_id, type, status, error) as problem from provider_events
         where status <> 'PROCESSED'`,
      );
      const differences = events.map(({ problem }) => problem);
      for (const check of AUDIT_CHECKS) differences.push(...(await runCheck(database, check)).faults);
      return differences;
    },
  };
}

/** The money of the books is that of the provider's charges, refunds, disputes and of the customer's balance. */
async function compareCash(database: Database, id: string, model: CompanyModel): Promise<string[]> {
  const [cash] = await database.query<Record<'received' | 'returned' | 'balance', bigint>>(
    `select coalesce(sum(amount_minor) filter (where account = 'received'), 0)::bigint as received,
       coalesce(sum(amount_minor) filter (where account in ('refunded', 'disputed') and not outside), 0)::bigint as returned,
       coalesce(sum(amount_minor) filter (where account = 'balance'), 0)::bigint as balance
     from cash_entries where company_id = $1`,
    [id],
  );
  const [money] = await database.query<Record<'received' | 'returned', bigint>>(
    `with charges as (select charge.id, body from payment_sandbox_objects as charge
       join companies on companies.id = $1 and body ->> 'customer' = provider_customer_id
       where kind = 'charge' and (body ->> 'paid')::boolean)
     select coalesce(sum((body ->> 'amount')::bigint), 0)::bigint as received,
       (coalesce(sum((body ->> 'amount_refunded')::bigint), 0) + (select coalesce(sum((body ->> 'amount')::bigint), 0)
         from payment_sandbox_objects where kind = 'dispute' and body ->> 'status' = 'lost'
           and body ->> 'charge' in (select charges.id from charges)))::bigint as returned
     from charges`,
    [id],
  );
  return [
    ...differ('money received', Number(cash?.received), Number(money?.received)),
    ...differ('money returned', Number(cash?.returned), Number(money?.returned)),
    ...differ('money of the balance', Number(cash?.balance), model.settledMinor),
  ];
}

/** Of so many events on their way one arrives in each delivery. */
const HELD_OF = 6;

const lists = () => ({ returns: [], won: [], others: new Set<string>(), lines: [] });

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

/** Once, twice at the same moment, or under a second id. */
function repeated(event: ProviderEvent, random: SeededRandom): ProviderEvent[] {
  const again = random.below(8);
  if (again > 1) return [event];
  const id = again === 0 ? event.id : `${event.id}_again`;
  return [event, { ...event, id, payload: { ...event.payload, id } }];
}

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  return items
    .map((item) => ({ item, place: random.below(1_000_000) }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

function endOf({ subscription }: CompanyModel): number | undefined {
  if (subscription === null) return undefined;
  return subscription.endedAt ?? (subscription.cancelsAtPeriodEnd ? subscription.periodEnd : undefined);
}

function secondsOf(moment: Date | null | undefined): number | undefined {
  return moment == null ? undefined : Math.floor(moment.getTime() / 1000);
}

export function differ(what: string, found: unknown, wanted: unknown): string[] {
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
