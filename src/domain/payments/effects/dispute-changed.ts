import { readLevel } from '../../credits/ledger/credit-account.ts';
import { postCash } from '../cash/cash.ts';
import {
  amountOf,
  type Effect,
  type EffectContext,
  type EffectOutcome,
  post,
  type StoredPaymentEvent,
  waitKeys,
} from '../effect.ts';
import {
  currencyIn,
  disputeStatusIn,
  fieldsIn,
  idIn,
  lockCompany,
  minorIn,
  momentIn,
  textIn,
} from '../provider-objects.ts';
import { findCharge } from './charge-refunded.ts';
import { countRefunds, type Refunded, returnDisputed, takeDisputed } from './returned-money.ts';

const OVER: readonly string[] = ['won', 'lost', 'warning_closed', 'charge_refunded'];

interface Dispute {
  readonly id: string;
  readonly chargeId: string;
  readonly status: string;
  readonly amountMinor: bigint;
  readonly currency: string;
}

/**
 * A dispute as the provider has it, found by reconciliation or sent as `charge.dispute.…`. It is recorded, and reported
 * to the company and the operators when it is opened and when it is over. If it is lost the provider has returned the
 * money, so the credits that it paid for are taken back in proportion, also below zero. If the bank reverses that later
 * and the dispute is won, they are given back, and if it is lost again they are taken again, each once. Of two decisions
 * the one that the provider reported last counts, in whichever order they arrive.
 */
export const disputeChanged: Effect = async (event, context) => {
  const dispute = readDispute(event);
  if (dispute === null) return { outcome: 'failed', reason: 'the dispute has no id, charge or amount' };
  const { transaction, now } = context;
  const found = await findCharge(asCharge(event), context);
  if (found.outcome === 'not-yet') return (await knownBefore(event, context, dispute)) ?? found.because;
  const { companyId, currency } = found.refunded;
  if (dispute.currency !== currency) {
    const reason = `dispute ${dispute.id} is in ${dispute.currency}, what was paid for costs ${currency}`;
    return { outcome: 'failed', reason, companyId };
  }
  await lockCompany(transaction, companyId);
  const [known] = await transaction.query<KnownDispute>(
    'select status, coalesce(status_at, opened_at) as "statusAt" from payment_disputes where dispute_id = $1 for update',
    [dispute.id],
  );
  if (known !== undefined && !isNews(known, dispute.status, event.happenedAt)) {
    if (known.status === dispute.status) await confirmStatus(context, dispute.id, event.happenedAt);
    return { outcome: 'applied', did: `dispute ${dispute.id} is ${known.status} already`, companyId };
  }
  const isReversed = known?.status === 'lost';
  const step = await stepOf(context, dispute.id);
  const { id, chargeId, status, amountMinor } = dispute;
  await transaction.query(
    `insert into payment_disputes (dispute_id, company_id, charge_id, status, amount_minor, currency, reason, opened_at,
       respond_by, updated_at, status_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (dispute_id) do update set status = $4, amount_minor = $5, reason = $7, respond_by = $9,
       updated_at = $10, status_at = $11`,
    [
      ...[id, companyId, chargeId, status, amountMinor, currency, textIn(event.object.reason, 100)],
      ...[momentIn(event.object.created) ?? event.happenedAt, respondBy(event), now],
      event.happenedAt,
    ],
  );
  if (status === 'lost') {
    await postCash(transaction, {
      ...{ companyId, account: 'disputed', currency, amountMinor, sourceKind: 'dispute', sourceId: id },
      ...{ step: step === 0 ? '' : `lost:${step}`, happenedAt: event.happenedAt },
    });
  }
  const takenMicro = status === 'lost' ? await takeLost(context, dispute, found.refunded) : 0n;
  const returnedMicro = isReversed ? await giveBack(event, context, { dispute, step }, found.refunded) : null;
  await reportDispute(event, context, {
    ...{ dispute, companyId, takenMicro, returnedMicro, isNew: known === undefined, step },
  });
  const credits =
    returnedMicro === null
      ? `${takenMicro} micro-credits taken`
      : `it was lost before, ${returnedMicro} micro-credits given back`;
  const did = `dispute ${id} of ${amountMinor} ${currency} is ${status}: ${credits}`;
  return {
    outcome: 'applied',
    did,
    companyId,
    arrived: waitKeys({ payment: idIn(event.object.payment_intent) }),
  };
};

interface KnownDispute {
  readonly status: string;
  readonly statusAt: Date;
}

/**
 * Whether a report changes what is known. A dispute that is over stays as it is, except for the two decisions: the later one
 * counts, and of two of the same second that it was won. One that was closed may still be lost.
 */
function isNews({ status, statusAt }: KnownDispute, next: string, at: Date): boolean {
  if (status === next) return false;
  if (status === 'lost' && next === 'won') return at >= statusAt;
  if (status === 'won' && next === 'lost') return at > statusAt;
  if (status === 'warning_closed' && next === 'lost') return true;
  return !OVER.includes(status);
}

/**
 * A signed event does not name the invoice that was paid, so an invoice for usage is found only by what reconciliation
 * reads. Null until that has recorded this status, or a later one.
 */
async function knownBefore(
  event: StoredPaymentEvent,
  { transaction }: EffectContext,
  { id, status }: Dispute,
): Promise<EffectOutcome | null> {
  const [known] = await transaction.query<KnownDispute & { readonly companyId: string }>(
    `select status, coalesce(status_at, opened_at) as "statusAt", company_id as "companyId" from payment_disputes
     where dispute_id = $1`,
    [id],
  );
  if (known === undefined || isNews(known, status, event.happenedAt)) return null;
  return {
    outcome: 'applied',
    did: `dispute ${id} is ${known.status} already`,
    companyId: known.companyId,
  };
}

/** The same status, reported again: what was reported in between and comes later does not replace it. */
async function confirmStatus({ transaction }: EffectContext, disputeId: string, at: Date): Promise<void> {
  await transaction.query(
    'update payment_disputes set status_at = $2 where dispute_id = $1 and coalesce(status_at, opened_at) < $2',
    [disputeId, at],
  );
}

/** How often it was lost and then won: part of the source of what is posted after that. */
async function stepOf({ transaction }: EffectContext, disputeId: string): Promise<number> {
  const [row] = await transaction.query<{ count: number }>(
    `select count(*)::int as count from cash_entries
     where source_kind = 'dispute' and source_id = $1 and account = 'disputed' and starts_with(step, 'won')`,
    [disputeId],
  );
  return row?.count ?? 0;
}

function readDispute({ object }: StoredPaymentEvent): Dispute | null {
  const [id, chargeId, status] = [idIn(object.id), idIn(object.charge), disputeStatusIn(object)];
  const [amountMinor, currency] = [minorIn(object.amount), currencyIn(object.currency)];
  if (id === null || chargeId === null || status === null || currency === null) return null;
  if (amountMinor === null || amountMinor < 0n) return null;
  return { id, chargeId, status, amountMinor, currency };
}

/** Converts the event to one about the charge, for `findCharge`; with the whole charge if the provider included it. */
function asCharge(event: StoredPaymentEvent): StoredPaymentEvent {
  const { object } = event;
  const charge = fieldsIn(object.charge);
  const payment_intent = idIn(object.payment_intent) ?? idIn(charge.payment_intent);
  return { ...event, object: { ...charge, id: idIn(object.charge) ?? undefined, payment_intent } };
}

function respondBy({ object }: StoredPaymentEvent): Date | null {
  return momentIn(fieldsIn(object.evidence_details).due_by);
}

/** Takes as much of the money as refunds have left. Returns by how much the company's balance was reduced. */
async function takeLost(context: EffectContext, dispute: Dispute, found: Refunded): Promise<bigint> {
  const { transaction } = context;
  if (dispute.amountMinor === 0n) return 0n;
  const before = await readLevel(transaction, found.companyId);
  await takeDisputed(context, dispute.id, found);
  const after = await readLevel(transaction, found.companyId);
  return (before?.balanceMicro ?? 0n) - (after?.balanceMicro ?? 0n);
}

/** The bank has reversed a lost dispute. The source id is that of a sum that was lowered once (`returned-money.ts`). */
async function giveBack(
  event: StoredPaymentEvent,
  context: EffectContext,
  { dispute, step }: { readonly dispute: Dispute; readonly step: number },
  found: Refunded,
): Promise<bigint> {
  const { companyId } = found;
  const { id, amountMinor, currency } = dispute;
  await postCash(context.transaction, {
    ...{
      companyId,
      account: 'disputed',
      currency,
      amountMinor: -amountMinor,
      sourceKind: 'dispute',
      sourceId: id,
    },
    ...{ step: step === 0 ? 'won' : `won:${step}`, reason: 'the dispute was won after all' },
    happenedAt: event.happenedAt,
  });
  const { returnedMicro, contra, expires, lowered } = await returnDisputed(context, id, found);
  if (returnedMicro > 0n) {
    await post(context, {
      ...{ accountId: companyId, type: 'REFUND', amountMicro: returnedMicro, contra, expires },
      ...{
        sourceKind: 'charge-refund',
        sourceId: `${id}:0:${lowered}`,
        reason: `dispute ${id} was lost, and won after all`,
      },
    });
  }
  return returnedMicro;
}

function stateOf(status: string): 'lost' | 'closed' | 'opened' {
  if (status === 'lost') return 'lost';
  return OVER.includes(status) ? 'closed' : 'opened';
}

async function reportDispute(
  event: StoredPaymentEvent,
  { mailAdmins, mailSuperAdmins, log }: EffectContext,
  given: {
    dispute: Dispute;
    companyId: string;
    takenMicro: bigint;
    /** Null unless the dispute was lost before. */
    returnedMicro: bigint | null;
    isNew: boolean;
    step: number;
  },
): Promise<void> {
  const { dispute, companyId, takenMicro, returnedMicro, isNew, step } = given;
  const { id, status, amountMinor, currency } = dispute;
  const isOver = OVER.includes(status);
  if (!isNew && !isOver) return;
  const state = returnedMicro === null ? stateOf(status) : 'reversed';
  const amount = amountOf(amountMinor, currency);
  const movedMicro = returnedMicro ?? takenMicro;
  const credits = movedMicro > 0n ? { creditsMicro: movedMicro } : {};
  const fact = `dispute:${id}:${state}${step === 0 ? '' : `:${step}`}`;
  const due = respondBy(event);
  log.error('a payment is disputed', { companyId, disputeId: id, status });
  await mailAdmins({ kind: 'payment-dispute', companyId, fact, data: { state, amount, ...credits } });
  await mailSuperAdmins({
    companyId,
    fact: `operators:${fact}`,
    problem: `dispute-${state}`,
    data: { reference: id, amount, ...credits, ...(due === null || isOver ? {} : { respondBy: due }) },
  });
}

/**
 * A refund that failed at the provider, found by reconciliation, with the refunded amount of its charge without it. The
 * money is ours again, so the credits that the refund took are given back, once, unless a lost dispute took the money.
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
  const count = {
    eventId: event.id,
    countedMinor: leftMinor,
    countedAt,
    refundedAt: momentIn(object.created),
  };
  const lowered = await countRefunds(context, chargeId, found.refunded, count);
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
  { mailAdmins, mailSuperAdmins, log }: EffectContext,
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
  await mailAdmins({ kind: 'refund-failed', companyId, fact, data });
  await mailSuperAdmins({
    companyId,
    fact: `operators:${fact}`,
    problem: 'refund-failed',
    data: { reference: refundId, ...data },
  });
  const did = `refund ${refundId} of ${amountMinor} ${currency} failed: ${returnedMicro} micro-credits given back`;
  return { outcome: 'applied', did, companyId };
}
