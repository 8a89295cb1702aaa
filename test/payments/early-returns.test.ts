/** Money that is given back before what it paid for is known: in any order the books end the same. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { MONEY_CHECKS } from '../../src/domain/reconciliation/money-checks.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { useDatabase } from '../setup/use-database.ts';
import {
  CREDIT,
  makeCompany,
  makePlan,
  makePurchase,
  openPayments,
  type PaymentsUnderTest,
} from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { madeEvent, RECORDED_AT } from './recorded-events.ts';
import { orders } from './schedules.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';

const database = useDatabase();
let payments: PaymentsUnderTest;
beforeAll(() => {
  payments = openPayments(database);
});

type Fields = Record<string, unknown>;

interface Story {
  readonly companyId: string;
  readonly events: readonly ProviderEvent[];
}

/** As reconciliation reads it, with its charge. */
function lost(charge: Fields & { id: string }, payment_intent: string, amount: number): ProviderEvent {
  const facts = {
    object: 'dispute',
    currency: 'usd',
    status: 'lost',
    reason: 'fraudulent',
    created: RECORDED_AT,
  };
  const object = { ...facts, id: `dp_${charge.id}`, amount, charge, payment_intent };
  const event = madeEvent({ type: 'charge.refunded', created: RECORDED_AT + 900 });
  return { ...event, type: 'charge.dispute.closed', object, payload: { ...event.payload, data: { object } } };
}

/** The provider writes an invoice for the pack, and its charge does not name our purchase. */
async function pack(returned: 'refunds' | 'dispute'): Promise<Story> {
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id);
  const invoice = `in_${purchase.id.slice(-12)}`;
  const { chargeId: charge, paymentId: payment_intent } = purchase;
  const of = { invoice, metadata: {} };
  const back = {
    refunds: [refundOf(company, purchase, 150, of), refundOf(company, purchase, 400, of)],
    dispute: [lost({ id: charge, invoice }, payment_intent, 400)],
  };
  const wire = { id: invoice, customer: company.customerId, subscription: null, lines: { data: [] } };
  const money = { total: 1_000, amount_due: 1_000, amount_paid: 1_000, charge, payment_intent };
  return {
    companyId: company.id,
    events: [
      madeEvent({ type: 'invoice.paid', object: { ...wire, ...money, status: 'paid' } }),
      paidSession(company, purchase, { invoice, payment_intent }),
      ...back[returned],
    ],
  };
}

type Names = [charge: string, payment: string, invoice: string];

/** A plan of 1,000 credits for 10 usd. A first report of its invoice may say that it is paid. */
async function plan(returned: 'refunds' | 'dispute'): Promise<Story> {
  const company = await makeCompany(database);
  const { priceId } = await makePlan(database, { credits: 1_000n, priceMinor: 2_900n });
  const subscription = newSubscription(company, priceId);
  const [charge, payment, invoice] = ['ch', 'pi', 'in'].map(
    (kind) => `${kind}_${subscription.id}_0`,
  ) as Names;
  const refund = (amount_refunded: number) =>
    madeEvent({
      type: 'charge.refunded',
      created: RECORDED_AT + 100 + amount_refunded,
      object: {
        ...{ id: charge, customer: company.customerId, payment_intent: payment, invoice },
        ...{ amount: 2_900, amount_captured: 2_900, amount_refunded, refunded: false, metadata: {} },
      },
    });
  const back = {
    refunds: [refund(500), refund(1_160)],
    dispute: [lost({ id: charge, invoice }, payment, 1_160)],
  };
  return {
    companyId: company.id,
    events: [
      invoiceEvent('finalized', subscription, { status: 'paid' }),
      invoiceEvent('paid', subscription),
      ...back[returned],
    ],
  };
}

const audit = async (companyId: string) => {
  const found: string[] = [];
  for (const check of MONEY_CHECKS) found.push(...(await runCheck(database, check)).faults);
  return found.filter((one) => one.includes(companyId));
};

describe.each([
  ['a pack', pack],
  ['a plan', plan],
] as const)('%s', (_, story) => {
  test.each(['refunds', 'dispute'] as const)(
    'P-21 600 of 1,000 credits are left in every order: %s',
    async (how) => {
      const { events: some } = await story(how);
      for (const order of orders(some.map((_event, at) => at))) {
        const { companyId, events } = await story(how);
        for (const at of order) await payments.receive(events[at] as ProviderEvent);
        for (const at of order) await payments.receive(events[at] as ProviderEvent);
        const [cash] = await database.query<{ minor: bigint }>(
          `select coalesce(sum(case account when 'received' then amount_minor else -amount_minor end), 0)::bigint as minor
         from cash_entries where company_id = $1`,
          [companyId],
        );
        const left = story === pack ? 600n : 1_740n;
        expect([order, await payments.balance(companyId), cash?.minor]).toEqual([order, 600n * CREDIT, left]);
        expect([order, await audit(companyId)]).toEqual([order, []]);
      }
    },
  );
});
