import { findCreditPack } from '../../catalog/credit-pack.ts';
import {
  findInvoiceByProviderId,
  type Invoice,
  insertPaidPackInvoice,
  markInvoicePaid,
} from '../../credits/invoices/invoice.ts';
import { upsertInvoice } from '../../credits/invoices/provider-invoices.ts';
import { findByProviderId } from '../../subscriptions/subscription.ts';
import { EVENT_RANK, upsertSubscription } from '../../subscriptions/subscription-updates.ts';
import { postPurchaseCash } from '../cash/cash.ts';
import {
  amountOf,
  askForSubscription,
  type Effect,
  type EffectContext,
  type EffectOutcome,
  post,
  requestedState,
  type StoredPaymentEvent,
  waitKeys,
} from '../effect.ts';
import { expiryAfter } from '../plan-grants.ts';
import {
  companyOf,
  currencyIn,
  fieldsIn,
  idIn,
  isPaidSession,
  isUnreadable,
  linkCustomer,
  lockCompany,
  minorIn,
  ourIdIn,
  planOf,
  textIn,
  uuidIn,
} from '../provider-objects.ts';
import { type CreditPackPurchase, lockPurchase, purchaseGrantOf, purchaseOf } from '../purchase.ts';
import { refundedPurchase } from './charge-refunded.ts';
import { takeEarlierReturns } from './returned-money.ts';
import { readSubscription } from './subscription-changed.ts';

/** `checkout.session.completed`: a checkout was completed, for a pack or for a subscription. */
export const checkoutSessionCompleted: Effect = async (event, context) => {
  const mode =
    textIn(event.object.mode) ?? (idIn(event.object.subscription) === null ? 'payment' : 'subscription');
  switch (mode) {
    case 'payment':
      return await completePurchase(event, context);
    case 'subscription':
      return await completeSubscriptionCheckout(event, context);
    default:
      return { outcome: 'applied', did: `nothing follows from a checkout for ${mode}`, companyId: null };
  }
};

/**
 * A checkout of a credit pack was completed. Only a paid one completes the purchase: a delayed payment leaves it
 * PENDING, and reconciliation checks it. The amount paid must match our own row, and the credits are those of our row,
 * whatever the metadata says.
 */
const completePurchase: Effect = async (event, context) => {
  const { transaction } = context;
  const session = event.object;
  const sessionId = idIn(session.id);
  const paymentId = idIn(session.payment_intent);
  const purchaseId = ourIdIn(session, 'purchaseId') ?? uuidIn(session.client_reference_id);
  const found = await purchaseOf(transaction, { sessionId, paymentId, purchaseId });
  if (found === null) {
    const reason = `no purchase of ours has checkout session ${sessionId}`;
    return { outcome: 'deferred', reason, waitsFor: waitKeys({ session: sessionId, purchase: purchaseId }) };
  }
  const { companyId } = found;
  await lockCompany(transaction, companyId);
  const purchase = await lockPurchase(transaction, found.id);
  if (purchase.status === 'COMPLETED') {
    if (purchase.providerSessionId === sessionId)
      return nothing(companyId, 'the purchase was complete before');
    const reason = `purchase ${purchase.id} is paid by session ${purchase.providerSessionId} already; session ${sessionId} has to be refunded`;
    return { outcome: 'failed', reason, companyId };
  }
  if (!isPaidSession(session)) {
    await noteSession(context, purchase, sessionId);
    const status = textIn(session.payment_status);
    return nothing(companyId, `not paid yet (${status}): the purchase waits`);
  }
  const problem = await mismatch(event, context, purchase, paymentId);
  if (problem !== null) return { outcome: 'failed', reason: problem, companyId };
  return await complete(event, context, purchase, { sessionId, paymentId });
};

async function complete(
  event: StoredPaymentEvent,
  context: EffectContext,
  purchase: CreditPackPurchase,
  { sessionId, paymentId }: { readonly sessionId: string | null; readonly paymentId: string | null },
): Promise<EffectOutcome> {
  const { transaction, now } = context;
  const { companyId, creditsMicro } = purchase;
  const customerId = idIn(event.object.customer);
  await linkCustomer(transaction, companyId, customerId);
  const taxMinor = taxOnTop(event, purchase);
  const paidMinor = purchase.amountMinor + taxMinor;
  const invoice = await writePackInvoice(event, context, purchase, paidMinor);
  await transaction.query(
    `update credit_pack_purchases set status = 'COMPLETED', completed_at = $2, updated_at = $2,
       provider_session_id = coalesce($3, provider_session_id), provider_payment_intent_id = $4, invoice_id = $5,
       tax_minor = $6
     where id = $1`,
    [purchase.id, now, sessionId, paymentId, invoice.id, taxMinor],
  );
  await postPurchaseCash(transaction, {
    ...{ id: purchase.id, invoiceId: invoice.id, companyId, currency: purchase.currency },
    ...{ amountMinor: paidMinor, happenedAt: event.happenedAt },
  });
  const item = `Credit pack ${await packName(context, purchase)}`;
  const expires = expiryAfter(purchase.creditsExpireAfterDays, event, context, item);
  await post(context, {
    accountId: companyId,
    type: 'PACK_PURCHASE',
    amountMicro: creditsMicro,
    contra: 'sales',
    ...purchaseGrantOf(purchase.id),
    reason: `credit pack, checkout ${sessionId}`.slice(0, 500),
    expires,
  });
  await takeEarlierReturns(context, invoice.id, refundedPurchase({ ...purchase, taxMinor }));
  await context.mailAdmins({
    kind: 'receipt',
    companyId,
    fact: `receipt:purchase:${purchase.id}`,
    data: {
      item,
      amount: amountOf(paidMinor, purchase.currency),
      paidAt: event.happenedAt,
      creditsMicro,
      ...(expires === null ? {} : { creditsExpireAt: expires.at }),
      ...(invoice.number === null ? {} : { invoiceNumber: invoice.number }),
    },
  });
  const known = { session: sessionId, payment: paymentId, purchase: purchase.id, customer: customerId };
  return {
    outcome: 'applied',
    did: `purchase ${purchase.id} is complete: ${creditsMicro} micro-credits`,
    companyId,
    arrived: waitKeys({ ...known, invoice: idIn(event.object.invoice) }),
  };
}

/** What the provider reports must match what we requested. Missing fields match anything. */
async function mismatch(
  event: StoredPaymentEvent,
  { transaction }: EffectContext,
  purchase: CreditPackPurchase,
  paymentId: string | null,
): Promise<string | null> {
  const { amount_total, currency, customer, invoice } = event.object;
  if (isUnreadable(amount_total) || (currency != null && currencyIn(currency) === null)) {
    return `what was paid for purchase ${purchase.id} cannot be read as money: compare it with the payment provider`;
  }
  const paid = minorIn(amount_total);
  const paidIn = currencyIn(currency);
  const isOtherAmount = paid !== null && paid !== purchase.amountMinor + taxOnTop(event, purchase);
  if (isOtherAmount || (paidIn !== null && paidIn !== purchase.currency)) {
    return `${paid} ${paidIn} was paid for purchase ${purchase.id}, which costs ${purchase.amountMinor} ${purchase.currency}`;
  }
  const customerId = idIn(customer);
  const owner =
    customerId === null ? null : await companyOf(transaction, { customerId, companyId: purchase.companyId });
  if (owner !== null && owner !== purchase.companyId) {
    return `purchase ${purchase.id} is not of the company that customer ${customerId} is`;
  }
  const providerInvoiceId = idIn(invoice);
  const known =
    providerInvoiceId === null ? null : await findInvoiceByProviderId(transaction, providerInvoiceId);
  if (known !== null && known.companyId !== purchase.companyId) {
    return `invoice ${providerInvoiceId} of purchase ${purchase.id} is known as another company's`;
  }
  if (paymentId === null) return null;
  const others = await transaction.query<{ id: string }>(
    'select id from credit_pack_purchases where provider_payment_intent_id = $1 and id <> $2',
    [paymentId, purchase.id],
  );
  return others[0] === undefined
    ? null
    : `payment ${paymentId} has paid for purchase ${others[0].id} already`;
}

/** Tax added to the price. If the price includes tax, the amount paid is the price, and this is zero. */
function taxOnTop({ object }: StoredPaymentEvent, { amountMinor }: CreditPackPurchase): bigint {
  const taxMinor = minorIn(fieldsIn(object.total_details).amount_tax) ?? 0n;
  return taxMinor > 0n && minorIn(object.amount_total) === amountMinor + taxMinor ? taxMinor : 0n;
}

async function noteSession(
  { transaction, now }: EffectContext,
  purchase: CreditPackPurchase,
  sessionId: string | null,
): Promise<void> {
  await transaction.query(
    `update credit_pack_purchases set provider_session_id = coalesce(provider_session_id, $2), updated_at = $3
     where id = $1`,
    [purchase.id, sessionId, now],
  );
}

async function packName(
  { transaction }: EffectContext,
  { creditPackId }: CreditPackPurchase,
): Promise<string> {
  return (await findCreditPack(transaction, creditPackId))?.name ?? creditPackId;
}

function nothing(companyId: string, did: string): EffectOutcome {
  return { outcome: 'applied', did, companyId };
}

/**
 * The paid invoice of a purchase (P-20). If the provider created one it is that one, whichever of the two events
 * arrives first; otherwise we create it.
 */
async function writePackInvoice(
  event: StoredPaymentEvent,
  { transaction, newId, now }: EffectContext,
  purchase: CreditPackPurchase,
  amountMinor: bigint,
): Promise<Invoice> {
  const { companyId, currency } = purchase;
  const paidAt = event.happenedAt;
  const providerInvoiceId = idIn(event.object.invoice);
  if (providerInvoiceId === null) {
    const number = `PACK-${purchase.id.slice(-12).toUpperCase()}`;
    const paid = { companyId, amountMinor, currency, number, paidAt };
    return await insertPaidPackInvoice(transaction, { id: newId(), ...paid, now });
  }
  const upserted = await upsertInvoice(transaction, {
    newId: newId(),
    providerInvoiceId,
    companyId,
    kind: 'PACK',
    status: 'PAID',
    amountMinor,
    currency,
    ...{ periodStart: null, periodEnd: null, number: null, hostedUrl: null, dueAt: null },
    finalizedAt: paidAt,
    paidAt,
    reportedAt: event.happenedAt,
  });
  if (upserted.outcome === 'of-another-company') {
    throw new Error(`invoice ${providerInvoiceId} of purchase ${purchase.id} is another company's`);
  }
  const settled = await markInvoicePaid(transaction, { invoiceId: upserted.invoice.id, paidAt });
  return settled.outcome === 'no-such-invoice' ? upserted.invoice : settled.invoice;
}

/**
 * A checkout of a plan was completed: the company has its customer and its subscription. The credits of the first
 * period are granted by the paid invoice, not by this. If the subscription's own events have not arrived yet, its state
 * is requested from the provider; if that fails, the paid session shows that it is active.
 */
const completeSubscriptionCheckout: Effect = async (event, context) => {
  const { transaction } = context;
  const session = event.object;
  const customerId = idIn(session.customer);
  const subscriptionId = idIn(session.subscription);
  const sessionId = idIn(session.id);
  const checkout = await checkoutOf(event, context);
  const companyId =
    checkout?.companyId ??
    (await companyOf(transaction, { customerId, subscriptionId, companyId: ourIdIn(session, 'companyId') }));
  if (companyId === null) {
    const reason = `no company of ours has checkout session ${sessionId} or customer ${customerId}`;
    const waitsFor = waitKeys({ session: sessionId, customer: customerId, subscription: subscriptionId });
    return { outcome: 'deferred', reason, waitsFor };
  }
  const isPaid = isPaidSession(session);
  await lockCompany(transaction, companyId);
  const stored = subscriptionId === null ? null : await findByProviderId(transaction, subscriptionId);
  if (subscriptionId !== null && stored === null && !context.subscriptions.has(subscriptionId)) {
    return await askForSubscription(context, subscriptionId);
  }
  const incoming = subscriptionId === null ? null : await requestedState(context, subscriptionId);
  const planId =
    (incoming === null ? null : await planOf(transaction, incoming)) ??
    checkout?.planId ??
    (await planOf(transaction, session));
  if (subscriptionId !== null && stored === null && planId === null) {
    const reason = `checkout session ${sessionId} is of a plan that we do not have`;
    return { outcome: 'deferred', reason, waitsFor: waitKeys({ subscription: subscriptionId }) };
  }
  await linkCustomer(transaction, companyId, customerId);
  await closeCheckout(context, checkout?.id ?? null, sessionId);
  const arrived = waitKeys({ customer: customerId, subscription: subscriptionId, session: sessionId });
  if (subscriptionId === null || (stored !== null && (stored.status !== 'INCOMPLETE' || !isPaid))) {
    return { outcome: 'applied', did: 'the checkout is complete', companyId, arrived };
  }
  const reported = incoming === null ? null : readSubscription(incoming, planId);
  const state = reported ?? {
    status: isPaid ? ('ACTIVE' as const) : ('INCOMPLETE' as const),
    planId,
    ...{ currentPeriodStart: null, currentPeriodEnd: null, trialEnd: null, endDate: null },
    cancelAtPeriodEnd: false,
  };
  const outcome = await upsertSubscription(transaction, {
    newId: context.newId(),
    providerSubscriptionId: subscriptionId,
    companyId,
    state,
    by: { eventAt: event.happenedAt, rank: EVENT_RANK.paid, eventId: event.providerEventId },
    isCurrent: reported !== null,
    now: context.now,
    graceMs: context.pastDueGraceMs,
  });
  const did = `the checkout is complete; subscription ${subscriptionId}: ${outcome.outcome}`;
  return { outcome: 'applied', did, companyId, arrived };
};

interface Checkout {
  readonly id: string;
  readonly companyId: string;
  readonly planId: string;
}

async function checkoutOf(
  event: StoredPaymentEvent,
  { transaction }: EffectContext,
): Promise<Checkout | null> {
  const session = event.object;
  const ours = ourIdIn(session, 'checkoutId') ?? uuidIn(session.client_reference_id);
  const [row] = await transaction.query<Checkout>(
    `select id, company_id as "companyId", plan_id as "planId" from subscription_checkouts
     where provider_session_id = $1 or id = $2::uuid
     order by provider_session_id is not distinct from $1::text and $1::text is not null desc limit 1`,
    [idIn(session.id), ours],
  );
  return row ?? null;
}

async function closeCheckout(
  { transaction, now }: EffectContext,
  id: string | null,
  sessionId: string | null,
): Promise<void> {
  if (id === null) return;
  await transaction.query(
    `update subscription_checkouts set status = 'COMPLETED', updated_at = $2,
       provider_session_id = coalesce(provider_session_id, $3)
     where id = $1 and status <> 'COMPLETED'`,
    [id, now, sessionId],
  );
}
