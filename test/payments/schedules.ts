import { findByProviderId } from '../../src/domain/subscriptions/subscription.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import type { SeededRandom } from '../doubles/seeded-random.ts';
import { makeCompany, makePlan, makePurchase, type PaymentsUnderTest } from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { secondId } from './recorded-events.ts';
import {
  invoiceEvent,
  newSubscription,
  subscriptionEvent,
  subscriptionSession,
} from './subscription-facts.ts';

export function orders<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) => orders(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

/** The events, and the state of the books once all of them have arrived, in any order. */
export interface Story {
  readonly companyId: string;
  readonly events: readonly ProviderEvent[];
  stand(): Promise<unknown>;
}

/** Everything that a company's first month of a plan makes the provider tell. */
export async function subscriptionStory({ database, balance }: PaymentsUnderTest): Promise<Story> {
  const company = await makeCompany(database);
  const plan = await makePlan(database);
  const subscription = newSubscription(company, plan.priceId);
  return {
    companyId: company.id,
    events: [
      subscriptionSession(subscription, { metadata: { planId: plan.id } }),
      subscriptionEvent('created', subscription, { status: 'incomplete' }),
      subscriptionEvent('updated', subscription, { status: 'active' }),
      invoiceEvent('finalized', subscription),
      invoiceEvent('paid', subscription),
    ],
    async stand() {
      const kept = await findByProviderId(database, subscription.id);
      const invoices = await database.query('select kind, status from invoices where company_id = $1', [
        company.id,
      ]);
      return {
        credits: await balance(company.id),
        subscription: [kept?.status, kept?.isActive, kept?.planId === plan.id],
        invoices: [...invoices],
      };
    },
  };
}

/** A pack that is bought and given back in three steps. */
export async function refundStory({ database, balance }: PaymentsUnderTest): Promise<Story> {
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id, { credits: 777n });
  return {
    companyId: company.id,
    events: [
      paidSession(company, purchase),
      ...[137, 401, 1_000].map((sum) => refundOf(company, purchase, sum)),
    ],
    async stand() {
      const [row] = await database.query('select status from credit_pack_purchases where id = $1', [
        purchase.id,
      ]);
      const [refund] = await database.query(
        'select refunded_minor, granted_micro - refunded_micro as left from charge_refunds where charge_id = $1',
        [purchase.chargeId],
      );
      return { credits: await balance(company.id), purchase: row, refund };
    },
  };
}

/** The events in some order, with duplicates and second ids among them. */
export function drawSchedule(events: readonly ProviderEvent[], random: SeededRandom): ProviderEvent[] {
  const copies = events.flatMap((event) => [
    event,
    ...(random.below(2) === 0 ? [event] : []),
    ...(random.below(3) === 0 ? [secondId(event)] : []),
  ]);
  const drawn: ProviderEvent[] = [];
  while (copies.length > 0) drawn.push(...copies.splice(random.below(copies.length), 1));
  return drawn;
}
