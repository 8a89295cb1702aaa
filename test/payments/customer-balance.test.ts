/** Money that a plan returned to the customer's balance pays once: for the next plan, or for something else. */
import { expect, test } from 'bun:test';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { MONEY_CHECKS } from '../../src/domain/reconciliation/money-checks.ts';
import { planCreditsCheck } from '../../src/domain/reconciliation/plan-credits-check.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { useDatabase } from '../setup/use-database.ts';
import { CREDIT, makeCompany, makePlan, openPayments } from './payments-under-test.ts';
import { madeEvent, RECORDED_AT, wireLines } from './recorded-events.ts';
import { orders } from './schedules.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';

const database = useDatabase();
const DAY = 86_400;

/** A plan of a credit for each cent: half of it is given back to the balance, of which a usage invoice takes 1,000. */
async function story() {
  const company = await makeCompany(database);
  const { priceId } = await makePlan(database, { credits: 2_900n, priceMinor: 2_900n });
  const subscription = newSubscription(company, priceId);
  const usageId = crypto.randomUUID();
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version, last_version,
       period_start, period_end, number) values ($1, $2, 'POSTPAID', 'OPEN', 1000, 'usd', $3, 1, 1, '2030-01-01', '2030-02-01', $4)`,
    [usageId, company.id, 50n * CREDIT, usageId],
  );
  const back = wireLines([{ priceId, amount: -1_450, start: RECORDED_AT + DAY, proration: true }]);
  const next = wireLines([{ priceId, amount: 2_900, start: RECORDED_AT + 3 * DAY }]);
  const events: ProviderEvent[] = [
    invoiceEvent('paid', subscription),
    invoiceEvent(
      'paid',
      subscription,
      {
        ...{
          id: `in_back_${subscription.id}`,
          charge: null,
          payment_intent: null,
          lines: back,
          number: 'A-2',
        },
        ...{ total: -1_450, amount_due: 0, amount_paid: 0, starting_balance: 0, ending_balance: -1_450 },
      },
      { created: RECORDED_AT + DAY },
    ),
    madeEvent({
      type: 'invoice.paid',
      created: RECORDED_AT + 2 * DAY,
      object: {
        ...{
          id: `in_usage_${subscription.id}`,
          customer: company.customerId,
          subscription: null,
          charge: null,
        },
        ...{ payment_intent: null, metadata: { invoiceId: usageId }, lines: { data: [] }, number: 'A-3' },
        ...{ total: 1_000, amount_due: 0, amount_paid: 0, starting_balance: -1_450, ending_balance: -450 },
      },
    }),
    invoiceEvent(
      'paid',
      subscription,
      {
        ...{
          id: `in_next_${subscription.id}`,
          lines: next,
          charge: 'ch_next',
          payment_intent: null,
          number: 'A-4',
        },
        ...{ total: 2_900, amount_due: 2_450, amount_paid: 2_450, starting_balance: -450, ending_balance: 0 },
      },
      { created: RECORDED_AT + 3 * DAY },
    ),
  ];
  return { companyId: company.id, events };
}

test('P-22 a usage invoice that the balance of a plan paid takes its credits back, in every order', async () => {
  const payments = openPayments(database);
  const inOrder = await story();
  const stands: bigint[] = [];
  for (const event of inOrder.events) {
    await payments.receive(event);
    stands.push((await payments.balance(inOrder.companyId)) / CREDIT);
  }
  // 2,900 bought, none taken for the downgrade, 1,000 gone with the 50 of usage settled, and what all of the money bought.
  expect(stands).toEqual([2_900n, 2_900n, 1_950n, 4_400n]);
  for (const order of orders([0, 1, 2, 3])) {
    const { companyId, events } = await story();
    for (const at of [...order, ...order]) await payments.receive(events[at] as ProviderEvent);
    expect([order, await payments.balance(companyId)]).toEqual([order, 4_400n * CREDIT]);
  }
  for (const check of [...MONEY_CHECKS, planCreditsCheck]) {
    expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
  }
});
