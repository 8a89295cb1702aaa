import { findInvoice } from '../../credits/invoices/invoice.ts';
import { type Expiry, findLotOf, type GrantSource } from '../../credits/ledger/credit-lots.ts';
import { postCash } from '../cash/cash.ts';
import { type EffectContext, type EffectOutcome, post } from '../effect.ts';
import { grantedByInvoices, planGrantOf } from '../plan-grants.ts';
import { purchaseGrantOf } from '../purchase.ts';
import { type ChargeSoFar, refundStep, shareOf } from './refund-share.ts';

/**
 * The money that was returned of a payment, and its credits. A payment has rows of `charge_refunds`: its charge, whose
 * refunds the provider adds up, its credit notes (`cn_…`) and its lost disputes.
 *
 * - A charge takes back credits in proportion to its refunds. For a usage invoice it takes none: that money is a gift.
 * - Disputes take back credits in proportion to their money, at most what refunds have left of the payment, and are
 *   recounted whenever that changes. So the same facts in any order result in the same balance.
 * - Credit notes are counted separately: their money is on the customer's balance, where it pays for credits again.
 *
 * Only the total change is posted, under the row that caused it (`taken_micro`).
 */

/** What a charge paid for, and the credits that this granted. */
export interface Refunded {
  readonly kind: 'PURCHASE' | 'PLAN_GRANT' | 'INVOICE';
  readonly id: string;
  readonly companyId: string;
  readonly grantedMicro: bigint;
  readonly amountMinor: bigint;
  readonly currency: string;
}

interface Taken {
  readonly amountMinor: bigint;
  readonly reportedMinor: bigint;
  /** Set for a charge, whose refund is money out. The cash of credit notes is posted with them. */
  readonly refundedAt?: Date;
}

/** Applies the total that was given back by a charge or a credit note. */
export async function take(
  context: EffectContext,
  chargeId: string,
  refunded: Refunded,
  { amountMinor, reportedMinor, refundedAt }: Taken,
): Promise<EffectOutcome> {
  const { companyId, currency } = refunded;
  const soFar = await lockReturned(context, chargeId, { ...refunded, amountMinor });
  const mostMicro = refundedAt === undefined ? undefined : await leftByOthers(context, chargeId, refunded);
  const { refundedMinor, refundedMicro } = refundStep(soFar, reportedMinor, mostMicro);
  if (refundedMinor === soFar.refundedMinor) {
    return { outcome: 'applied', did: 'as much was given back before', companyId };
  }
  const next = { refundedMinor, refundedMicro, cashAt: refundedAt };
  const dueMicro = await writeReturned(context, chargeId, refunded, soFar, next);
  const given = `${refundedMinor} of ${soFar.amountMinor} ${currency} given back`;
  const { postedMicro, expiredMicro } = await takeCredits(context, chargeId, refunded, dueMicro, given);
  const had = expiredMicro === 0n ? '' : `, ${expiredMicro} had expired`;
  const did =
    postedMicro < 0n ? `${-postedMicro} micro-credits returned` : `${postedMicro} micro-credits taken`;
  return { outcome: 'applied', did: `${given}: ${did}${had}`, companyId };
}

/**
 * An invoice turns out to have paid for credits: what was returned of it before, and was recorded as a gift or as a dispute
 * of no credits, now takes them.
 */
export async function takeEarlierReturns(
  context: EffectContext,
  invoiceId: string,
  refunded: Refunded,
): Promise<void> {
  const { transaction } = context;
  const { kind, id, grantedMicro, amountMinor } = refunded;
  const earlier = await transaction.query<EarlierReturn>(
    `update charge_refunds as own set source_kind = $2, source_id = $3, granted_micro = $4, refunded_minor = 0,
       amount_minor = case when $2 = 'PLAN_GRANT' then greatest(own.amount_minor, $5) else own.amount_minor end
     from charge_refunds as before
     where own.source_kind = 'INVOICE' and own.source_id = $1 and before.charge_id = own.charge_id
     returning own.charge_id as "chargeId", before.refunded_minor as "reportedMinor",
       case when not starts_with(own.charge_id, 'cn_') then own.updated_at end as "refundedAt",
       exists (select 1 from payment_disputes where dispute_id = own.charge_id) as "isDispute"`,
    [invoiceId, kind, id, grantedMicro, amountMinor],
  );
  for (const { chargeId, reportedMinor, refundedAt, isDispute } of earlier) {
    if (isDispute) await takeDisputed(context, chargeId, refunded);
    else {
      const at = refundedAt === null ? {} : { refundedAt };
      await take(context, chargeId, refunded, { amountMinor, reportedMinor, ...at });
    }
  }
}

interface EarlierReturn {
  readonly chargeId: string;
  readonly reportedMinor: bigint;
  /** Null for a credit note. */
  readonly refundedAt: Date | null;
  readonly isDispute: boolean;
}

/** An invoice may be paid by card and from the customer's balance: then its charge is only a part of the payment. */
export function paidBy({ kind, amountMinor }: Refunded, chargeMinor: bigint): bigint {
  return kind === 'PLAN_GRANT' && amountMinor > chargeMinor ? amountMinor : chargeMinor;
}

/** A dispute of the payment was lost. If refunds have left nothing it takes nothing, until one of them fails. */
export async function takeDisputed(
  context: EffectContext,
  disputeId: string,
  refunded: Refunded,
): Promise<void> {
  const { amountMinor, currency } = refunded;
  if (amountMinor <= 0n) return;
  const soFar = await lockReturned(context, disputeId, refunded);
  const dueMicro = await writeReturned(context, disputeId, refunded, soFar, soFar);
  const { refundedMinor } = await lockReturned(context, disputeId, refunded);
  const given = `${refundedMinor} of ${amountMinor} ${currency} given back`;
  await takeCredits(context, disputeId, refunded, dueMicro, given);
}

/** A lost dispute was won after all, so the money is ours again. Returns the credits to give back. */
export async function returnDisputed(
  context: EffectContext,
  disputeId: string,
  refunded: Refunded,
): Promise<ReturnedCredits & { readonly lowered: number }> {
  const soFar = await lockReturned(context, disputeId, refunded);
  const none = { refundedMinor: 0n, refundedMicro: 0n };
  const dueMicro =
    refunded.amountMinor <= 0n ? 0n : await writeReturned(context, disputeId, refunded, soFar, none);
  const { lowered } = await lockReturned(context, disputeId, refunded);
  // 1 also where refunds had left nothing to take: it was the source before it could be won twice.
  return {
    ...(await toReturn(context, disputeId, refunded, soFar, dueMicro)),
    lowered: Math.max(1, lowered),
  };
}

interface ReturnedCredits {
  readonly returnedMicro: bigint;
  readonly contra: Contra;
  readonly expires: Expiry | null;
}

/** The refunded amount of a charge, as counted at the provider. */
interface Count {
  /** Our id of the event with this count. */
  readonly eventId: string;
  readonly countedMinor: bigint;
  readonly countedAt: Date;
  /** When the refund that failed was made. */
  readonly refundedAt: Date | null;
}

/**
 * A refund failed, and the refunds of its charge were counted at the provider: that sum replaces what was reported
 * before. Returns the credits to give back.
 */
export async function countRefunds(
  context: EffectContext,
  chargeId: string,
  refunded: Refunded,
  count: Count,
): Promise<ReturnedCredits> {
  const { transaction } = context;
  const { countedMinor, countedAt } = count;
  const contra = contraOf(refunded.kind);
  const none = { returnedMicro: 0n, contra, expires: null };
  if (refunded.amountMinor <= 0n) return none;
  const soFar = await lockReturned(context, chargeId, refunded);
  if (soFar.countedAt !== null && soFar.countedAt > countedAt) return none;
  const laterMinor = await reportedAfter(context, chargeId, count);
  const refundedMinor = laterMinor > countedMinor ? laterMinor : countedMinor;
  const { refundedMicro } = refundStep(
    { ...soFar, refundedMinor: 0n, refundedMicro: 0n },
    refundedMinor,
    await leftByOthers(context, chargeId, refunded),
  );
  const next = { refundedMinor, refundedMicro, cashAt: countedAt };
  const dueMicro = await writeReturned(context, chargeId, refunded, soFar, next);
  await transaction.query('update charge_refunds set counted_at = $2 where charge_id = $1', [
    chargeId,
    countedAt,
  ]);
  if (dueMicro >= 0n) {
    const given = `${refundedMinor} of ${soFar.amountMinor} ${refunded.currency} given back`;
    await takeCredits(context, chargeId, refunded, dueMicro, given);
    return none;
  }
  const firstMicro = await takenWith(context, refunded, count.refundedAt);
  return await toReturn(context, chargeId, refunded, soFar, dueMicro, firstMicro);
}

/**
 * Once the credits of a payment have expired, its refunds take those first. So of such a refund, what was taken after that
 * is returned first, then what had expired, and last what earlier refunds took. Null for an earlier refund: all it took.
 */
async function takenWith(
  { transaction }: EffectContext,
  { kind, id }: Refunded,
  refundedAt: Date | null,
): Promise<bigint | null> {
  const grant = grantOf({ kind, id });
  const lot = grant === null ? null : await findLotOf(transaction, grant);
  if (lot === null || refundedAt === null || refundedAt < lot.expiresAt) return null;
  const [sum] = await transaction.query<{ micro: bigint }>(
    `select coalesce(sum(coalesce(taken_micro, refunded_micro)), 0)::bigint as micro from charge_refunds
     where source_kind = $1 and source_id = $2`,
    [kind, id],
  );
  const laterMicro = (sum?.micro ?? 0n) - lot.takenBackMicro;
  return laterMicro > 0n ? laterMicro : 0n;
}

/**
 * Expired credits were not taken, so they are not returned either. Credits that were taken are returned first; `firstMicro`
 * are so many of them, and the others come last.
 */
async function toReturn(
  context: EffectContext,
  chargeId: string,
  refunded: Refunded,
  { takenMicro, expiredMicro }: ReturnedRow,
  dueMicro: bigint,
  firstMicro: bigint | null = null,
): Promise<ReturnedCredits> {
  const contra = contraOf(refunded.kind);
  if (dueMicro >= 0n) return { returnedMicro: 0n, contra, expires: null };
  const untilMicro = firstMicro !== null && firstMicro < takenMicro ? firstMicro : takenMicro;
  const overMicro = -dueMicro > untilMicro ? -dueMicro - untilMicro : 0n;
  const notTakenMicro = overMicro < expiredMicro ? overMicro : expiredMicro;
  const returnedMicro = -dueMicro - notTakenMicro;
  await context.transaction.query(
    `update charge_refunds set taken_micro = taken_micro - $2, expired_micro = expired_micro - $3 where charge_id = $1`,
    [chargeId, returnedMicro, notTakenMicro],
  );
  return { returnedMicro, contra, expires: await expiryAgain(context, refunded) };
}

interface ReturnedRow extends ChargeSoFar {
  readonly lowered: number;
  readonly countedAt: Date | null;
  readonly takenMicro: bigint;
  readonly expiredMicro: bigint;
}

async function lockReturned(
  { transaction }: EffectContext,
  chargeId: string,
  { amountMinor, grantedMicro }: Pick<Refunded, 'amountMinor' | 'grantedMicro'>,
): Promise<ReturnedRow> {
  const [known] = await transaction.query<ReturnedRow>(
    `select amount_minor as "amountMinor", granted_micro as "grantedMicro", refunded_minor as "refundedMinor",
       refunded_micro as "refundedMicro", lowered, counted_at as "countedAt",
       coalesce(taken_micro, refunded_micro) as "takenMicro", expired_micro as "expiredMicro"
     from charge_refunds where charge_id = $1 for update`,
    [chargeId],
  );
  const nothing = { refundedMinor: 0n, refundedMicro: 0n, lowered: 0, takenMicro: 0n, expiredMicro: 0n };
  return known ?? { amountMinor, grantedMicro, ...nothing, countedAt: null };
}

/**
 * Writes the row of a charge, credit note or dispute, and the cash of a charge, and recounts the disputes of the
 * payment. Returns the credits to take for all of it; a negative amount is to be returned.
 */
async function writeReturned(
  context: EffectContext,
  chargeId: string,
  refunded: Refunded,
  soFar: ReturnedRow,
  next: Pick<ReturnedRow, 'refundedMinor' | 'refundedMicro'> & { readonly cashAt?: Date | undefined },
): Promise<bigint> {
  const { transaction, now } = context;
  const { companyId, kind, id, currency } = refunded;
  const beforeMicro = await takenInAll(context, refunded);
  const { refundedMinor, cashAt } = next;
  const isLowered = refundedMinor < soFar.refundedMinor;
  const lowered = soFar.lowered + (isLowered ? 1 : 0);
  await transaction.query(
    `insert into charge_refunds as known (charge_id, company_id, source_kind, source_id, amount_minor, currency,
       refunded_minor, granted_micro, refunded_micro, updated_at, lowered, taken_micro)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0)
     on conflict (charge_id) do update set refunded_minor = $7, refunded_micro = $9, updated_at = $10, lowered = $11,
       taken_micro = coalesce(known.taken_micro, known.refunded_micro)`,
    [
      ...[chargeId, companyId, kind, id, soFar.amountMinor, currency, refundedMinor, soFar.grantedMicro],
      ...[next.refundedMicro, now, lowered],
    ],
  );
  if (cashAt !== undefined) {
    await postCash(transaction, {
      ...{ companyId, account: 'refunded', currency, amountMinor: refundedMinor - soFar.refundedMinor },
      ...{ sourceKind: 'charge-refund', sourceId: chargeId, happenedAt: cashAt },
      ...{ step: `${refundedMinor}${suffixOf(lowered)}`, reason: isLowered ? 'a refund failed' : null },
    });
  }
  await recountDisputes(context, refunded);
  return (await takenInAll(context, refunded)) - beforeMicro;
}

/**
 * The credits that all rows of a payment take. For a plan it is the negative total that the company's invoices grant,
 * so that differences are the same.
 */
async function takenInAll(
  { transaction }: EffectContext,
  { kind, id, companyId }: Refunded,
): Promise<bigint> {
  if (kind === 'PLAN_GRANT') return -(await grantedByInvoices(transaction, companyId));
  const [sum] = await transaction.query<{ micro: bigint }>(
    `select coalesce(sum(refunded_micro), 0)::bigint as micro from charge_refunds where source_kind = $1 and source_id = $2`,
    [kind, id],
  );
  return sum?.micro ?? 0n;
}

/** In the order of their ids. When all of the money has been returned, exactly all of the credits have been taken. */
async function recountDisputes(
  { transaction, now }: EffectContext,
  { kind, id, amountMinor, grantedMicro }: Refunded,
): Promise<void> {
  const disputes = await transaction.query<{ id: string; disputedMinor: bigint }>(
    `select dispute_id as id, case when dispute.status = 'lost' then dispute.amount_minor else 0 end as "disputedMinor"
     from charge_refunds as own join payment_disputes as dispute on dispute_id = own.charge_id
     where source_kind = $1 and source_id = $2 order by dispute_id`,
    [kind, id],
  );
  if (disputes.length === 0 || amountMinor <= 0n) return;
  const broughtMicro =
    kind === 'INVOICE' ? ((await findInvoice(transaction, id))?.usageMicro ?? 0n) : grantedMicro;
  const charges = await sumOfCharges(transaction, { kind, id });
  let minor = charges.minor < amountMinor ? charges.minor : amountMinor;
  let micro = kind === 'INVOICE' ? shareOf(broughtMicro, minor, amountMinor) : charges.micro;
  for (const dispute of disputes) {
    const sum = minor + dispute.disputedMinor;
    const nextMinor = sum < amountMinor ? sum : amountMinor;
    const share = shareOf(broughtMicro, nextMinor, amountMinor);
    const nextMicro = share > micro ? share : micro;
    await transaction.query(
      `update charge_refunds set refunded_minor = $2, refunded_micro = $3, amount_minor = $4, granted_micro = $5,
         taken_micro = coalesce(taken_micro, refunded_micro), updated_at = $6
       where charge_id = $1 and (refunded_minor, refunded_micro) <> ($2, $3)`,
      [dispute.id, nextMinor - minor, nextMicro - micro, amountMinor, broughtMicro, now],
    );
    minor = nextMinor;
    micro = nextMicro;
  }
}

/** The credits of a payment that its other charges have not taken. */
async function leftByOthers(
  { transaction }: EffectContext,
  chargeId: string,
  { kind, id, grantedMicro }: Refunded,
): Promise<bigint> {
  const { micro } = await sumOfCharges(transaction, { kind, id }, chargeId);
  return grantedMicro > micro ? grantedMicro - micro : 0n;
}

/** The sum over all charges of a payment except one, without disputes and credit notes. */
async function sumOfCharges(
  transaction: EffectContext['transaction'],
  { kind, id }: Pick<Refunded, 'kind' | 'id'>,
  butOne = '',
): Promise<{ readonly minor: bigint; readonly micro: bigint }> {
  const [sum] = await transaction.query<{ minor: bigint; micro: bigint }>(
    `select coalesce(sum(refunded_minor), 0)::bigint as minor, coalesce(sum(refunded_micro), 0)::bigint as micro
     from charge_refunds as refund
     where source_kind = $1 and source_id = $2 and charge_id <> $3 and not starts_with(charge_id, 'cn_')
       and not exists (select 1 from payment_disputes where dispute_id = refund.charge_id)`,
    [kind, id, butOne],
  );
  return sum ?? { minor: 0n, micro: 0n };
}

/**
 * The largest sum that an event has reported since the refunds were counted, because a count may be applied late. Such
 * an event must also have been received after the count, in case the provider's clock differs.
 */
async function reportedAfter(
  { transaction }: EffectContext,
  chargeId: string,
  { eventId, countedAt }: Count,
): Promise<bigint> {
  const [reported] = await transaction.query<{ minor: bigint }>(
    `select coalesce(max((payload -> 'data' -> 'object' ->> 'amount_refunded')::bigint), 0)::bigint as minor
     from provider_events where type = 'charge.refunded' and object_id = $1 and status = 'PROCESSED' and happened_at > $2
       and (received_at, id) > (select count.received_at, count.id from provider_events as count where count.id = $3)`,
    [chargeId, countedAt, eventId],
  );
  return reported?.minor ?? 0n;
}

/** Takes credits, or returns them if the amount is negative. Credits that have expired are not taken a second time. */
async function takeCredits(
  context: EffectContext,
  chargeId: string,
  refunded: Refunded,
  dueMicro: bigint,
  reason: string,
): Promise<{ readonly postedMicro: bigint; readonly expiredMicro: bigint }> {
  const expiredMicro = await expiredOf(context, refunded, dueMicro);
  const postedMicro = dueMicro - expiredMicro;
  const [row] = await context.transaction.query<{ refundedMinor: bigint; lowered: number }>(
    `update charge_refunds set taken_micro = taken_micro + $2, expired_micro = expired_micro + $3 where charge_id = $1
     returning refunded_minor as "refundedMinor", lowered`,
    [chargeId, postedMicro, expiredMicro],
  );
  if (postedMicro !== 0n) {
    await post(context, {
      accountId: refunded.companyId,
      type: 'REFUND',
      amountMicro: -postedMicro,
      contra: contraOf(refunded.kind),
      sourceKind: 'charge-refund',
      sourceId: `${chargeId}:${row?.refundedMinor}${suffixOf(row?.lowered ?? 0)}`,
      reason,
      takesBack: { grant: grantOf(refunded) },
    });
  }
  return { postedMicro, expiredMicro };
}

/** The posting that granted a payment's credits; an invoice for usage granted none. */
function grantOf({ kind, id }: Pick<Refunded, 'kind' | 'id'>): GrantSource | null {
  if (kind === 'INVOICE') return null;
  return kind === 'PURCHASE' ? purchaseGrantOf(id) : planGrantOf(id);
}

/** The part of the credits to take that has already expired. It is subtracted once for all refunds of a payment. */
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

/** The same sum may be reached again after a refund has failed: that is another posting. */
function suffixOf(lowered: number): string {
  return lowered === 0 ? '' : `:${lowered}`;
}

type Contra = 'sales' | 'grants' | 'receivables';

function contraOf(kind: Refunded['kind']): Contra {
  return kind === 'PURCHASE' ? 'sales' : kind === 'INVOICE' ? 'receivables' : 'grants';
}

/** Returned credits that expire last as long as they did when they were granted. */
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
