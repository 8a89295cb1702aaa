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

/**
 * A plan of a credit for each cent: half of it is given back to the balance, of which a usage invoice takes the part of
 * 1,000 credits. `percent` are the taxes on top of all but the first invoice.
 */
async function story(percent: number) {
  const company = await makeCompany(database);
  const { priceId } = await makePlan(database, { credits: 2_900n, priceMinor: 2_900n });
  const subscription = newSubscription(company, priceId);
  const taxed = (net: number) => net + (net * percent) / 100;
  const [used, kept] = [taxed(1_000), taxed(1_450)];
  const money = (net: number, start: number, due = 0) => ({
    ...{ total: taxed(net), amount_due: due, amount_paid: due, starting_balance: start },
    ...{ ending_balance: start + taxed(net) - due },
    total_tax_amounts: [{ amount: taxed(net) - net, inclusive: false }],
  });
  const usageId = crypto.randomUUID();
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version, last_version,
       period_start, period_end, number) values ($1, $2, 'POSTPAID', 'OPEN', $3, 'usd', $4, 1, 1, '2030-01-01', '2030-02-01', $5)`,
    [usageId, company.id, used, 50n * CREDIT, usageId],
  );
  const back = wireLines([{ priceId, amount: -1_450, start: RECORDED_AT + DAY, proration: true }]);
  const next = wireLines([{ priceId, amount: 2_900, start: RECORDED_AT + 3 * DAY }]);
  const none = { charge: null, payment_intent: null };
  const events: ProviderEvent[] = [
    invoiceEvent('paid', subscription),
    invoiceEvent(
      'paid',
      subscription,
      { ...none, ...money(-1_450, 0), id: `in_back_${subscription.id}`, lines: back, number: 'A-2' },
      { created: RECORDED_AT + DAY },
    ),
    madeEvent({
      type: 'invoice.paid',
      created: RECORDED_AT + 2 * DAY,
      object: {
        ...{ ...none, id: `in_usage_${subscription.id}`, customer: company.customerId, subscription: null },
        ...{ metadata: { invoiceId: usageId }, lines: { data: [] }, number: 'A-3' },
        ...money(1_000, -kept),
      },
    }),
    invoiceEvent(
      'paid',
      subscription,
      {
        ...{ ...none, charge: 'ch_next', id: `in_next_${subscription.id}`, lines: next, number: 'A-4' },
        ...money(2_900, used - kept, taxed(2_900) + used - kept),
      },
      { created: RECORDED_AT + 3 * DAY },
    ),
  ];
  return { companyId: company.id, events };
}

test.each([0, 20])(
  'P-22 a usage invoice that the balance of a plan paid takes its credits back, in every order: %d percent of taxes',
  async (percent) => {
    const payments = openPayments(database);
    const inOrder = await story(percent);
    const stands: bigint[] = [];
    for (const event of inOrder.events) {
      await payments.receive(event);
      stands.push((await payments.balance(inOrder.companyId)) / CREDIT);
    }
    // 2,900 bought, none taken for the downgrade, 1,000 gone with the 50 of usage settled, and what all of the money bought.
    expect(stands).toEqual([2_900n, 2_900n, 1_950n, 4_400n]);
    for (const order of orders([0, 1, 2, 3])) {
      const { companyId, events } = await story(percent);
      for (const at of [...order, ...order]) await payments.receive(events[at] as ProviderEvent);
      expect([order, await payments.balance(companyId)]).toEqual([order, 4_400n * CREDIT]);
    }
    for (const check of [...MONEY_CHECKS, planCreditsCheck]) {
      expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
    }
  },
);
