import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany, findCompany } from '../../src/domain/accounts/company.ts';
import { createCreditPack } from '../../src/domain/catalog/credit-pack.ts';
import {
  createPlan,
  findPlan,
  type PlanParams,
  syncAllPlansProviderPricing,
} from '../../src/domain/catalog/plan.ts';
import { createCreditPackCheckout } from '../../src/domain/payments/checkout.ts';
import { createInvoiceIssuer } from '../../src/domain/payments/postpaid-invoices.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import type { Database } from '../../src/ports/database.ts';
import type { PaymentProvider, ProviderAnswer } from '../../src/ports/payment-provider.ts';
import { until } from '../doubles/until.ts';
import { type Fields, openSandbox } from '../payment-sandbox/sandbox-under-test.ts';
import { CREDIT, makeCompany, makeUsageInvoice, openPayments } from './payments-under-test.ts';

export const PACK = {
  name: 'Starter',
  creditsMicro: 1_000n * CREDIT,
  price: '10',
  currency: 'usd',
  sortOrder: 1,
};
export const PLAN: PlanParams = {
  name: 'Basic',
  price: 29,
  currency: 'USD',
  creditsMicro: 3_000n * CREDIT,
  billingMode: 'PREPAID',
  active: true,
  interval: 'MONTH',
};

/** The catalog, checkout and events on one database, with the sandbox as the provider behind a real socket. */
export async function openShop(database: Database) {
  const sandbox = await openSandbox(database);
  const { listInvoiceLines } = sandbox.provider;
  const payments = openPayments(database, { listInvoiceLines });
  const { log } = payments;
  const { clock } = sandbox;
  const secrets = createSystemSecrets();
  const consoleUrl = 'https://console.example/';
  const parts = {
    ...{ database, secrets, clock, log, consoleUrl },
    checkoutTaxes: { isAutomatic: false, collectsTaxIds: false },
    provider: sandbox.provider,
    paymentEvents: payments.events,
  };
  const pricing = { database, provider: sandbox.provider, clock: createSystemClock(), log };
  let handedOn = 0;
  return {
    ...{ database, sandbox, payments, parts, secrets, clock, log },
    /** Waits for others by the machine's own clock. */
    pricing,
    async newCompany(): Promise<string> {
      const id = secrets.newId();
      await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
      return id;
    },
    async newPack(changes: Partial<typeof PACK> = {}) {
      const provider = sandbox.provider;
      const created = await createCreditPack({ database, provider, secrets, clock }, { ...PACK, ...changes });
      if (created.outcome !== 'created') throw new Error(created.message);
      return created.pack;
    },
    async newPlan(changes: Partial<PlanParams> = {}) {
      const created = await createPlan({ statements: database, secrets, clock }, { ...PLAN, ...changes });
      if (created.outcome !== 'created') throw new Error(created.message);
      return created.plan;
    },
    sync: () => syncAllPlansProviderPricing(pricing),
    async pricedPlan(changes: Partial<PlanParams> = {}) {
      const { id } = await this.newPlan(changes);
      await this.sync();
      const plan = await findPlan(database, id);
      if (plan?.providerPriceId == null) throw new Error('the plan has no price');
      return { ...plan, providerPriceId: plan.providerPriceId };
    },
    /** The checkout page of a new pack, which nobody has paid. */
    async openPack(company?: string, changes: Partial<typeof parts> = {}) {
      const companyId = company ?? (await this.newCompany());
      const pack = await this.newPack();
      const wanted = { companyId, creditPackId: pack.id };
      const opened = await createCreditPackCheckout({ ...parts, ...changes }, wanted);
      if (opened.outcome !== 'opened') throw new Error(opened.outcome);
      const { purchaseId, page } = opened;
      return { companyId, purchaseId, page, sessionId: page.providerSessionId };
    },
    /** A company that has paid 10 usd for a pack of 1,000 credits. */
    async buyPack() {
      const { companyId, purchaseId, sessionId } = await this.openPack();
      await sandbox.click(`/checkout/${sessionId}/pay`);
      await this.balanceBecomes(companyId, 1_000n * CREDIT);
      const session = await this.call('GET', `/v1/checkout/sessions/${sessionId}`);
      return { companyId, purchaseId, sessionId, payment: String(session.payment_intent) };
    },
    /** A company that is about to pay for the first period of a plan, without our checkout. */
    async subscribe(priceId: string) {
      const companyId = await this.newCompany();
      const customer = String((await this.call('POST', '/v1/customers', { name: 'Acme' })).id);
      await database.query('update companies set provider_customer_id = $2 where id = $1', [
        companyId,
        customer,
      ]);
      const wanted = { customer, 'items[0][price]': priceId };
      const subscription = await this.call('POST', '/v1/subscriptions', wanted);
      return { companyId, customer, subscription, invoice: String(subscription.latest_invoice) };
    },
    /** The checkout page of a plan: the provider's id of its session. */
    async openPlan(companyId: string, planId: string, changes: Partial<typeof parts> = {}): Promise<string> {
      const opened = await createSubscriptionCheckout({ ...parts, ...changes }, { companyId, planId });
      if (opened.outcome !== 'opened') throw new Error(opened.outcome);
      return opened.page.providerSessionId;
    },
    async customerOf(companyId: string): Promise<string> {
      return (await findCompany(database, companyId))?.providerCustomerId ?? '';
    },
    /** A POSTPAID company that the provider does not know, with an invoice for usage of 50 credits for 5 usd. */
    async owing() {
      const company = await makeCompany(database, 'POSTPAID');
      await database.query('update companies set provider_customer_id = null where id = $1', [company.id]);
      return { company, id: await makeUsageInvoice(database, company.id) };
    },
    /** As the worker does, at the provider. */
    async issueInvoice(invoiceId: string, provider = sandbox.provider): Promise<void> {
      const handler = createInvoiceIssuer({ ...parts, mail: payments.parts.mail, provider });
      const { signal } = new AbortController();
      await handler({ id: 'job', data: { invoiceId }, attempt: 1, signal });
    },
    /** At the provider; its refusals are errors. */
    async call(method: string, path: string, parameters: Record<string, string> = {}): Promise<Fields> {
      const { status, body } = await sandbox.call(method, path, parameters);
      if (status >= 400) throw new Error(JSON.stringify(body));
      return body;
    },
    /** By hand, past what refuses it. */
    plant: (damage: string) =>
      database.transaction((transaction) =>
        transaction.script(`set local session_replication_role = replica; ${damage}`),
      ),
    /** What is still on its way arrives. */
    async deliver(): Promise<void> {
      await sandbox.settled();
      await this.handOn();
    },
    /** As the buyer: pays, and the backend gets what the provider sends. */
    async pay(sessionId: string): Promise<void> {
      await sandbox.click(`/checkout/${sessionId}/pay`);
      await this.handOn();
    },
    async handOn(): Promise<void> {
      // Taken before they are received: meanwhile more may arrive, and another may hand on.
      for (let next = sandbox.received[handedOn]; next !== undefined; next = sandbox.received[handedOn]) {
        handedOn += 1;
        if (next.event !== null) await payments.receive(next.event);
      }
    },
    /** The provider delivers in its own time. */
    async balanceBecomes(companyId: string, micro: bigint): Promise<void> {
      await until(async () => {
        await this.handOn();
        return (await payments.balance(companyId)) === micro;
      });
    },
    /** Forgets what was sent and not handed on: it never reaches the backend. */
    lose(): void {
      handedOn = sandbox.received.length;
    },
  };
}

export type Shop = Awaited<ReturnType<typeof openShop>>;

export function failing<T>(
  message: string,
  reason: 'refused' | 'unavailable' = 'unavailable',
): () => Promise<ProviderAnswer<T>> {
  return async () => ({ outcome: 'failed', failure: { reason, message, code: null } });
}

/** The provider, counting how often each of its functions is called. */
export function countingCalls(provider: PaymentProvider): {
  provider: PaymentProvider;
  calls: Map<string, number>;
} {
  const calls = new Map<string, number>();
  const { identity, ...works } = provider;
  const counted = Object.entries(works).map(([name, work]) => [
    name,
    (...given: unknown[]) => {
      calls.set(name, (calls.get(name) ?? 0) + 1);
      return (work as (...values: unknown[]) => unknown)(...given);
    },
  ]);
  return { provider: { identity, ...Object.fromEntries(counted) } as PaymentProvider, calls };
}
