import type { WireObject } from '../../../ports/payment-provider.ts';
import { findPlan } from '../../catalog/plan.ts';
import { listPlanRates, type PlanRate } from '../../catalog/plan-rates.ts';
import type { Invoice } from '../../credits/invoices/invoice.ts';
import { MOST_MICRO } from '../../credits/ledger/credit-account.ts';
import { findByProviderId } from '../../subscriptions/subscription.ts';
import { postInvoiceCash } from '../cash/cash.ts';
import {
  amountOf,
  type Effect,
  type EffectContext,
  type EffectOutcome,
  type StoredPaymentEvent,
  waitKeys,
} from '../effect.ts';
import {
  currencyOf,
  expiryAfter,
  findPlanGrant,
  grantLines,
  type PaidLines,
  spendBalance,
} from '../plan-grants.ts';
import {
  type InvoiceLine,
  type InvoiceMoney,
  type LineMovement,
  moveInvoice,
  moveLine,
  readInvoiceLines,
  readInvoiceMoney,
} from '../plan-lines.ts';
import { currencyIn, fieldsIn, idIn, isUnreadable, minorIn, ourIdIn, wholeIn } from '../provider-objects.ts';
import { findEventInvoice, mirrorInvoice, refundReason } from './invoice-changed.ts';
import { takeEarlierReturns } from './returned-money.ts';

/**
 * `invoice.paid`, also for payments outside the provider: our own usage invoice is settled and its company unblocked;
 * every line of a plan's price grants the plan's credits in proportion to its amount (P-22, `plan-lines.ts`). Other
 * lines grant nothing and are listed for the operator; a pack's credits are granted by its checkout.
 */
export const invoicePaid: Effect = async (event, context) => {
  const found = await findEventInvoice(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const { companyId, providerInvoiceId, subscriptionId } = found;
  const moved = await decideMovements(event, context, { companyId, providerInvoiceId, subscriptionId });
  if (moved.outcome === 'not-yet') return moved.because;
  const toRefund = refundReason(event, found);
  if (toRefund !== null) return { outcome: 'failed', reason: toRefund, companyId };
  const mirrored = await mirrorInvoice(event, context, found, { status: 'PAID', otherwise: 'PAID' });
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { invoice } = mirrored;
  await postInvoiceCash(context.transaction, invoice, event.object, event.happenedAt);
  const paid = moved.outcome === 'lines' ? moved.paid : null;
  const postedMicro = paid === null ? 0n : await grantLines(event, context, paid);
  const grant = await findPlanGrant(context.transaction, { invoiceId: providerInvoiceId });
  if (grant !== null) await takeEarlierReturns(context, invoice.id, { kind: 'PLAN_GRANT', ...grant });
  else if (invoice.kind !== 'PACK') await spendBalance(event, context, { companyId, providerInvoiceId });
  await sendReceipt(event, context, invoice, { paid, postedMicro });
  return {
    outcome: 'applied',
    did: `invoice ${providerInvoiceId} is paid: ${effectOf(paid, postedMicro)}`.slice(0, 500),
    companyId,
    arrived: waitKeys({ invoice: providerInvoiceId, payment: idIn(event.object.payment_intent) }),
  };
};

/** For the operator: what was posted, what is carried over, and the lines that belong to no plan. */
function effectOf(paid: PaidLines | null, postedMicro: bigint): string {
  if (paid === null) return 'it has no line of a plan';
  const carried = paid.movedMicro === postedMicro ? '' : `, its lines come to ${paid.movedMicro}`;
  const others = paid.movements
    .filter(({ kind }) => kind === 'OTHER')
    .map(({ line }) => `"${line.description?.slice(0, 80) ?? line.id}" ${line.netMinor} ${paid.currency}`);
  const listed = others.length === 0 ? '' : `; lines of no plan: ${others.join(', ')}`;
  return `${postedMicro} micro-credits${carried}${listed}`;
}

async function sendReceipt(
  event: StoredPaymentEvent,
  context: EffectContext,
  invoice: Invoice,
  { paid, postedMicro }: { readonly paid: PaidLines | null; readonly postedMicro: bigint },
): Promise<void> {
  const amount = minorIn(event.object.amount_paid) ?? invoice.amountMinor;
  if (amount <= 0n || invoice.kind === 'PACK') return;
  const latest = paid?.movements.findLast(({ line, rate }) => rate !== null && line.netMinor > 0n);
  const plan = latest?.rate == null ? null : await findPlan(context.transaction, latest.rate.planId);
  const expires = plan === null ? null : expiryAfter(plan.creditsExpireAfterDays, event, context, plan.name);
  const item = plan !== null ? `Plan ${plan.name}` : invoice.kind === 'POSTPAID' ? 'Usage' : 'Invoice';
  await context.mailAdmins({
    kind: 'receipt',
    companyId: invoice.companyId,
    fact: `receipt:invoice:${invoice.id}`,
    data: {
      item,
      amount: amountOf(amount, invoice.currency),
      paidAt: invoice.paidAt ?? event.happenedAt,
      ...(postedMicro <= 0n ? {} : { creditsMicro: postedMicro }),
      ...(postedMicro <= 0n || expires === null ? {} : { creditsExpireAt: expires.at }),
      ...(invoice.number === null ? {} : { invoiceNumber: invoice.number }),
      ...(invoice.hostedUrl === null ? {} : { invoiceUrl: invoice.hostedUrl }),
    },
  });
}

type Moved =
  | { readonly outcome: 'lines'; readonly paid: PaidLines }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

type Names = Pick<PaidLines, 'companyId' | 'providerInvoiceId' | 'subscriptionId'>;

async function decideMovements(
  event: StoredPaymentEvent,
  context: EffectContext,
  names: Names,
): Promise<Moved> {
  const { subscriptionId, providerInvoiceId, companyId } = names;
  const shown = shownLines(event, context, providerInvoiceId);
  if (shown.outcome === 'not-yet') return shown;
  const field = unreadableMoney(event.object, shown.lines);
  if (field !== null) {
    const reason = `${field} of invoice ${providerInvoiceId} cannot be read as money: compare it with the payment provider, and grant its credits with "turnpike adjust-credits"`;
    return notYet({ outcome: 'failed', reason, companyId });
  }
  const money = readInvoiceMoney(event.object);
  const read = readInvoiceLines(shown.lines);
  const lines = read.length === 0 && subscriptionId !== null ? [wholeInvoice(money)] : read;
  const rated = await rateLines(event, context, lines, subscriptionId);
  if (rated.outcome === 'not-yet') return rated;
  const { movements } = rated;
  if (subscriptionId === null && movements.every(({ rate }) => rate === null)) return { outcome: 'none' };
  const movedMicro = moveInvoice(movements, money);
  if (movedMicro > MOST_MICRO || movedMicro < -MOST_MICRO) {
    const reason = `the lines of invoice ${providerInvoiceId} come to ${movedMicro} micro-credits, more than an account holds`;
    return notYet({ outcome: 'failed', reason, companyId });
  }
  return { outcome: 'lines', paid: { ...names, currency: currencyOf(event), money, movements, movedMicro } };
}

/**
 * The first field that decides about credits and is not what the provider sends, such as an amount with a fraction; null
 * if there is none. Read as zero, or as US dollars, it would grant nothing or too much without anyone noticing.
 */
function unreadableMoney(
  invoice: WireObject,
  lines: readonly Readonly<Record<string, unknown>>[],
): string | null {
  if (currencyIn(invoice.currency) === null) return 'currency';
  if ((minorIn(invoice.amount_paid) ?? -1n) < 0n) return 'amount_paid';
  const others = ['total', 'pre_payment_credit_notes_amount', 'starting_balance', 'ending_balance'];
  const unreadable = others.find((name) => isUnreadable(invoice[name]));
  if (unreadable !== undefined) return unreadable;
  return lines.some(({ amount }) => minorIn(amount) === null) ? 'amount of a line' : null;
}

/** An event contains the first ten lines. If there are more, all lines are requested from the provider. */
function shownLines(
  event: StoredPaymentEvent,
  context: EffectContext,
  invoiceId: string,
):
  | { readonly outcome: 'shown'; readonly lines: readonly Readonly<Record<string, unknown>>[] }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome } {
  const list = fieldsIn(event.object.lines);
  const lines = Array.isArray(list.data) ? list.data.map(fieldsIn) : [];
  const isWhole = list.has_more !== true && (wholeIn(list.total_count) ?? 0) <= lines.length;
  if (isWhole) return { outcome: 'shown', lines };
  const requested = context.invoiceLines.get(invoiceId);
  if (requested === undefined) return notYet({ outcome: 'ask-lines', invoiceId });
  if (requested !== null) return { outcome: 'shown', lines: requested };
  const reason = `the payment provider did not list all lines of invoice ${invoiceId}`;
  return notYet({ outcome: 'deferred', reason, waitsFor: waitKeys({ invoice: invoiceId }) });
}

/** For a subscription's invoice without any lines: one line with the whole amount. */
function wholeInvoice({ linesMinor }: InvoiceMoney): InvoiceLine {
  return {
    ...{ id: 'invoice', priceId: null, planId: null, description: null, periodStart: null, periodEnd: null },
    ...{ amountMinor: linesMinor, netMinor: linesMinor, quantity: null },
    ...{ isProration: false, isItem: false, isLicensed: true },
  };
}

async function rateLines(
  event: StoredPaymentEvent,
  context: EffectContext,
  lines: readonly InvoiceLine[],
  subscriptionId: string | null,
): Promise<
  | { readonly outcome: 'rated'; readonly movements: readonly LineMovement[] }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome }
> {
  const currency = currencyOf(event);
  const known = new Map<string | null, readonly PlanRate[]>();
  const movements: LineMovement[] = [];
  for (const line of lines) {
    const rates = known.get(line.priceId) ?? (await ratesFor(event, context, line, subscriptionId));
    if (line.priceId !== null || !line.isItem) known.set(line.priceId, rates);
    const rate = rates.find((one) => one.currency === currency) ?? null;
    if (rate === null && rates.length > 0) return unknownCurrency(event, context, line, currency);
    if (rate === null && (await isPlanToCome(context, line))) return planToCome(event, line, subscriptionId);
    movements.push(moveLine(line, rate));
  }
  const isNoPlans = movements.every(({ rate }) => rate === null);
  const unknown = isNoPlans && subscriptionId !== null ? lines.find((line) => line.isLicensed) : undefined;
  if (unknown !== undefined) return planToCome(event, unknown, subscriptionId);
  return { outcome: 'rated', movements };
}

/**
 * By the line's price. A subscription line without a price belongs to the plan in its metadata, or to the
 * subscription's plan.
 */
async function ratesFor(
  event: StoredPaymentEvent,
  { transaction }: EffectContext,
  line: InvoiceLine,
  subscriptionId: string | null,
): Promise<readonly PlanRate[]> {
  if (line.priceId !== null) return await listPlanRates(transaction, line.priceId);
  if (line.isItem || subscriptionId === null) return [];
  const subscription = await findByProviderId(transaction, subscriptionId);
  const planId = ourIdIn(event.object, 'planId') ?? subscription?.planId ?? null;
  const plan = planId === null ? null : await findPlan(transaction, planId);
  return plan?.providerPriceId == null ? [] : await listPlanRates(transaction, plan.providerPriceId);
}

/** A price with the id of one of our plans is ours, even before it is stored here. */
async function isPlanToCome({ transaction }: EffectContext, line: InvoiceLine): Promise<boolean> {
  return line.planId !== null && (await findPlan(transaction, line.planId)) !== null;
}

function planToCome(event: StoredPaymentEvent, { priceId }: InvoiceLine, subscriptionId: string | null) {
  const reason = `invoice ${event.object.id} is for price ${priceId} of subscription ${subscriptionId}, and no plan of ours is`;
  const waitsFor = waitKeys({ price: priceId, subscription: subscriptionId });
  return notYet({ outcome: 'deferred', reason, waitsFor });
}

function unknownCurrency(
  event: StoredPaymentEvent,
  { log }: EffectContext,
  line: InvoiceLine,
  currency: string,
) {
  const { priceId } = line;
  const reason = `invoice ${event.object.id} was paid in ${currency}, and price ${priceId} has no rate in ${currency}`;
  log.error('a plan was paid in a currency without a rate: add it with turnpike set-plan-rate', {
    invoiceId: idIn(event.object.id),
    priceId,
    currency,
  });
  return notYet({ outcome: 'deferred', reason, waitsFor: waitKeys({ price: priceId }) });
}

function notYet(because: EffectOutcome): { readonly outcome: 'not-yet'; readonly because: EffectOutcome } {
  return { outcome: 'not-yet', because };
}
