import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { PaymentProvider, PriceChangeParams, WireObject } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { findPlan, type Plan } from '../catalog/plan.ts';
import { listPlanRates } from '../catalog/plan-rates.ts';
import {
  findByProviderId,
  liveSubscriptions,
  PAST_DUE_GRACE_MS,
  type Subscription,
  versionOf,
} from '../subscriptions/subscription.ts';
import { EVENT_RANK, upsertSubscription } from '../subscriptions/subscription-updates.ts';
import { readSubscription } from './effects/subscription-changed.ts';
import { countedInvoices } from './plan-grants.ts';
import {
  countedMoney,
  grantedMicro,
  type InvoiceLine,
  type LineMovement,
  moveInvoice,
  moveLine,
  readInvoiceLines,
} from './plan-lines.ts';
import {
  currencyIn,
  fieldsIn,
  idIn,
  listedIn,
  listIn,
  lockCompany,
  minorIn,
  momentIn,
  planOf,
  priceOf,
} from './provider-objects.ts';
import { notForSale } from './subscription-checkout.ts';

/**
 * Moves a company's subscription to another plan. The rest of the period is settled at once: unused time is credited,
 * the rest of the period at the new price is charged, and the credits follow the paid invoice like any other (P-22). A
 * payment that fails changes nothing.
 */
interface ChangePlanParts {
  readonly database: Database;
  readonly provider: Pick<
    PaymentProvider,
    'retrieveSubscription' | 'previewPriceChange' | 'changeSubscriptionPrice'
  >;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
}

interface PlanChangeParams {
  readonly companyId: string;
  readonly planId: string;
}

type RefusedChange =
  | { readonly outcome: 'no-such-plan' }
  /** Not possible in the current state; the message says what to do. */
  | { readonly outcome: 'not-possible'; readonly message: string }
  | { readonly outcome: 'provider-failed'; readonly message: string };

type PreviewedChange =
  | {
      readonly outcome: 'previewed';
      /** Charged at once, after the customer's credit is applied. */
      readonly amountDueMinor: bigint;
      readonly currency: string;
      /** The credits that its payment grants. */
      readonly creditsMicro: bigint;
    }
  | RefusedChange;

export async function previewSubscriptionChange(
  parts: ChangePlanParts,
  params: PlanChangeParams,
): Promise<PreviewedChange> {
  const found = await findChange(parts, params);
  if (found.outcome !== 'found') return found;
  const { change, subscription } = found;
  const answer = await parts.provider.previewPriceChange(change);
  if (answer.outcome === 'failed') return { outcome: 'provider-failed', message: answer.failure.message };
  const invoice = answer.value;
  if (fieldsIn(invoice.lines).has_more === true) {
    const message =
      'Too many changes of this period are not invoiced yet. Change the plan in the billing portal.';
    return { outcome: 'not-possible', message };
  }
  const currency = currencyIn(invoice.currency) ?? found.plan.currency;
  const periodEnd = momentIn(subscription.current_period_end);
  const all = listIn(invoice.lines);
  const lines = chargedNow(all, periodEnd);
  const amountDue = lines.length === all.length ? minorIn(invoice.amount_due) : null;
  const amount = amountDue ?? sumOf(lines) + (minorIn(invoice.starting_balance) ?? 0n);
  return {
    outcome: 'previewed',
    amountDueMinor: amount > 0n ? amount : 0n,
    currency,
    creditsMicro: await creditsOf(parts, params.companyId, readInvoiceLines(lines), currency),
  };
}

type ChangedSubscription =
  | { readonly outcome: 'changed'; readonly subscription: Subscription }
  | RefusedChange;

export async function changeSubscriptionPlan(
  parts: ChangePlanParts,
  params: PlanChangeParams,
): Promise<ChangedSubscription> {
  const { provider, secrets } = parts;
  const found = await findChange(parts, params);
  if (found.outcome !== 'found') return found;
  // A new key for each attempt: the provider would repeat the decline of an attempt with the same key. Changing to the
  // same price twice is no second change.
  const key = `subscription:${found.change.subscriptionId}:change:${secrets.newId()}`;
  const answer = await provider.changeSubscriptionPrice(found.change, key);
  if (answer.outcome === 'failed') return { outcome: 'provider-failed', message: answer.failure.message };
  const { subscriptionId } = found.change;
  let [state, seen] = [answer.value, found.version];
  for (let count = 1; ; count += 1) {
    const stored = await storeAnswer(parts, params.companyId, {
      subscriptionId,
      state,
      seen,
      plan: found.plan,
    });
    // Never an answer that may be older than what is stored: the provider's events bring the rest.
    if (stored.outcome === 'stored' || count === MOST_TRIES) {
      return { outcome: 'changed', subscription: stored.subscription };
    }
    const again = await provider.retrieveSubscription(subscriptionId);
    if (again.outcome === 'failed') return { outcome: 'changed', subscription: stored.subscription };
    [state, seen] = [again.value, stored.version];
  }
}

const MOST_TRIES = 3;

interface AnsweredChange {
  readonly subscriptionId: string;
  /** As the provider answered. */
  readonly state: WireObject;
  /** The version of our row before the provider was asked. */
  readonly seen: string | null;
  readonly plan: Plan;
}

interface StoredAnswer {
  readonly outcome: 'stored' | 'changed-meanwhile';
  readonly subscription: Subscription;
  /** That of our row before this. */
  readonly version: string | null;
}

/**
 * Stores the provider's answer unless our row has changed since the provider was asked: an event, or the answer to another
 * administrator, may be newer.
 */
async function storeAnswer(
  { database, secrets, clock }: ChangePlanParts,
  companyId: string,
  { subscriptionId, state: wire, seen, plan }: AnsweredChange,
): Promise<StoredAnswer> {
  return await database.transaction(async (transaction) => {
    await lockCompany(transaction, companyId);
    const present = await findByProviderId(transaction, subscriptionId);
    const version = present === null ? null : await versionOf(transaction, present.id);
    if (present !== null && version !== seen) {
      return { outcome: 'changed-meanwhile', subscription: present, version };
    }
    const state = readSubscription(wire, (await planOf(transaction, wire)) ?? plan.id);
    if (state === null) throw new Error(`subscription ${subscriptionId} has no status that we know`);
    const stored = await upsertSubscription(transaction, {
      newId: secrets.newId(),
      providerSubscriptionId: subscriptionId,
      companyId,
      state,
      // The response has no provider time, so any later event takes precedence.
      by: { eventAt: new Date(0), rank: EVENT_RANK.changed, eventId: null },
      isCurrent: true,
      now: new Date(clock.now()),
      graceMs: PAST_DUE_GRACE_MS,
    });
    if (!('subscription' in stored))
      throw new Error(`a changed subscription was not kept: ${stored.outcome}`);
    return { outcome: 'stored', subscription: stored.subscription, version };
  });
}

type FoundChange =
  | {
      readonly outcome: 'found';
      readonly plan: Plan;
      readonly change: PriceChangeParams;
      /** As the provider has it now. */
      readonly subscription: WireObject;
      /** That of our row before the provider was asked. */
      readonly version: string | null;
    }
  | RefusedChange;

async function findChange(
  { database, provider }: ChangePlanParts,
  { companyId, planId }: PlanChangeParams,
): Promise<FoundChange> {
  const plan = await findPlan(database, planId);
  if (plan === null) return { outcome: 'no-such-plan' };
  const problem = notForSale(plan);
  if (problem !== null || plan.providerPriceId === null)
    return notPossible(problem ?? 'It has no price yet.');
  const live = await liveSubscriptions(database, companyId);
  const [subscription] = live;
  if (subscription === undefined || subscription.providerSubscriptionId === null) {
    return notPossible('The company has no subscription to change. Subscribe to the plan instead.');
  }
  if (live.length > 1) {
    return notPossible(
      'The company has more than one subscription. Cancel all but one in the billing portal.',
    );
  }
  if (subscription.status !== 'ACTIVE' && subscription.status !== 'TRIALING') {
    return notPossible(
      'The last payment of the subscription is open. Pay it in the billing portal, then change the plan.',
    );
  }
  const version = await versionOf(database, subscription.id);
  const answer = await provider.retrieveSubscription(subscription.providerSubscriptionId);
  if (answer.outcome === 'failed') return { outcome: 'provider-failed', message: answer.failure.message };
  const [item] = listIn(answer.value.items);
  const itemId = idIn(item?.id);
  if (itemId === null) return notPossible('The subscription has no items. Change it in the billing portal.');
  if (priceOf(answer.value) === plan.providerPriceId) {
    return notPossible(`The company is on plan "${plan.name}" already.`);
  }
  const currency = currencyIn(answer.value.currency);
  if (currency !== null && currency !== plan.currency) {
    const [is, wants] = [currency, plan.currency].map((code) => code.toUpperCase());
    return notPossible(
      `The subscription is paid in ${is} and plan "${plan.name}" in ${wants}. Cancel the subscription, then subscribe to the plan.`,
    );
  }
  const change = {
    subscriptionId: subscription.providerSubscriptionId,
    itemId,
    priceId: plan.providerPriceId,
  };
  return { outcome: 'found', plan, change, subscription: answer.value, version };
}

type Fields = Readonly<Record<string, unknown>>;

/** Without the next period, which a preview may list beside what is charged at once. */
export function chargedNow(lines: readonly Fields[], periodEnd: Date | null): Fields[] {
  return lines.filter((line) => {
    const start = momentIn(fieldsIn(line.period).start);
    return line.proration === true || start === null || periodEnd === null || start < periodEnd;
  });
}

/** The sum of lines: net of discounts, plus exclusive taxes. */
function sumOf(lines: readonly Fields[]): bigint {
  const amounts = (list: readonly Fields[]) =>
    list.reduce((sum, { amount }) => sum + (minorIn(amount) ?? 0n), 0n);
  return lines.reduce((sum, line) => {
    const taxes = listedIn(line.tax_amounts).filter(({ inclusive }) => inclusive !== true);
    const discounts = line.proration === true ? [] : listedIn(line.discount_amounts);
    return sum + amounts([line]) + amounts(taxes) - amounts(discounts);
  }, 0n);
}

/** As `grantLines` will count them: over all invoices of the company, with this one last. */
async function creditsOf(
  { database }: ChangePlanParts,
  companyId: string,
  lines: readonly InvoiceLine[],
  currency: string,
): Promise<bigint> {
  const movements: LineMovement[] = [];
  for (const line of lines) {
    const rates = line.priceId === null ? [] : await listPlanRates(database, line.priceId);
    movements.push(moveLine(line, rates.find((rate) => rate.currency === currency) ?? null));
  }
  const sum = lines.reduce((total, { netMinor }) => total + netMinor, 0n);
  const money = { totalMinor: sum, linesMinor: sum, paidMinor: sum };
  const movedMicro = moveInvoice(movements, money);
  const before = await countedInvoices(database, companyId);
  const counted = { currency, movedMicro, ...countedMoney(movements, money) };
  return grantedMicro([...before, counted]) - grantedMicro(before);
}

function notPossible(message: string): RefusedChange {
  return { outcome: 'not-possible', message };
}
