import { findInvoiceByProviderId } from '../../credits/invoices/invoice.ts';
import { type Expiry, findLotOf, type GrantSource } from '../../credits/ledger/credit-lots.ts';
import { postCash } from '../cash/cash.ts';
import {
  type Effect,
  type EffectContext,
  type EffectOutcome,
  type KeptEvent,
  post,
  waitKeys,
} from '../effect.ts';
import { grantedByInvoices, planGrantOf } from '../plan-grants.ts';
import { currencyIn, idIn, lockCompany, minorIn, ourIdIn } from '../provider-objects.ts';
import { purchaseGrantOf, purchaseOf } from '../purchase.ts';

/** Of the posting that a refund makes; its id is the charge and how much of it was given back in all. */
const REFUND_SOURCE = 'charge-refund';

/** What the charge had paid for, and what that had brought. */
export interface Refunded {
  readonly kind: 'PURCHASE' | 'PLAN_GRANT' | 'INVOICE';
  readonly id: string;
  readonly companyId: string;
  readonly grantedMicro: bigint;
  readonly amountMinor: bigint;
  readonly currency: string;
}

type FoundCharge =
  | { readonly outcome: 'found'; readonly refunded: Refunded }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

/**
 * `charge.refunded`: the credits that the charge had brought are taken back in proportion, below zero too (P-21). A
 * charge that brought none, as that of an invoice for usage, is noted without credits: the money is a gift, the
 * usage stays paid.
 */
export const chargeRefunded: Effect = async (event, context) => {
  const chargeId = idIn(event.object.id);
  if (chargeId === null) return { outcome: 'failed', reason: 'the charge has no id' };
  const found = await findCharge(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const { refunded } = found;
  const { companyId } = refunded;
  const currency = currencyIn(event.object.currency);
  if (currency !== null && currency !== refunded.currency) {
    const reason = `charge ${chargeId} is in ${currency}, what it paid for costs ${refunded.currency}`;
    return { outcome: 'failed', reason, companyId };
  }
  const amountMinor = minorIn(event.object.amount) ?? refunded.amountMinor;
  // An invoice may be paid by card and from the customer's balance: its charge is then a part of what it was paid with.
  const paidMinor =
    refunded.kind === 'PLAN_GRANT' && refunded.amountMinor > amountMinor ? refunded.amountMinor : amountMinor;
  const toldMinor =
    minorIn(event.object.amount_refunded) ?? (event.object.refunded === true ? amountMinor : 0n);
  if (toldMinor <= 0n || amountMinor <= 0n || toldMinor > amountMinor) {
    return { outcome: 'failed', reason: `${toldMinor} of ${amountMinor} cannot be given back`, companyId };
  }
  await lockCompany(context.transaction, companyId);
  if (await isCountedIn(context, chargeId, event.happenedAt)) {
    return { outcome: 'applied', did: 'it was counted at the provider before', companyId };
  }
  return await take(context, chargeId, refunded, {
    ...{ amountMinor: paidMinor, toldMinor, refundedAt: event.happenedAt },
    mostMicro: await leftByDisputes(context, chargeId, refunded),
  });
};

/** What of the credits of a payment its lost disputes have not taken: a refund whose event is late takes no more. */
async function leftByDisputes(
  { transaction }: EffectContext,
  chargeId: string,
  { kind, id, grantedMicro }: Pick<Refunded, 'kind' | 'id' | 'grantedMicro'>,
): Promise<bigint> {
  const [sum] = await transaction.query<{ micro: bigint }>(
    `select coalesce(sum(refunded_micro), 0)::bigint as micro from charge_refunds
     where source_kind = $1 and source_id = $2 and charge_id <> $3 and not starts_with(charge_id, 'cn_')`,
    [kind, id, chargeId],
  );
  const leftMicro = grantedMicro - (sum?.micro ?? 0n);
  return leftMicro > 0n ? leftMicro : 0n;
}

interface Taken {
  readonly amountMinor: bigint;
  readonly toldMinor: bigint;
  /** Of a charge, whose refund is money out; the cash of credit notes and disputes is posted with them. */
  readonly refundedAt?: Date;
  /** The most that its refunds may take in all. */
  readonly mostMicro?: bigint;
}

export async function take(
  context: EffectContext,
  chargeId: string,
  refunded: Refunded,
  { amountMinor, toldMinor, refundedAt, mostMicro }: Taken,
): Promise<EffectOutcome> {
  const { transaction, now } = context;
  const { companyId, grantedMicro, kind, id } = refunded;
  const [known] = await transaction.query<ChargeSoFar>(
    `select amount_minor as "amountMinor", granted_micro as "grantedMicro", refunded_minor as "refundedMinor",
       refunded_micro as "refundedMicro" from charge_refunds where charge_id = $1 for update`,
    [chargeId],
  );
  const soFar = known ?? { amountMinor, grantedMicro, refundedMinor: 0n, refundedMicro: 0n };
  const { refundedMinor, refundedMicro, takenMicro: stepMicro } = refundStep(soFar, toldMinor, mostMicro);
  if (refundedMinor === soFar.refundedMinor) {
    return { outcome: 'applied', did: 'as much was given back before', companyId };
  }
  const isPlan = kind === 'PLAN_GRANT';
  const beforeMicro = isPlan ? await grantedByInvoices(transaction, companyId) : 0n;
  await transaction.query(
    `insert into charge_refunds (charge_id, company_id, source_kind, source_id, amount_minor, currency, refunded_minor,
       granted_micro, refunded_micro, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (charge_id) do update set refunded_minor = $7, refunded_micro = $9, updated_at = $10`,
    [
      chargeId,
      companyId,
      kind,
      id,
      amountMinor,
      refunded.currency,
      refundedMinor,
      grantedMicro,
      refundedMicro,
      now,
    ],
  );
  if (refundedAt !== undefined) {
    await postCash(transaction, {
      ...{ companyId, account: 'refunded', currency: refunded.currency },
      ...{
        amountMinor: refundedMinor - soFar.refundedMinor,
        sourceKind: 'charge-refund',
        sourceId: chargeId,
      },
      ...{ step: `${refundedMinor}${await loweredSuffix(context, chargeId)}`, happenedAt: refundedAt },
    });
  }
  const dueMicro = isPlan ? beforeMicro - (await grantedByInvoices(transaction, companyId)) : stepMicro;
  const given = `${refundedMinor} of ${amountMinor} ${refunded.currency} given back`;
  const { postedMicro, expiredMicro } = await takeCredits(context, chargeId, refunded, {
    ...{ dueMicro, beforeMicro: soFar.refundedMicro, refundedMinor, reason: given },
  });
  const had = expiredMicro === 0n ? '' : `, ${expiredMicro} had expired`;
  const did = `${given}: ${postedMicro} micro-credits taken${had}`;
  return { outcome: 'applied', did, companyId };
}

/** What of the credits had expired is not taken a second time. */
async function takeCredits(
  context: EffectContext,
  chargeId: string,
  refunded: Refunded,
  step: {
    readonly dueMicro: bigint;
    /** What refunds of the charge came to before, for rows that do not say what they took. */
    readonly beforeMicro: bigint;
    readonly refundedMinor: bigint;
    readonly reason: string;
  },
): Promise<{ readonly postedMicro: bigint; readonly expiredMicro: bigint }> {
  const expiredMicro = await expiredOf(context, refunded, step.dueMicro);
  const postedMicro = step.dueMicro - expiredMicro;
  await context.transaction.query(
    `update charge_refunds set taken_micro = coalesce(taken_micro, $3) + $2, expired_micro = expired_micro + $4
     where charge_id = $1`,
    [chargeId, postedMicro, step.beforeMicro, expiredMicro],
  );
  if (postedMicro > 0n) {
    await post(context, {
      accountId: refunded.companyId,
      type: 'REFUND',
      amountMicro: -postedMicro,
      contra: contraOf(refunded.kind),
      sourceKind: REFUND_SOURCE,
      sourceId: `${chargeId}:${step.refundedMinor}${await loweredSuffix(context, chargeId)}`,
      reason: step.reason,
      takesBack: { grant: grantOf(refunded) },
    });
  }
  return { postedMicro, expiredMicro };
}

/** The posting by which a payment brought its credits; an invoice for usage brought none. */
function grantOf({ kind, id }: Pick<Refunded, 'kind' | 'id'>): GrantSource | null {
  if (kind === 'INVOICE') return null;
  return kind === 'PURCHASE' ? purchaseGrantOf(id) : planGrantOf(id);
}

/** Of what is to be taken, what has expired before: that is not taken a second time, by whichever refund of its payment. */
async function expiredOf(
  { transaction }: EffectContext,
  refunded: Pick<Refunded, 'kind' | 'id'>,
  dueMicro: bigint,
): Promise<bigint> {
  const grant = grantOf(refunded);
  const lot = grant === null ? null : await findLotOf(transaction, grant);
  if (lot === null || dueMicro <= 0n) return 0n;
  const [sum] = await transaction.query<{ micro: bigint }>(
    `select coalesce(sum(expired_micro), 0)::bigint as micro from charge_refunds where source_kind = $1 and source_id = $2`,
    [refunded.kind, refunded.id],
  );
  const leftMicro = lot.expiredMicro - (sum?.micro ?? 0n);
  if (leftMicro <= 0n) return 0n;
  return leftMicro < dueMicro ? leftMicro : dueMicro;
}

export async function findCharge(event: KeptEvent, context: EffectContext): Promise<FoundCharge> {
  const { transaction } = context;
  const { object } = event;
  const chargeId = idIn(object.id);
  const paymentId = idIn(object.payment_intent);
  const invoiceId = idIn(object.invoice);
  const purchaseId = ourIdIn(object, 'purchaseId');
  const purchase = await purchaseOf(transaction, { paymentId, purchaseId });
  // A charge that names no payment is the purchase's whose id we wrote on it.
  const isItsPayment =
    paymentId === null ||
    purchase?.providerPaymentIntentId === null ||
    purchase?.providerPaymentIntentId === paymentId;
  if (purchase !== null && isItsPayment && purchase.status === 'COMPLETED') {
    const { id, companyId, creditsMicro: grantedMicro, currency } = purchase;
    const amountMinor = purchase.amountMinor + purchase.taxMinor;
    return {
      outcome: 'found',
      refunded: { kind: 'PURCHASE', id, companyId, grantedMicro, amountMinor, currency },
    };
  }
  const [grant] = await transaction.query<Omit<Refunded, 'kind'>>(
    `select provider_invoice_id as id, company_id as "companyId",
       greatest(0, coalesce(moved_micro, credits_micro)) as "grantedMicro", amount_minor as "amountMinor", currency
     from plan_grants
     where provider_invoice_id = $1 or provider_charge_id = $2 or provider_payment_intent_id = $3 limit 1`,
    [invoiceId, chargeId, paymentId],
  );
  if (grant !== undefined) return { outcome: 'found', refunded: { kind: 'PLAN_GRANT', ...grant } };
  const invoice = invoiceId === null ? null : await findInvoiceByProviderId(transaction, invoiceId);
  if (invoice !== null && invoice.status === 'PAID' && invoice.kind !== 'PACK') {
    const { id, companyId, amountMinor, currency } = invoice;
    return {
      outcome: 'found',
      refunded: { kind: 'INVOICE', id, companyId, grantedMicro: 0n, amountMinor, currency },
    };
  }
  const reason = `nothing that is paid here was paid by charge ${chargeId}`;
  const waitsFor = waitKeys({ payment: paymentId, invoice: invoiceId, purchase: purchase?.id ?? purchaseId });
  return { outcome: 'not-yet', because: { outcome: 'deferred', reason, waitsFor } };
}

/** What a charge was, and what was given back of it so far: money and credits, both only grow. */
interface ChargeSoFar {
  readonly amountMinor: bigint;
  readonly grantedMicro: bigint;
  readonly refundedMinor: bigint;
  readonly refundedMicro: bigint;
}

interface RefundStep {
  readonly refundedMinor: bigint;
  readonly refundedMicro: bigint;
  /** To be taken from the account now; zero where it was before. */
  readonly takenMicro: bigint;
}

/**
 * The provider reports the total refunded amount of a charge, so the larger of the reported and the known amount counts:
 * repeated, late or reordered events have the same result. Credits are taken back in proportion, rounded up to the
 * micro-credit, and exactly all of them with a full refund.
 */
export function refundStep(soFar: ChargeSoFar, toldMinor: bigint, mostMicro?: bigint): RefundStep {
  const { amountMinor, grantedMicro } = soFar;
  const refundedMinor = toldMinor > soFar.refundedMinor ? toldMinor : soFar.refundedMinor;
  const share = (grantedMicro * refundedMinor + amountMinor - 1n) / amountMinor;
  const due = refundedMinor >= amountMinor || share > grantedMicro ? grantedMicro : share;
  const target = mostMicro !== undefined && due > mostMicro ? mostMicro : due;
  const refundedMicro = target > soFar.refundedMicro ? target : soFar.refundedMicro;
  return { refundedMinor, refundedMicro, takenMicro: refundedMicro - soFar.refundedMicro };
}

/** A refund that failed has lowered the sum since: what was reported before that is counted in. */
async function isCountedIn(
  { transaction }: EffectContext,
  chargeId: string,
  happenedAt: Date,
): Promise<boolean> {
  const rows = await transaction.query(
    'select 1 from charge_refunds where charge_id = $1 and counted_at >= $2',
    [chargeId, happenedAt],
  );
  return rows.length > 0;
}

/** The same sum may be reached again after a refund has failed: that is another posting. */
async function loweredSuffix({ transaction }: EffectContext, chargeId: string): Promise<string> {
  const [row] = await transaction.query<{ lowered: number }>(
    'select lowered from charge_refunds where charge_id = $1',
    [chargeId],
  );
  return row === undefined || row.lowered === 0 ? '' : `:${row.lowered}`;
}

function contraOf(kind: Refunded['kind']): Contra {
  return kind === 'PURCHASE' ? 'sales' : kind === 'INVOICE' ? 'receivables' : 'grants';
}

type Contra = 'sales' | 'grants' | 'receivables';

interface ReturnedCredits {
  readonly returnedMicro: bigint;
  readonly contra: Contra;
  readonly expires: Expiry | null;
}

/** A refund failed: so much of the charge is refunded without it. Returns the credits that are to be given back. */
export async function lowerRefund(
  context: EffectContext,
  chargeId: string,
  { refundedMinor, countedAt }: { readonly refundedMinor: bigint; readonly countedAt: Date },
): Promise<ReturnedCredits> {
  const { transaction, now } = context;
  const [known] = await transaction.query<
    ChargeSoFar &
      Pick<Refunded, 'kind' | 'id' | 'companyId' | 'currency'> & {
        readonly lowered: number;
        readonly takenMicro: bigint;
        readonly expiredMicro: bigint;
      }
  >(
    `select source_kind as kind, source_id as id, company_id as "companyId", currency, amount_minor as "amountMinor",
       granted_micro as "grantedMicro", refunded_minor as "refundedMinor", refunded_micro as "refundedMicro", lowered,
       coalesce(taken_micro, refunded_micro) as "takenMicro", expired_micro as "expiredMicro"
     from charge_refunds where charge_id = $1 for update`,
    [chargeId],
  );
  if (known === undefined || refundedMinor >= known.refundedMinor) {
    return { returnedMicro: 0n, contra: contraOf(known?.kind ?? 'PURCHASE'), expires: null };
  }
  const { amountMinor, grantedMicro, kind, companyId, takenMicro, expiredMicro } = known;
  const isPlan = kind === 'PLAN_GRANT';
  const beforeMicro = isPlan ? await grantedByInvoices(transaction, companyId) : 0n;
  const left = refundStep(
    { amountMinor, grantedMicro, refundedMinor: 0n, refundedMicro: 0n },
    refundedMinor,
    await leftByDisputes(context, chargeId, known),
  );
  await transaction.query(
    `update charge_refunds set refunded_minor = $2, refunded_micro = $3, counted_at = $4, lowered = lowered + 1,
       updated_at = $5 where charge_id = $1`,
    [chargeId, left.refundedMinor, left.refundedMicro, countedAt, now],
  );
  await postCash(transaction, {
    ...{ companyId, account: 'refunded', currency: known.currency },
    ...{
      amountMinor: left.refundedMinor - known.refundedMinor,
      sourceKind: 'charge-refund',
      sourceId: chargeId,
    },
    ...{
      step: `${left.refundedMinor}:${known.lowered + 1}`,
      reason: 'a refund failed',
      happenedAt: countedAt,
    },
  });
  // As when it was taken: what the invoices of the company grant now, less what they granted before.
  const dueMicro = isPlan
    ? (await grantedByInvoices(transaction, companyId)) - beforeMicro
    : known.refundedMicro - left.refundedMicro;
  // What had expired was not taken, so it is not returned either; what was taken is returned first.
  const overMicro = dueMicro > takenMicro ? dueMicro - takenMicro : 0n;
  const notTakenMicro = overMicro < expiredMicro ? overMicro : expiredMicro;
  const returnedMicro = dueMicro - notTakenMicro;
  await transaction.query(
    `update charge_refunds set taken_micro = $2, expired_micro = $3 where charge_id = $1`,
    [chargeId, takenMicro - returnedMicro, expiredMicro - notTakenMicro],
  );
  return { returnedMicro, contra: contraOf(kind), expires: await expiryAgain(context, known) };
}

/** What is returned of credits that expire lasts as long as they did when they were granted. */
async function expiryAgain(
  { transaction, now }: EffectContext,
  refunded: Pick<Refunded, 'kind' | 'id'>,
): Promise<Expiry | null> {
  const grant = grantOf(refunded);
  const lot = grant === null ? null : await findLotOf(transaction, grant);
  if (lot === null) return null;
  const { grantedAt, expiresAt, subject, label } = lot;
  const at = new Date(now.getTime() + Math.max(0, expiresAt.getTime() - grantedAt.getTime()));
  return { at, grantedAt: now, subject, label: label ?? 'Returned credits' };
}
