import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createCreditPack } from '../../src/domain/catalog/credit-pack.ts';
import { createPlan, type PlanParams, syncAllPlansProviderPricing } from '../../src/domain/catalog/plan.ts';
import type { CheckoutParts } from '../../src/domain/payments/checkout.ts';
import type { Database } from '../../src/ports/database.ts';
import type { PaymentProvider, ProviderAnswer } from '../../src/ports/payment-provider.ts';
import { until } from '../doubles/until.ts';
import { openSandbox } from '../payment-sandbox/sandbox-under-test.ts';
import { CREDIT, openPayments } from './payments-under-test.ts';

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
  const parts: CheckoutParts = {
    ...{ database, secrets, clock, log, consoleUrl },
    checkoutTaxes: { isAutomatic: false, collectsTaxIds: false },
    provider: sandbox.provider,
    paymentEvents: payments.events,
  };
  let handedOn = 0;
  return {
    ...{ database, sandbox, payments, parts, secrets, clock, log },
    /** Waits for others by the machine's own clock. */
    pricing: { database, provider: sandbox.provider, clock: createSystemClock(), log },
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
    sync: () =>
      syncAllPlansProviderPricing({ database, provider: sandbox.provider, clock: createSystemClock(), log }),
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
  const counted = Object.entries(provider).map(([name, work]) => [
    name,
    (...given: unknown[]) => {
      calls.set(name, (calls.get(name) ?? 0) + 1);
      return (work as (...values: unknown[]) => unknown)(...given);
    },
  ]);
  return { provider: Object.fromEntries(counted) as PaymentProvider, calls };
}
