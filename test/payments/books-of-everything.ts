import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { correctCharge } from '../../src/domain/calls/corrections/correct-charge.ts';
import { openCallPartitions } from '../../src/domain/calls/partitions/call-partitions.ts';
import { retireCalls } from '../../src/domain/calls/partitions/call-retention.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { dropWithheldUsage, postWithheldUsage } from '../../src/domain/calls/settlement/withheld-usage.ts';
import { addUpUsageMonths } from '../../src/domain/calls/usage/usage-months.ts';
import { countBusyLots, expireCredits } from '../../src/domain/credits/expiry/expire-credits.ts';
import { listInvoices, settleInvoiceByHand, voidInvoice } from '../../src/domain/credits/invoices/invoice.ts';
import { invoiceFinishedMonths } from '../../src/domain/credits/invoices/monthly-invoices.ts';
import { writeAgreedTerms } from '../../src/domain/credits/invoices/postpaid-terms.ts';
import { setCompanyBilling } from '../../src/domain/credits/ledger/credit-account.ts';
import { transferToUser } from '../../src/domain/credits/ledger/user-account.ts';
import { settleByHand } from '../../src/domain/payments/postpaid-invoices.ts';
import { addLedgerDigests } from '../../src/domain/reconciliation/proofs/ledger-digests.ts';
import type { Database } from '../../src/ports/database.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { leastIdAt } from '../../src/ports/secrets.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { TERMS } from '../contracts/monthly-invoices.contract.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { addTestCompany, addTestUser, postTo } from '../doubles/test-company.ts';
import { CREDIT, makeCompany, makePlan, makePurchase, openPayments } from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { madeEvent, RECORDED_AT, wireLines } from './recorded-events.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';

const { newId } = createSystemSecrets();
const DAY = 86_400;
const log = createSilentLog();
/** Calls with ids from before the second of these moments are deleted by retention. */
const [RETIRED_AT, KEPT_AT] = [Date.UTC(2040, 0, 10), Date.UTC(2040, 3, 10)];
/** Both months are over and added up. */
const [EARLIER, LATER] = [Date.UTC(2026, 0, 20), Date.UTC(2026, 1, 20)];

export const idAt = (timeMs: number) => `${leastIdAt(timeMs).slice(0, 13)}${newId().slice(13)}`;

/** A database that has some of everything, made by what makes it in production. */
export async function writeBooksOfEverything(database: Database) {
  const kept = (companyId: string, changes: Partial<FinishedCall> = {}) =>
    finishedCall(companyId, { id: idAt(KEPT_AT), startedAtMs: Date.now(), ...changes });
  await openCallPartitions({ database, clock: createManualClock(RETIRED_AT), log, span: 'month' });
  await database.query(
    `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, cache_write_micro, in_force_from)
     values ($1, 'chat-premium', 6000000, 600000, 21000000, 7500000, '2026-02-10T00:00:00Z')`,
    [newId()],
  );
  const prepaid = await callsOfEveryKind(database, kept);
  const postpaid = await invoicedUsage(database, kept);
  const payments = await everyPayment(database, kept);
  await addUpUsageMonths({ database, clock: createManualClock(Date.now()), log });
  await retireCalls({ database, clock: createManualClock(KEPT_AT), log, keepMonths: 1 });
  await addLedgerDigests({ database, clock: createManualClock(Date.now()), log }, { span: 4 });
  const idle = await addTestCompany(database);
  return { ...prepaid, ...postpaid, ...payments, idle };
}

type Kept = (companyId: string, changes?: Partial<FinishedCall>) => FinishedCall;

async function callsOfEveryKind(database: Database, kept: Kept) {
  const company = await addTestCompany(database);
  const [key, quietKey, user, otherUser] = [
    newId(),
    newId(),
    await addTestUser(database, company),
    await addTestUser(database, company),
  ];
  await postTo(database, company, 1_000n * CREDIT, { sourceKind: 'adjustment', reason: 'agreed' });
  for (const userId of [user, otherUser]) await share(database, company, userId);
  const excess = {
    tokens: { promptTokens: 1_000, cachedTokens: 0, completionTokens: 0 },
    tokenBounds: { promptTokens: 100, completionTokens: 1 },
  };
  const premium = { alias: 'svc/chat-premium', targetId: 'premium' };
  const written = { promptTokens: 90, cachedTokens: 20, cacheWriteTokens: 30, completionTokens: 9 };
  const budget = { id: newId(), scope: 'PROJECT', subject: 'web', mostMicro: 10_000, isHard: false } as const;
  const named = { keyId: key, project: 'web', endUser: 'ada', tags: ['a', 'b'], budgets: [budget] };
  const call = {
    plain: kept(company, { keyId: key, monthlyLimitMicro: 9_000n, costMicro: 20 }),
    quiet: kept(company, { keyId: quietKey }),
    named: kept(company, named),
    added: kept(company, { ...named, startedAtMs: LATER, endUser: 'bob', costMicro: 11 }),
    written: kept(company, { ...premium, keyId: key, tokens: written, startedAtMs: LATER }),
    surcharged: kept(company, { keyId: key, surchargeMicro: 500, toolUses: { web_search: 2 } }),
    shared: kept(company, { keyId: key, chargeShareMillionths: 400_000, surchargeMicro: 33 }),
    failed: kept(company, { keyId: key, outcome: 'FAILED', reason: 'broken', tokens: null }),
    ofUser: kept(company, { keyId: key, payerId: user }),
    open: kept(company, { ...excess, keyId: key }),
    posted: kept(company, { ...excess, ...named }),
    dropped: kept(company, { ...excess, keyId: key }),
    corrected: kept(company, { ...named, endUser: 'eve' }),
  };
  const retired = [
    finishedCall(company, {
      ...named,
      id: idAt(RETIRED_AT),
      startedAtMs: EARLIER,
      endUser: 'old',
      costMicro: 3,
    }),
    finishedCall(company, { id: idAt(RETIRED_AT), startedAtMs: EARLIER, keyId: key }),
    finishedCall(company, { id: idAt(RETIRED_AT), startedAtMs: EARLIER, payerId: user, keyId: key }),
  ];
  await chargeCalls(database, retired);
  for (const one of Object.values(call)) await chargeCalls(database, [one]);
  await chargeCalls(database, [kept(company, named), kept(company, { keyId: key }), kept(company)]);
  const now = new Date();
  await database.transaction((transaction) =>
    postWithheldUsage(transaction, { callId: call.posted.id, note: 'checked', now }),
  );
  await database.transaction((transaction) =>
    dropWithheldUsage(transaction, { callId: call.dropped.id, note: 'a fault', now }),
  );
  const correction = await giveBack(database, call.corrected.id, 50n);
  const ids = Object.fromEntries(Object.entries(call).map(([name, { id }]) => [name, id]));
  return {
    company,
    key,
    quietKey,
    user,
    otherUser,
    correction,
    call: ids as Record<keyof typeof call, string>,
  };
}

async function share(database: Database, company: string, userId: string): Promise<void> {
  const params = { companyId: company, userId, amountMicro: 20n * CREDIT, idempotencyKey: `to ${userId}` };
  await database.transaction((transaction) =>
    transferToUser(transaction, { ...params, reason: 'a share', heldMicro: 0n }),
  );
}

async function giveBack(database: Database, callId: string, creditsMicro: bigint): Promise<string> {
  const id = newId();
  const made = { id, callId, creditsMicro, reason: 'a wrong answer', now: new Date() };
  await database.transaction((transaction) =>
    correctCharge(transaction, { enqueue: async () => null }, made),
  );
  return id;
}

/** One invoice that was paid, one that was voided, and one that is open, with charges that were corrected. */
async function invoicedUsage(database: Database, kept: Kept) {
  const debtor = newId();
  await addCompany(database, { id: debtor, name: 'Later', billingMode: 'POSTPAID' });
  const terms = async (mode: 'POSTPAID' | 'PREPAID') =>
    await database.transaction((transaction) => setCompanyBilling(transaction, debtor, mode, 500n * CREDIT));
  const { id: planId } = await makePlan(database);
  const rate = { priceMinor: 1n, creditsMicro: 10n, currency: 'usd', leastMinor: 1n };
  const agreed = {
    companyId: debtor,
    planId,
    dueDays: null,
    invoiceDay: 1,
    agreedAt: new Date(Date.now() - 3 * DAY * 1_000),
  };
  await database.transaction((transaction) => writeAgreedTerms(transaction, { ...agreed, rate }));
  const month = new Date().getUTCMonth() + 1;
  const sharedState = { settle: async () => {}, publish: async () => {} } as never;
  const parts = { database, log, sharedState, jobQueue: { enqueue: async () => null }, secrets: { newId } };
  const invoiced: string[] = [];
  for (const after of [0, 1, 2]) {
    await terms('POSTPAID');
    const [corrected, other] = [kept(debtor), kept(debtor)];
    await chargeCalls(database, [corrected, other]);
    invoiced.push(corrected.id);
    if (after === 2) await giveBack(database, other.id, 10n);
    if (after === 0) await terms('PREPAID');
    await chargeCalls(database, [kept(debtor)]);
    const clock = createManualClock(Date.UTC(new Date().getUTCFullYear(), month + after, 2));
    await invoiceFinishedMonths({ ...parts, clock, terms: TERMS });
  }
  const ids = (await listInvoices(database, debtor)).map(({ id }) => id);
  const [openInvoice = '', voidedInvoice = '', paidInvoice = ''] = ids;
  await settleByHand(parts, paidInvoice, (transaction) =>
    settleInvoiceByHand(transaction, { invoiceId: paidInvoice, paidAt: new Date() }),
  );
  await database.transaction((transaction) =>
    voidInvoice(transaction, { invoiceId: voidedInvoice, reason: 'a mistake' }),
  );
  const [ofPaid = '', , ofOpen = ''] = invoiced;
  await giveBack(database, ofPaid, 30n);
  const credit = await giveBack(database, ofOpen, 20n);
  return { debtor, openInvoice, voidedInvoice, paidInvoice, credit };
}

type Receive = (event: ProviderEvent) => Promise<void>;

async function everyPayment(database: Database, kept: Kept) {
  const payments = openPayments(database);
  const receive: Receive = async (event) => {
    await payments.receive(event);
    const status = await payments.statusOf(event);
    if (status !== 'PROCESSED') throw new Error(`${event.type} is ${status}`);
  };
  return {
    ...(await refundedPack(database, receive)),
    ...(await disputedPack(database, receive)),
    ...(await expiringPacks(database, receive, kept, payments.sharedState)),
    ...(await renewedPlan(database, receive)),
  };
}

/** Refunded twice; the second refund failed. */
async function refundedPack(database: Database, receive: Receive) {
  const buyer = await makeCompany(database);
  const purchase = await makePurchase(database, buyer.id);
  await receive(paidSession(buyer, purchase));
  await receive(refundOf(buyer, purchase, 250));
  await receive(refundOf(buyer, purchase, 400));
  const charge = { id: purchase.chargeId, metadata: { purchaseId: purchase.id } };
  const failedRefund = `re_${purchase.chargeId}`;
  await receive(
    foundEvent('charge.refund.updated', {
      ...{ id: failedRefund, object: 'refund', status: 'failed', amount: 150, currency: 'usd', charge },
      ...{ payment_intent: purchase.paymentId, refunded_in_all: 250, counted_at: RECORDED_AT + 600 },
    }),
  );
  return { buyer: buyer.id, purchase: purchase.id, charge: purchase.chargeId, failedRefund };
}

async function disputedPack(database: Database, receive: Receive) {
  const disputing = await makeCompany(database);
  const disputed = await makePurchase(database, disputing.id);
  await receive(paidSession(disputing, disputed));
  const dispute = `dp_${disputed.chargeId}`;
  await receive(
    foundEvent('charge.dispute.closed', {
      ...{ id: dispute, object: 'dispute', status: 'lost', amount: 600, currency: 'usd' },
      payment_intent: disputed.paymentId,
      charge: { id: disputed.chargeId, metadata: { purchaseId: disputed.id } },
    }),
  );
  return { disputing: disputing.id, disputed: disputed.id, dispute };
}

/** Two packs that expire, one of them after some of it was spent. */
async function expiringPacks(database: Database, receive: Receive, kept: Kept, sharedState: SharedState) {
  const expiring = await makeCompany(database);
  const lots: string[] = [];
  for (const days of [30, 300]) {
    const pack = await makePurchase(database, expiring.id, { expireAfterDays: days });
    await receive(paidSession(expiring, pack));
    lots.push(pack.id);
    await chargeCalls(database, [kept(expiring.id), kept(expiring.id)]);
    const clock = createManualClock((RECORDED_AT + 60 * DAY) * 1_000);
    if (days === 30) await expireCredits({ database, sharedState, clock, log });
  }
  const clock = createManualClock((RECORDED_AT + 61 * DAY) * 1_000);
  await countBusyLots({ database, clock }, { from: 1 });
  return { expiring: expiring.id, expiredPack: lots[0] ?? '', openPack: lots[1] ?? '' };
}

/** A plan of a credit for each cent: half of it returns to the customer's balance, which pays for something else. */
async function renewedPlan(database: Database, receive: Receive) {
  const subscriber = await makeCompany(database);
  const { priceId } = await makePlan(database, { credits: 2_900n, priceMinor: 2_900n });
  const subscription = newSubscription(subscriber, priceId);
  const [first, renewal] = [0, 1].map((month) => `in_${subscription.id}_${month}`) as [string, string];
  const [back, other] = [`in_back_${subscription.id}`, `in_other_${subscription.id}`];
  const returned = wireLines([{ priceId, amount: -1_450, start: RECORDED_AT + DAY, proration: true }]);
  const nothing = { charge: null, payment_intent: null, amount_due: 0, amount_paid: 0 };
  await receive(invoiceEvent('paid', subscription));
  await receive(
    invoiceEvent(
      'paid',
      subscription,
      {
        ...nothing,
        ...{ id: back, lines: returned, number: 'A-2' },
        ...{ total: -1_450, starting_balance: 0, ending_balance: -1_450 },
      },
      { created: RECORDED_AT + DAY },
    ),
  );
  await receive(
    madeEvent({
      type: 'invoice.paid',
      created: RECORDED_AT + 2 * DAY,
      object: {
        ...nothing,
        ...{ id: other, customer: subscriber.customerId, subscription: null, metadata: {} },
        ...{
          lines: { data: [] },
          number: 'A-3',
          total: 1_000,
          starting_balance: -1_450,
          ending_balance: -450,
        },
      },
    }),
  );
  await receive(invoiceEvent('paid', subscription, { number: 'A-4' }, { month: 1 }));
  const creditNote = `cn_${subscription.id}`;
  await receive(
    foundEvent('credit_note.created', {
      ...{ id: creditNote, object: 'credit_note', status: 'issued', type: 'post_payment', currency: 'usd' },
      ...{
        invoice: renewal,
        customer: subscriber.customerId,
        total: 290,
        out_of_band_amount: 0,
        refund: null,
      },
    }),
  );
  return { subscriber: subscriber.id, first, renewal, back, other, creditNote };
}

/** Of a type that has no recorded event. */
function foundEvent(type: string, object: Record<string, unknown> & { readonly id: string }) {
  const event = madeEvent({ type: 'charge.refunded', object, created: RECORDED_AT + 600 });
  return { ...event, type, object, payload: { ...event.payload, data: { object } } };
}

export type Books = Awaited<ReturnType<typeof writeBooksOfEverything>>;
