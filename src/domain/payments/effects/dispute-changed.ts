import { findInvoice } from '../../credits/invoices/invoice.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import { postCash } from '../cash/cash.ts';
import {
  amountOf,
  type Effect,
  type EffectContext,
  type EffectOutcome,
  type KeptEvent,
  post,
  waitKeys,
} from '../effect.ts';
import { currencyIn, fieldsIn, idIn, lockCompany, minorIn, momentIn, textIn } from '../provider-objects.ts';
import { findCharge, lowerRefund, type Refunded, take } from './charge-refunded.ts';

const OVER: readonly string[] = ['won', 'lost', 'warning_closed', 'charge_refunded'];

interface Dispute {
  readonly id: string;
  readonly chargeId: string;
  readonly status: string;
  readonly amountMinor: bigint;
  readonly currency: string;
}

/**
 * A dispute as the provider has it, found by reconciliation or sent as `charge.dispute.…`: recorded, and reported to
 * the company and the operators when it is opened and when it is over. If it is lost the provider has returned the
 * money, so the credits that it had brought are taken back in proportion, below zero too.
 */
export const disputeChanged: Effect = async (event, context) => {
  const dispute = readDispute(event);
  if (dispute === null) return { outcome: 'failed', reason: 'the dispute has no id, charge or amount' };
  const { transaction, now } = context;
  const found = await findCharge(asCharge(event), context);
  if (found.outcome === 'not-yet') return found.because;
  const { companyId, currency } = found.refunded;
  if (dispute.currency !== currency) {
    const reason = `dispute ${dispute.id} is in ${dispute.currency}, what was paid for costs ${currency}`;
    return { outcome: 'failed', reason, companyId };
  }
  await lockCompany(transaction, companyId);
  const [known] = await transaction.query<{ status: string }>(
    'select status from payment_disputes where dispute_id = $1 for update',
    [dispute.id],
  );
  if (known !== undefined && (known.status === dispute.status || OVER.includes(known.status))) {
    return { outcome: 'applied', did: `dispute ${dispute.id} is ${known.status} already`, companyId };
  }
  const { id, chargeId, status, amountMinor } = dispute;
  await transaction.query(
    `insert into payment_disputes (dispute_id, company_id, charge_id, status, amount_minor, currency, reason, opened_at,
       respond_by, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (dispute_id) do update set status = $4, amount_minor = $5, reason = $7, respond_by = $9,
       updated_at = $10`,
    [
      ...[id, companyId, chargeId, status, amountMinor, currency, textIn(event.object.reason, 100)],
      ...[momentIn(event.object.created) ?? event.happenedAt, respondBy(event), now],
    ],
  );
  if (status === 'lost') {
    await postCash(transaction, {
      ...{ companyId, account: 'disputed', currency, amountMinor, sourceKind: 'dispute', sourceId: id },
      happenedAt: event.happenedAt,
    });
  }
  const takenMicro = status === 'lost' ? await takeLost(context, dispute, found.refunded) : 0n;
  await reportDispute(event, context, { dispute, companyId, takenMicro, isNew: known === undefined });
  const did = `dispute ${id} of ${amountMinor} ${currency} is ${status}: ${takenMicro} micro-credits taken`;
  return {
    outcome: 'applied',
    did,
    companyId,
    arrived: waitKeys({ payment: idIn(event.object.payment_intent) }),
  };
};

function readDispute({ object }: KeptEvent): Dispute | null {
  const [id, chargeId, status] = [idIn(object.id), idIn(object.charge), textIn(object.status, 60)];
  const [amountMinor, currency] = [minorIn(object.amount), currencyIn(object.currency)];
  if (id === null || chargeId === null || status === null || currency === null) return null;
  if (amountMinor === null || amountMinor < 0n) return null;
  return { id, chargeId, status, amountMinor, currency };
}

/** What paid for something is found by the charge: by its whole object where the provider sent that along. */
function asCharge(event: KeptEvent): KeptEvent {
  const { object } = event;
  const charge = fieldsIn(object.charge);
  const payment_intent = idIn(object.payment_intent) ?? idIn(charge.payment_intent);
  return { ...event, object: { ...charge, id: idIn(object.charge) ?? undefined, payment_intent } };
}

function respondBy({ object }: KeptEvent): Date | null {
  return momentIn(fieldsIn(object.evidence_details).due_by);
}

/**
 * As much of the money as was not refunded before. Credit notes (`cn_…`) are not taken off: their money went to the
 * customer's balance, where it pays for credits again, so what they and the dispute took together may exceed what the
 * invoice moved, and is carried. The credits of an invoice for usage are what its payment posted; a refund of it took none
 * of them, yet its share stays paid.
 */
async function takeLost(context: EffectContext, dispute: Dispute, found: Refunded): Promise<bigint> {
  const { transaction } = context;
  const { kind, id, companyId, amountMinor } = found;
  const grantedMicro =
    kind === 'INVOICE' ? ((await findInvoice(transaction, id))?.usageMicro ?? 0n) : found.grantedMicro;
  const [sum] = await transaction.query<{ minor: bigint; micro: bigint }>(
    `select coalesce(sum(refunded_minor), 0)::bigint as minor, coalesce(sum(refunded_micro), 0)::bigint as micro
     from charge_refunds where source_kind = $1 and source_id = $2 and not starts_with(charge_id, 'cn_')`,
    [kind, id],
  );
  const refundedMinor = sum?.minor ?? 0n;
  const leftMinor = amountMinor - refundedMinor;
  if (leftMinor <= 0n || dispute.amountMinor === 0n) return 0n;
  const isAllTheRest = dispute.amountMinor >= leftMinor;
  const lostMinor = isAllTheRest ? leftMinor : dispute.amountMinor;
  // With the last of the money exactly the last of the credits goes.
  const settledMicro =
    kind === 'INVOICE' ? (grantedMicro * refundedMinor + amountMinor - 1n) / amountMinor : (sum?.micro ?? 0n);
  const refunded = { ...found, grantedMicro: isAllTheRest ? grantedMicro - settledMicro : grantedMicro };
  const before = await readLevel(transaction, companyId);
  await take(context, dispute.id, refunded, {
    amountMinor: isAllTheRest ? lostMinor : amountMinor,
    toldMinor: lostMinor,
  });
  const after = await readLevel(transaction, companyId);
  return (before?.balanceMicro ?? 0n) - (after?.balanceMicro ?? 0n);
}

async function reportDispute(
  event: KeptEvent,
  { tellAdmins, tellOperators, log }: EffectContext,
  given: { dispute: Dispute; companyId: string; takenMicro: bigint; isNew: boolean },
): Promise<void> {
  const { dispute, companyId, takenMicro, isNew } = given;
  const { id, status, amountMinor, currency } = dispute;
  const isOver = OVER.includes(status);
  if (!isNew && !isOver) return;
  const state = status === 'lost' ? 'lost' : isOver ? 'closed' : 'opened';
  const amount = amountOf(amountMinor, currency);
  const credits = takenMicro > 0n ? { creditsMicro: takenMicro } : {};
  const fact = `dispute:${id}:${state}`;
  const due = respondBy(event);
  log.error('a payment is disputed', { companyId, disputeId: id, status });
  await tellAdmins({ kind: 'payment-dispute', companyId, fact, data: { state, amount, ...credits } });
  await tellOperators({
    companyId,
    fact: `operators:${fact}`,
    problem: `dispute-${state}`,
    data: { reference: id, amount, ...credits, ...(due === null || isOver ? {} : { respondBy: due }) },
  });
}

/**
 * A refund that failed at the provider, as reconciliation found it, with what of the charge is refunded without it: the
 * money is with us again, so the credits that the refund had taken are given back, once.
 */
export const refundFailed: Effect = async (event, context) => {
  const { transaction, now } = context;
  const { object } = event;
  const [refundId, chargeId, status] = [idIn(object.id), idIn(object.charge), textIn(object.status, 60)];
  if (status !== 'failed' && status !== 'canceled') {
    return { outcome: 'applied', did: `nothing follows from a refund that is ${status}`, companyId: null };
  }
  const leftMinor = minorIn(object.refunded_in_all);
  const countedAt = momentIn(object.counted_at);
  if (refundId === null || chargeId === null || leftMinor === null || countedAt === null) {
    return { outcome: 'applied', did: 'reconciliation reads it from the provider', companyId: null };
  }
  const found = await findCharge(asCharge(event), context);
  if (found.outcome === 'not-yet') return found.because;
  const { companyId, currency } = found.refunded;
  await lockCompany(transaction, companyId);
  const known = await transaction.query('select 1 from failed_refunds where refund_id = $1', [refundId]);
  if (known.length > 0)
    return { outcome: 'applied', did: `refund ${refundId} was counted before`, companyId };
  const lowered = await lowerRefund(context, chargeId, { refundedMinor: leftMinor, countedAt });
  const amountMinor = minorIn(object.amount) ?? 0n;
  const reason = textIn(object.failure_reason, 100);
  await transaction.query(
    `insert into failed_refunds (refund_id, company_id, charge_id, amount_minor, currency, reason, returned_micro, found_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [refundId, companyId, chargeId, amountMinor, currency, reason, lowered.returnedMicro, now],
  );
  if (lowered.returnedMicro > 0n) {
    await post(context, {
      accountId: companyId,
      type: 'REFUND',
      amountMicro: lowered.returnedMicro,
      contra: lowered.contra,
      sourceKind: 'failed-refund',
      sourceId: refundId,
      reason: `refund ${refundId} failed${reason === null ? '' : `: ${reason}`}`,
      expires: lowered.expires,
    });
  }
  return await reportFailedRefund(context, { refundId, companyId, amountMinor, currency, ...lowered });
};

async function reportFailedRefund(
  { tellAdmins, tellOperators, log }: EffectContext,
  given: {
    refundId: string;
    companyId: string;
    amountMinor: bigint;
    currency: string;
    returnedMicro: bigint;
  },
): Promise<EffectOutcome> {
  const { refundId, companyId, amountMinor, currency, returnedMicro } = given;
  const amount = amountOf(amountMinor, currency);
  const data = { amount, ...(returnedMicro > 0n ? { creditsMicro: returnedMicro } : {}) };
  const fact = `refund-failed:${refundId}`;
  log.error('a refund failed at the payment provider: refund it another way', { companyId, refundId });
  await tellAdmins({ kind: 'refund-failed', companyId, fact, data });
  await tellOperators({
    companyId,
    fact: `operators:${fact}`,
    problem: 'refund-failed',
    data: { reference: refundId, ...data },
  });
  const did = `refund ${refundId} of ${amountMinor} ${currency} failed: ${returnedMicro} micro-credits given back`;
  return { outcome: 'applied', did, companyId };
}
