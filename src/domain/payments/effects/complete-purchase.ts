import { type Posting, postTransaction } from '../../credits/post-transaction.ts';
import { companyOf, linkCustomer, lockCompany } from '../company-of.ts';
import { type Effect, type EffectContext, type EffectOutcome, type KeptEvent, waitKeys } from '../effect.ts';
import { type CreditPackPurchase, lockPurchase, purchaseOf } from '../purchase.ts';
import { amountOf } from '../tell-admins.ts';
import { currencyIn, idIn, minorIn, ourIdIn, textIn, uuidIn } from '../wire-fields.ts';
import { writePackInvoice } from './write-pack-invoice.ts';

/** Of the posting that a purchase makes; its id is the purchase's. */
export const PURCHASE_SOURCE = 'credit-pack-purchase';

/**
 * A checkout of a credit pack has ended. Only a paid one completes the purchase: a payment that settles later leaves
 * it PENDING, and the reconciliation asks for it. What was paid must be what our own row asks for, and the credits
 * are our row's, whatever stands in the metadata.
 */
export const completePurchase: Effect = async (event, context) => {
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
  const status = textIn(session.payment_status);
  if (status !== 'paid' && status !== 'no_payment_required') {
    await noteSession(context, purchase, sessionId);
    return nothing(companyId, `not paid yet (${status}): the purchase waits`);
  }
  const problem = await mismatch(event, context, purchase, paymentId);
  if (problem !== null) return { outcome: 'failed', reason: problem, companyId };
  return await complete(event, context, purchase, { sessionId, paymentId });
};

async function complete(
  event: KeptEvent,
  context: EffectContext,
  purchase: CreditPackPurchase,
  { sessionId, paymentId }: { readonly sessionId: string | null; readonly paymentId: string | null },
): Promise<EffectOutcome> {
  const { transaction, now } = context;
  const { companyId, creditsMicro } = purchase;
  const customerId = idIn(event.object.customer);
  await linkCustomer(transaction, companyId, customerId);
  const invoice = await writePackInvoice(event, context, purchase);
  await transaction.query(
    `update credit_pack_purchases set status = 'COMPLETED', completed_at = $2, updated_at = $2,
       provider_session_id = coalesce($3, provider_session_id), provider_payment_intent_id = $4, invoice_id = $5
     where id = $1`,
    [purchase.id, now, sessionId, paymentId, invoice.id],
  );
  await post(context, {
    accountId: companyId,
    type: 'PACK_PURCHASE',
    amountMicro: creditsMicro,
    contra: 'sales',
    sourceKind: PURCHASE_SOURCE,
    sourceId: purchase.id,
    reason: `credit pack, checkout ${sessionId}`.slice(0, 500),
  });
  await context.tellAdmins({
    kind: 'receipt',
    companyId,
    fact: `receipt:purchase:${purchase.id}`,
    data: {
      item: `Credit pack ${await packName(context, purchase)}`,
      amount: amountOf(purchase.amountMinor, purchase.currency),
      paidAt: event.happenedAt,
      creditsMicro,
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

/** Credits that were posted before, with another amount or on another account, would be a fault of our books. */
export async function post({ transaction }: EffectContext, posting: Posting): Promise<void> {
  const posted = await postTransaction(transaction, posting);
  if (posted.outcome === 'posted') return;
  const why = posted.outcome === 'wrong-amount' ? posted.problem : posted.outcome;
  throw new Error(`${posting.sourceKind} ${posting.sourceId} cannot be posted: ${why}`);
}

/** What the provider tells must be what we asked for; what it does not tell cannot contradict. */
async function mismatch(
  event: KeptEvent,
  { transaction }: EffectContext,
  purchase: CreditPackPurchase,
  paymentId: string | null,
): Promise<string | null> {
  const { amount_total, currency, customer } = event.object;
  const paid = minorIn(amount_total);
  const paidIn = currencyIn(currency);
  const isOtherAmount = paid !== null && paid !== purchase.amountMinor;
  if (isOtherAmount || (paidIn !== null && paidIn !== purchase.currency)) {
    return `${paid} ${paidIn} was paid for purchase ${purchase.id}, which costs ${purchase.amountMinor} ${purchase.currency}`;
  }
  const customerId = idIn(customer);
  const owner =
    customerId === null ? null : await companyOf(transaction, { customerId, companyId: purchase.companyId });
  if (owner !== null && owner !== purchase.companyId) {
    return `purchase ${purchase.id} is not of the company that customer ${customerId} is`;
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
  const [row] = await transaction.query<{ name: string }>('select name from credit_packs where id = $1', [
    creditPackId,
  ]);
  return row?.name ?? creditPackId;
}

function nothing(companyId: string, did: string): EffectOutcome {
  return { outcome: 'applied', did, companyId };
}
