/** A POSTPAID plan from the request to the overdue block and its payment, over the gateway and the backend together. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { findInvoice, settleInvoiceByHand } from '../../src/domain/credits/invoices/invoice.ts';
import { invoiceFinishedMonths } from '../../src/domain/credits/invoices/monthly-invoices.ts';
import { publishLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { mailOverdueInvoices, settleByHand } from '../../src/domain/payments/postpaid-invoices.ts';
import { type BackendUnderTest, openBackend } from '../backend/backend-under-test.ts';
import { TERMS } from '../contracts/monthly-invoices.contract.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { postAt } from '../doubles/posted-usage.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';

const DAY_MS = 86_400_000;
const body = { model: 'svc/chat-default', messages: [], max_tokens: 1 };
const ASSIGN = `mutation($companyId: ID!, $planId: ID!, $creditLimit: Float, $dueDays: Int, $invoiceDay: Int) {
  assignPlan(companyId: $companyId, planId: $planId, creditLimit: $creditLimit, dueDays: $dueDays,
    invoiceDay: $invoiceDay) {
    billingMode creditLimit postpaidTerms { plan { id } dueDays invoiceDay } } }`;

describe('G-32 P-29 an enterprise company', () => {
  const gateway = useResource(() => openGateway({ balanceMicro: 0n }));
  let backend: BackendUnderTest;
  let planId = '';
  beforeAll(async () => {
    const { database, sharedState, clock } = gateway.parts;
    backend = await openBackend({ database, sharedState, clock });
    planId = await addPlan({ price: 8, credits: 1_000 });
  });

  async function addPlan(changes: object = {}): Promise<string> {
    const input = { name: 'Enterprise', billingMode: 'POSTPAID', price: 0, currency: 'eur', credits: 0 };
    const { createPlan } = await backend.people.superAdmin.ask<{ createPlan: { id: string } }>(
      'mutation($input: PlanInput!) { createPlan(input: $input) { id } }',
      { input: { ...input, ...changes } },
    );
    return createPlan.id;
  }
  const send = (rawKey: string) => post(`${gateway.url}/chat/completions`, rawKey, body);
  const at = (ms: number) => new Date(ms).toISOString();

  test('requests the plan instead of a checkout that fails, and the super admins get one mail a day', async () => {
    const { admin, member, superAdmin } = backend.people;
    const { plans } = await member.ask<{ plans: { id: string; purchase: string }[] }>(
      '{ plans { id purchase } }',
    );
    expect(plans.find(({ id }) => id === planId)?.purchase).toBe('CONTACT_US');
    const buy = 'mutation($id: ID!) { createSubscriptionCheckout(planId: $id) { url } }';
    const checkout = await admin.refusal(buy, { id: planId });
    expect(checkout.extensions).toEqual({ code: 'CONFLICT', reason: 'CONTACT_US' });
    expect(checkout.message).toContain('Contact us');
    const ask = 'mutation($id: ID!, $message: String) { requestPlan(planId: $id, message: $message) }';
    expect(await admin.ask(ask, { id: planId, message: 'For 200 people.' })).toEqual({ requestPlan: true });
    expect(backend.planRequests.at(-1)).toMatchObject({
      kind: 'plan-request',
      to: superAdmin.email,
      dedupeKey: expect.stringContaining(`${admin.companyId}:${planId}:`),
      data: { companyName: 'Acme', planName: 'Enterprise', askedBy: admin.email, message: 'For 200 people.' },
    });
    const refused = await admin.refusal(ask, { id: planId, message: 'x'.repeat(201) });
    expect(refused.extensions).toEqual({ code: 'BAD_USER_INPUT', field: 'message' });
  });

  test('is assigned the plan with its terms, is invoiced by them, blocked when overdue, and unblocked by the payment', async () => {
    const { database, sharedState, secrets, clock } = gateway.parts;
    const log = createSilentLog();
    const { companyId } = gateway;
    const { rawKey } = await gateway.mint();
    expect(await refusalOf(send(rawKey))).toMatchObject({ status: 402 });
    const terms = { companyId, planId, creditLimit: 5_000, dueDays: 30, invoiceDay: 5 };
    expect(await backend.people.superAdmin.ask(ASSIGN, terms)).toEqual({
      assignPlan: {
        billingMode: 'POSTPAID',
        creditLimit: 5_000,
        postpaidTerms: { plan: { id: planId }, dueDays: 30, invoiceDay: 5 },
      },
    });
    // A month of usage that ended long ago, so that its invoice is overdue by the gateway's own clock.
    const now = new Date(clock.now());
    const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1);
    await postAt(database, companyId, -1_500_000_000n, at(monthEnd - DAY_MS));
    expect((await send(rawKey)).status).toBe(200);

    const jobQueue = { enqueue: async () => 'job' };
    const early = createManualClock(monthEnd + 3 * DAY_MS);
    const parts = { database, sharedState, jobQueue, secrets, log, terms: TERMS };
    expect(await invoiceFinishedMonths({ ...parts, clock: early })).toMatchObject({ invoiced: 0 });
    await early.advance(DAY_MS);
    expect(await invoiceFinishedMonths({ ...parts, clock: early })).toMatchObject({
      invoiced: 1,
      failed: [],
    });
    const [row] = await database.query<{ id: string }>('select id from invoices where company_id = $1', [
      companyId,
    ]);
    const invoice = await findInvoice(database, row?.id ?? '');
    // 1,500 credits at 8 EUR for 1,000.
    expect(invoice).toMatchObject({ kind: 'POSTPAID', status: 'OPEN', amountMinor: 1_200n, currency: 'eur' });
    expect(invoice?.dueAt).toEqual(new Date(early.now() + 30 * DAY_MS));

    await publishLevel(sharedState, { ...(await gateway.credits.level()) }, log);
    const refused = await refusalOf(send(rawKey));
    expect(refused).toMatchObject({ status: 403, type: 'permission_error', code: 'PLAN_LIMIT_EXCEEDED' });
    const mail = { send: async () => ({ outcome: 'duplicate' }) as const };
    expect(await mailOverdueInvoices({ database, mail, clock, log })).toBe(1);

    const settled = await settleByHand({ database, jobQueue }, row?.id ?? '', (transaction) =>
      settleInvoiceByHand(transaction, { invoiceId: row?.id ?? '', paidAt: new Date(clock.now()) }),
    );
    if (settled.outcome !== 'settled') throw new Error(settled.outcome);
    await publishLevel(sharedState, settled.level, log);
    expect((await send(rawKey)).status).toBe(200);
  });

  test('keeps the agreed rate when the plan changes, and has the operator’s price without one', async () => {
    const { database } = gateway.parts;
    const { superAdmin } = backend.people;
    const plain = await addPlan({ name: 'By the operator' });
    const agreed = async (id: string) => {
      const company = await backend.company('Terms');
      await superAdmin.ask(ASSIGN, { companyId: company, planId: id });
      const [row] = await database.query(
        `select price_minor, credits_micro, currency, due_days, invoice_day from postpaid_terms where company_id = $1`,
        [company],
      );
      return row;
    };
    const operators = {
      price_minor: null,
      credits_micro: null,
      currency: null,
      due_days: null,
      invoice_day: 1,
    };
    expect(await agreed(plain)).toEqual(operators);
    const row = { price_minor: 800n, credits_micro: 1_000_000_000n, currency: 'eur' };
    expect(await agreed(planId)).toMatchObject(row);
    const input = { name: 'Enterprise', billingMode: 'POSTPAID', price: 9, currency: 'eur', credits: 1_000 };
    const update = 'mutation($id: ID!, $input: PlanInput!) { updatePlan(id: $id, input: $input) { id } }';
    await superAdmin.ask(update, { id: planId, input });
    const [kept] = await database.query('select price_minor from postpaid_terms where company_id = $1', [
      gateway.companyId,
    ]);
    expect(kept).toEqual({ price_minor: 800n });
  });

  test('an invalid assignment is refused, and the error names the argument', async () => {
    const { superAdmin } = backend.people;
    const prepaid = await addPlan({ billingMode: 'PREPAID', price: 9, credits: 10 });
    const companyId = await backend.company('Wrong');
    const wrong: readonly [object, object][] = [
      [{ planId: prepaid }, { code: 'BAD_USER_INPUT', field: 'planId' }],
      [{ dueDays: 366 }, { code: 'BAD_USER_INPUT', field: 'dueDays' }],
      [{ invoiceDay: 29 }, { code: 'BAD_USER_INPUT', field: 'invoiceDay' }],
      [{ companyId: backend.parts.secrets.newId() }, { code: 'NOT_FOUND' }],
    ];
    for (const [changes, extensions] of wrong) {
      const refused = await superAdmin.refusal(ASSIGN, { companyId, planId, ...changes });
      expect([changes, refused.extensions]).toEqual([changes, extensions]);
    }
    await gateway.parts.database.query(
      `insert into subscriptions (id, company_id, plan_id, provider_subscription_id, status, is_active, told_at, told_rank,
         created_at, updated_at) values (gen_random_uuid(), $1, $2, 'sub_live', 'ACTIVE', true, now(), 0, now(), now())`,
      [companyId, prepaid],
    );
    const refused = await superAdmin.refusal(ASSIGN, { companyId, planId });
    expect(refused.extensions.code).toBe('CONFLICT');
    const [company] = await gateway.parts.database.query('select billing_mode from companies where id = $1', [
      companyId,
    ]);
    expect(company).toEqual({ billing_mode: 'PREPAID' });
  });
});
