import type { Statements, Transaction } from '../../ports/database.ts';
import { fromMinorUnits } from '../catalog/currency.ts';
import { findPlan } from '../catalog/plan.ts';
import type { Expiry, GrantSource } from '../credits/ledger/credit-lots.ts';
import { findByProviderId, isEnded, type Subscription } from '../subscriptions/subscription.ts';
import { takenFromBalance } from './cash/cash.ts';
import { type EffectContext, post, type StoredPaymentEvent } from './effect.ts';
import {
  type CountedInvoice,
  countedMoney,
  grantedMicro,
  type InvoiceMoney,
  type LineMovement,
} from './plan-lines.ts';
import { currencyIn, idIn, textIn } from './provider-objects.ts';

/**
 * How lines become credits. A company's invoices, in the order of payment, make a running sum; the company has been
 * granted the maximum of that sum (`grantedMicro` of `plan-lines.ts`). So an invoice with a negative sum takes no
 * credits: it is carried over, through a cancellation and a new subscription, until later invoices have made up for it.
 * A refund lowers its own invoice. Because the sum is taken over all invoices every time, the order in which events
 * arrive does not matter, and a late one corrects what was granted without it.
 */

/** The source kind of a paid invoice's posting; its id is the provider's invoice. */
const PLAN_GRANT_SOURCE = 'plan-invoice';
/** The source kind of postings for trials and free plans; the id is the invoice and the line. */
const PLAN_LINE_SOURCE = 'plan-line';

export interface PaidLines {
  readonly companyId: string;
  readonly providerInvoiceId: string;
  readonly subscriptionId: string | null;
  readonly currency: string;
  readonly money: InvoiceMoney;
  readonly movements: readonly LineMovement[];
  /** The sum of the lines. */
  readonly movedMicro: bigint;
}

/** What the company's invoices have granted so far, after refunds. */
export async function grantedByInvoices(transaction: Transaction, companyId: string): Promise<bigint> {
  return grantedMicro(await countedInvoices(transaction, companyId));
}

/** In the order of payment. A company has few per month: all are read. */
export async function countedInvoices(
  statements: Statements,
  companyId: string,
): Promise<readonly CountedInvoice[]> {
  const rows = await statements.query<StoredInvoice>(
    `select invoice.currency, 0::bigint as "spentMinor", coalesce(invoice.moved_micro, invoice.credits_micro) as "movedMicro",
       coalesce(invoice.lines_minor, invoice.amount_minor) as "linesMinor", invoice.amount_minor as "paidMinor",
       coalesce(invoice.credited_minor, 0) as "creditedMinor",
       coalesce(invoice.best_price_minor, greatest(1, invoice.amount_minor)) as "priceMinor",
       coalesce(invoice.best_credits_micro, invoice.credits_micro) as "creditsMicro",
       coalesce(refund.micro, 0)::bigint as "refundedMicro", coalesce(refund.minor, 0)::bigint as "refundedMinor",
       ${RETURNED_MINOR}, ${ORDER_OF_INVOICE}
     from plan_grants as invoice
     left join (select source_id, sum(refunded_micro) as micro, sum(refunded_minor) as minor from charge_refunds
       where source_kind = 'PLAN_GRANT' and company_id = $1 group by source_id) as refund
       on refund.source_id = invoice.provider_invoice_id
     where invoice.company_id = $1
     union all
     select currency, amount_minor, 0, 0, 0, 0, 1, 0, 0, 0, null, happened_at, ${Number.MAX_SAFE_INTEGER}, 0
     from balance_uses where company_id = $1
     order by "happenedAt", "numberInOrder", sequence`,
    [companyId],
  );
  return rows.map(afterRefunds);
}

/** What an invoice below zero added to the customer's balance. */
export const RETURNED_MINOR = `case when invoice.lines_minor < 0 then (select -amount_minor from cash_entries
    where source_kind = 'invoice' and account = 'balance' and step = '' and amount_minor < 0 and source_id = (
      select id::text from invoices where provider_invoice_id = invoice.provider_invoice_id)) end as "returnedMinor"`;

/** In the order of payment. What was paid from the balance comes last within a second: the balance may be of that second. */
export const ORDER_OF_INVOICE = `coalesce(invoice.happened_at, invoice.created_at) as "happenedAt",
  coalesce(invoice.number_in_order, 0) as "numberInOrder", invoice.sequence`;

export interface StoredInvoice {
  /** Zero for an invoice of a plan. */
  readonly spentMinor: bigint;
  readonly currency: string;
  readonly movedMicro: bigint;
  readonly linesMinor: bigint;
  readonly creditedMinor: bigint;
  readonly paidMinor: bigint;
  readonly priceMinor: bigint;
  readonly creditsMicro: bigint;
  readonly refundedMicro: bigint;
  readonly refundedMinor: bigint;
  /** With taxes; null if it added nothing to the customer's balance. */
  readonly returnedMinor: bigint | null;
}

export function afterRefunds(invoice: StoredInvoice): CountedInvoice {
  const { currency, movedMicro, linesMinor, paidMinor, refundedMicro, refundedMinor, spentMinor } = invoice;
  const { priceMinor, creditsMicro } = invoice;
  const isLeft = linesMinor > 0n && paidMinor > 0n;
  const leftMinor = isLeft ? linesMinor - (linesMinor * refundedMinor) / paidMinor : linesMinor;
  return {
    currency,
    movedMicro: movedMicro - refundedMicro,
    linesMinor: isLeft && leftMinor < 0n ? 0n : leftMinor,
    creditedMinor: invoice.creditedMinor,
    best: { priceMinor, creditsMicro },
    spentMinor,
    returnedMinor: invoice.returnedMinor ?? -linesMinor,
  };
}

/** An invoice that is for no plan was paid: what it took from the customer's balance has left the plan that returned it. */
export async function spendBalance(
  event: StoredPaymentEvent,
  context: EffectContext,
  { companyId, providerInvoiceId }: Pick<PaidLines, 'companyId' | 'providerInvoiceId'>,
): Promise<void> {
  const { transaction, now } = context;
  const amountMinor = takenFromBalance(event.object);
  if (amountMinor <= 0n) return;
  const beforeMicro = await grantedByInvoices(transaction, companyId);
  const added = await transaction.query(
    `insert into balance_uses (provider_invoice_id, company_id, currency, amount_minor, happened_at, created_at)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning 1`,
    [providerInvoiceId, companyId, currencyOf(event), amountMinor, event.happenedAt, now],
  );
  const deltaMicro = (await grantedByInvoices(transaction, companyId)) - beforeMicro;
  if (added.length === 0 || deltaMicro === 0n) return;
  await transaction.query('update balance_uses set credits_micro = $2 where provider_invoice_id = $1', [
    providerInvoiceId,
    deltaMicro,
  ]);
  await post(context, {
    accountId: companyId,
    type: 'REFUND',
    amountMicro: deltaMicro,
    contra: 'grants',
    sourceKind: PLAN_GRANT_SOURCE,
    sourceId: providerInvoiceId,
    reason: `invoice ${providerInvoiceId} was paid with ${amountMinor} ${currencyOf(event)} that a plan had returned`,
    takesBack: { grant: null },
  });
}

/** True if the lines of this invoice were counted before, by an event with another id or by an earlier version. */
async function isCounted(transaction: Transaction, providerInvoiceId: string): Promise<boolean> {
  const rows = await transaction.query(
    `select 1 from plan_grants where provider_invoice_id = $1
     union all select 1 from plan_grant_lines where provider_invoice_id = $1 limit 1`,
    [providerInvoiceId],
  );
  return rows.length > 0;
}

interface PlanGrant {
  /** The provider's invoice. */
  readonly id: string;
  readonly companyId: string;
  readonly grantedMicro: bigint;
  readonly amountMinor: bigint;
  readonly currency: string;
}

/** What a paid invoice moved, by any name of its payment; null if it has no line of a plan. */
export async function findPlanGrant(
  statements: Statements,
  names: {
    readonly invoiceId: string | null;
    readonly chargeId?: string | null;
    readonly paymentId?: string | null;
  },
): Promise<PlanGrant | null> {
  const [grant] = await statements.query<PlanGrant>(
    `select provider_invoice_id as id, company_id as "companyId",
       greatest(0, coalesce(moved_micro, credits_micro)) as "grantedMicro", amount_minor as "amountMinor", currency
     from plan_grants
     where provider_invoice_id = $1 or provider_charge_id = $2 or provider_payment_intent_id = $3 limit 1`,
    [names.invoiceId, names.chargeId ?? null, names.paymentId ?? null],
  );
  return grant ?? null;
}

/** Writes the lines and posts their credits, under the company's lock. Returns what was posted in total. */
export async function grantLines(
  event: StoredPaymentEvent,
  context: EffectContext,
  paid: PaidLines,
): Promise<bigint> {
  const { transaction } = context;
  if (await isCounted(transaction, paid.providerInvoiceId)) return 0n;
  let postedMicro = 0n;
  for (const movement of paid.movements) postedMicro += await keepLine(event, context, paid, movement);
  const latest = paid.movements.findLast(({ kind }) => kind === 'PERIOD' || kind === 'PRORATION');
  if (latest?.rate == null) return postedMicro;
  const counted = countedMoney(paid.movements, paid.money);
  const beforeMicro = await grantedByInvoices(transaction, paid.companyId);
  await transaction.query(
    `insert into plan_grants (provider_invoice_id, company_id, plan_id, provider_subscription_id, kind, period_start,
       moved_micro, credits_micro, amount_minor, currency, provider_payment_intent_id, provider_charge_id, happened_at,
       created_at, lines_minor, best_price_minor, best_credits_micro, number_in_order, credited_minor)
     values ($1, $2, $3, $4, 'LINES', $5, $6, 0, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
    [
      paid.providerInvoiceId,
      paid.companyId,
      latest.rate.planId,
      paid.subscriptionId,
      latest.line.periodStart ?? event.happenedAt,
      paid.movedMicro,
      paid.money.paidMinor > 0n ? paid.money.paidMinor : 0n,
      paid.currency,
      idIn(event.object.payment_intent),
      idIn(event.object.charge),
      event.happenedAt,
      context.now,
      counted.linesMinor,
      counted.best.priceMinor,
      counted.best.creditsMicro,
      numberIn(event),
      counted.creditedMinor,
    ],
  );
  const deltaMicro = (await grantedByInvoices(transaction, paid.companyId)) - beforeMicro;
  if (deltaMicro === 0n) return postedMicro;
  await transaction.query('update plan_grants set credits_micro = $2 where provider_invoice_id = $1', [
    paid.providerInvoiceId,
    deltaMicro,
  ]);
  await post(context, {
    accountId: paid.companyId,
    type: 'SUBSCRIPTION_GRANT',
    amountMicro: deltaMicro,
    contra: 'grants',
    sourceKind: PLAN_GRANT_SOURCE,
    sourceId: paid.providerInvoiceId,
    reason: `invoice ${paid.providerInvoiceId}: its lines come to ${paid.movedMicro} micro-credits`,
    expires: await expiryOf(event, context, latest),
  });
  return postedMicro + deltaMicro;
}

/** Returns what the line itself granted: a trial's credits once per company, a free plan's once per period. */
async function keepLine(
  event: StoredPaymentEvent,
  context: EffectContext,
  paid: PaidLines,
  movement: LineMovement,
): Promise<bigint> {
  const { transaction, now } = context;
  const { line, rate, kind } = movement;
  const givenMicro = await givenByLine(transaction, paid.companyId, movement);
  await transaction.query(
    `insert into plan_grant_lines (provider_invoice_id, provider_line_id, company_id, kind, provider_price_id, plan_id,
       amount_minor, currency, moved_micro, description, period_start, period_end, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      ...[paid.providerInvoiceId, line.id, paid.companyId, kind, line.priceId, rate?.planId ?? null],
      ...[line.netMinor, paid.currency, movement.movedMicro + givenMicro, line.description],
      ...[line.periodStart, line.periodEnd, now],
    ],
  );
  if (givenMicro === 0n) return 0n;
  await post(context, {
    accountId: paid.companyId,
    type: 'SUBSCRIPTION_GRANT',
    amountMicro: givenMicro,
    contra: 'grants',
    sourceKind: PLAN_LINE_SOURCE,
    sourceId: `${paid.providerInvoiceId}:${line.id}`,
    reason: kind === 'TRIAL' ? 'trial' : 'period of a free plan',
    expires:
      kind === 'TRIAL'
        ? await trialExpiry(event, context, paid, movement)
        : await expiryOf(event, context, movement),
  });
  return givenMicro;
}

/** The posting of a paid invoice. */
export function planGrantOf(providerInvoiceId: string): GrantSource {
  return { sourceKind: PLAN_GRANT_SOURCE, sourceId: providerInvoiceId };
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * Credits last from their payment, or from now if that is later: a payment whose event arrives late grants credits for
 * as many days as any other. Null is never.
 */
export function expiryAfter(
  days: number | null,
  { happenedAt }: StoredPaymentEvent,
  { now }: EffectContext,
  label: string,
): Expiry | null {
  if (days === null) return null;
  const grantedAt = happenedAt > now ? happenedAt : now;
  return { at: new Date(grantedAt.getTime() + days * DAY_MS), grantedAt, subject: null, label };
}

/** By the plan at the time of the grant. */
async function expiryOf(
  event: StoredPaymentEvent,
  context: EffectContext,
  { rate }: LineMovement,
): Promise<Expiry | null> {
  const plan = rate === null ? null : await findPlan(context.transaction, rate.planId);
  return plan === null ? null : expiryAfter(plan.creditsExpireAfterDays, event, context, `Plan ${plan.name}`);
}

/** The subject of trial credits: they expire with the trial, whenever it ends (decisions/0045). */
export function trialSubject(providerSubscriptionId: string): string {
  return `trial:${providerSubscriptionId}`;
}

/** The known end of the trial: a subscription may have ended before its first invoice arrives. */
async function trialExpiry(
  event: StoredPaymentEvent,
  { transaction, now }: EffectContext,
  { subscriptionId }: PaidLines,
  { line, rate }: LineMovement,
): Promise<Expiry | null> {
  const subscription = subscriptionId === null ? null : await findByProviderId(transaction, subscriptionId);
  const plan = rate === null ? null : await findPlan(transaction, rate.planId);
  const planned =
    line.periodEnd ??
    subscription?.trialEnd ??
    new Date(event.happenedAt.getTime() + (plan?.trialDays ?? SHORTEST_TRIAL_DAYS) * DAY_MS);
  return {
    at: subscription === null ? planned : trialEndOf(subscription, planned),
    grantedAt: now,
    label: plan === null ? 'Trial' : `Trial of ${plan.name}`,
    subject: subscriptionId === null ? null : trialSubject(subscriptionId),
  };
}

const SHORTEST_TRIAL_DAYS = 1;

/** When a trial ends or has ended: with the subscription, if that ended before. */
export function trialEndOf(
  { status, trialEnd, endDate }: Pick<Subscription, 'status' | 'trialEnd' | 'endDate'>,
  planned: Date,
): Date {
  const end = trialEnd ?? planned;
  return isEnded(status) && endDate !== null && endDate < end ? endDate : end;
}

async function givenByLine(
  transaction: Transaction,
  companyId: string,
  { line, rate, kind }: LineMovement,
): Promise<bigint> {
  if (rate === null) return 0n;
  if (kind === 'TRIAL') {
    const before = await transaction.query(
      `select 1 from plan_grant_lines where company_id = $1 and kind = 'TRIAL' and moved_micro > 0 limit 1`,
      [companyId],
    );
    return before.length > 0 ? 0n : ((await findPlan(transaction, rate.planId))?.trialCreditsMicro ?? 0n);
  }
  if (kind !== 'FREE' || line.periodStart === null || line.periodEnd === null) return 0n;
  // By overlap: subscribing again within a period that has its credits starts no second one.
  const before = await transaction.query(
    `select 1 from plan_grant_lines
     where company_id = $1 and kind = 'FREE' and moved_micro > 0 and period_start < $3 and period_end > $2 limit 1`,
    [companyId, line.periodStart, line.periodEnd],
  );
  return before.length > 0 ? 0n : rate.creditsMicro;
}

interface OtherLine {
  readonly createdAt: Date;
  readonly companyId: string;
  readonly providerInvoiceId: string;
  readonly providerPriceId: string | null;
  /** In major units. */
  readonly amount: string;
  readonly currency: string;
  readonly description: string | null;
}

/** For the operator: fees, metered prices and lines added by hand, newest first. */
export async function listOtherLines(statements: Statements, limit: number): Promise<readonly OtherLine[]> {
  const rows = await statements.query<Omit<OtherLine, 'amount'> & { readonly amountMinor: bigint }>(
    `select created_at as "createdAt", company_id as "companyId", provider_invoice_id as "providerInvoiceId",
       provider_price_id as "providerPriceId", amount_minor as "amountMinor", currency, description
     from plan_grant_lines where kind = 'OTHER' order by created_at desc, provider_invoice_id, provider_line_id
     limit $1`,
    [limit],
  );
  return rows.map(({ amountMinor, ...line }) => {
    const sign = amountMinor < 0n ? '-' : '';
    const whole = amountMinor < 0n ? -amountMinor : amountMinor;
    return { ...line, amount: `${sign}${fromMinorUnits(whole, line.currency)}` };
  });
}

/**
 * Invoices are numbered when they are finalized, which is also when the customer's balance is applied. Within one
 * second the numbers decide: an invoice paid from the balance comes after the one that the balance is from.
 */
function numberIn(event: StoredPaymentEvent): bigint | null {
  const digits = /(\d{1,15})$/.exec(textIn(event.object.number, 100) ?? '')?.[1];
  return digits === undefined ? null : BigInt(digits);
}

/** The invoice's currency; `usd` only if it has none. */
export function currencyOf(event: StoredPaymentEvent): string {
  return currencyIn(event.object.currency) ?? 'usd';
}
