import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import {
  type PaymentProvider,
  PROVIDER_API_VERSION,
  type ProviderEvent,
  type WireObject,
} from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { type AccountLevel, publishLevel, readLevel } from '../credits/ledger/credit-account.ts';
import type { MailOutbox } from '../mail/outbox.ts';
import {
  createAdminMailer,
  createSuperAdminMailer,
  type Effect,
  type EffectOutcome,
  type WaitKey,
} from './effect.ts';
import { chargeRefunded } from './effects/charge-refunded.ts';
import { checkoutSessionCompleted } from './effects/checkout-completed.ts';
import { creditNoteIssued } from './effects/credit-note-issued.ts';
import { disputeChanged, refundFailed } from './effects/dispute-changed.ts';
import {
  invoiceClosed,
  invoiceFinalizationFailed,
  invoiceFinalized,
  invoicePaymentActionRequired,
  invoicePaymentFailed,
  invoiceUpcoming,
} from './effects/invoice-changed.ts';
import { invoicePaid } from './effects/invoice-paid.ts';
import { SUBSCRIPTION_EFFECTS, subscriptionTrialWillEnd } from './effects/subscription-changed.ts';
import { type LockedEvent, lockEvent, markEvent, type PaymentEventStatus } from './event-inbox.ts';
import { isOfOurVersion } from './event-versions.ts';

/** Every event type registered at the provider: exactly these fourteen (P-23). */
export const EFFECTS: ReadonlyMap<string, Effect> = new Map([
  ['checkout.session.completed', checkoutSessionCompleted],
  ['invoice.paid', invoicePaid],
  ['invoice.payment_failed', invoicePaymentFailed],
  ['invoice.finalized', invoiceFinalized],
  ['invoice.finalization_failed', invoiceFinalizationFailed],
  ['invoice.payment_action_required', invoicePaymentActionRequired],
  ['invoice.upcoming', invoiceUpcoming],
  ...SUBSCRIPTION_EFFECTS,
  ['customer.subscription.trial_will_end', subscriptionTrialWillEnd],
  ['charge.refunded', chargeRefunded],
]);

/**
 * Facts that reconciliation reads from the provider. Their events are not registered; if one arrives, it has the same
 * effect.
 */
const FOUND_EFFECTS: ReadonlyMap<string, Effect> = new Map([
  ['charge.dispute.created', disputeChanged],
  ['charge.dispute.updated', disputeChanged],
  ['charge.dispute.closed', disputeChanged],
  ['charge.dispute.funds_withdrawn', disputeChanged],
  ['charge.dispute.funds_reinstated', disputeChanged],
  ['charge.refund.updated', refundFailed],
  ['credit_note.created', creditNoteIssued],
  ['invoice.voided', invoiceClosed],
  ['invoice.marked_uncollectible', invoiceClosed],
]);

export function effectOf(type: string): Effect | undefined {
  return EFFECTS.get(type) ?? FOUND_EFFECTS.get(type);
}

export const HANDLED_EVENT_KINDS: readonly string[] = [...EFFECTS.keys()];

/** The kinds that reconciliation reads as events; the provider takes at most 20. It lists the others as objects. */
export const LISTED_EVENT_KINDS: readonly string[] = [
  ...HANDLED_EVENT_KINDS,
  'invoice.voided',
  'invoice.marked_uncollectible',
];

export interface ProcessParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly provider: Pick<PaymentProvider, 'retrieveSubscription' | 'listInvoiceLines'>;
  readonly mail: Pick<MailOutbox, 'send'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a subscription with a past due payment stays active. */
  readonly pastDueGraceMs: number;
  /** Whose events are applied. Omitted: all that are signed. */
  readonly eventOrigin?: EventOrigin | undefined;
}

export interface EventOrigin {
  /** The key at the provider moves real money: events of its test mode give no credits. */
  readonly isLive: boolean;
  /** Our account at the provider, for endpoints whose events name it; null if ours name none. */
  readonly account: string | null;
}

interface Unusable {
  readonly outcome: 'other-version' | 'other-origin';
  readonly message: string;
}

/** Why a signed event must not be applied; null if it may be. An event without a version is read as ours. */
export function problemWith(
  { apiVersion, payload }: Pick<ProviderEvent, 'apiVersion' | 'payload'>,
  origin: EventOrigin | undefined,
): Unusable | null {
  if (!isOfOurVersion(apiVersion)) {
    const message = `it is of API version ${apiVersion?.slice(0, 60)}, not ${PROVIDER_API_VERSION}: reconciliation reads its object in ours; recreate the webhook endpoint (turnpike recreate-webhook-endpoint)`;
    return { outcome: 'other-version', message };
  }
  if (origin === undefined) return null;
  const { livemode, account } = payload;
  if (origin.isLive && livemode === false) {
    return {
      outcome: 'other-origin',
      message: 'it is of test mode, and the key of the provider is for live mode',
    };
  }
  // An endpoint for connected accounts gets their events under its own signature: their money is not ours.
  if (typeof account === 'string' && account !== '' && account !== origin.account) {
    const message = `it is of account ${account.slice(0, 60)}: if that is yours, set PAYMENT_PROVIDER_ACCOUNT`;
    return { outcome: 'other-origin', message };
  }
  return null;
}

type ProcessedEvent =
  | { readonly outcome: 'processed'; readonly arrived: readonly WaitKey[] }
  | { readonly outcome: 'deferred' | 'failed' }
  /** It was processed before; nothing was changed. */
  | { readonly outcome: 'done-before'; readonly status: PaymentEventStatus }
  | { readonly outcome: 'no-such-event' };

interface Round {
  readonly processed: ProcessedEvent | null;
  /** What must be requested from the provider before the next round. */
  readonly ask: Question | null;
  readonly level: AccountLevel | null;
}

type Question = Extract<EffectOutcome, { outcome: 'ask' | 'ask-lines' }>;

/** What the provider has answered so far. */
interface Answers {
  readonly subscriptions: Map<string, { readonly state: WireObject | null; readonly seen: string | null }>;
  readonly invoiceLines: Map<string, readonly WireObject[] | null>;
}

/** Each round requests one object from the provider, a subscription again if ours has changed in the meantime. */
const MOST_ROUNDS = 5;
const AGAIN: readonly PaymentEventStatus[] = ['RECEIVED', 'DEFERRED'];

/**
 * Applies a stored event: its effect, the ledger and the status are one transaction, under the lock of the event's row.
 * The provider is called between transactions, never within one. An exception is a fault of ours: the transaction is
 * rolled back, the fault recorded, and the event retried.
 */
export async function processEvent(
  parts: ProcessParts,
  id: string,
  from: readonly PaymentEventStatus[] = AGAIN,
): Promise<ProcessedEvent> {
  const { database, sharedState, log } = parts;
  const answers: Answers = { subscriptions: new Map(), invoiceLines: new Map() };
  try {
    for (let count = 0; count < MOST_ROUNDS; count += 1) {
      const round = await database.transaction((transaction) =>
        runRound(parts, transaction, id, from, answers),
      );
      if (round.level !== null) await publishLevel(sharedState, round.level, log);
      if (round.processed !== null) return round.processed;
      if (round.ask?.outcome === 'ask') {
        const { subscriptionId, seen } = round.ask;
        answers.subscriptions.set(subscriptionId, { state: await askProvider(parts, subscriptionId), seen });
      }
      if (round.ask?.outcome === 'ask-lines') {
        const { invoiceId } = round.ask;
        answers.invoiceLines.set(invoiceId, await listAllLines(parts, invoiceId));
      }
    }
    throw new Error(`event ${id} wants to ask the provider again and again`);
  } catch (error) {
    await noteFault(parts, id, error);
    throw error;
  }
}

async function runRound(
  parts: ProcessParts,
  transaction: Transaction,
  id: string,
  from: readonly PaymentEventStatus[],
  answers: Answers,
): Promise<Round> {
  const event = await lockEvent(transaction, id);
  if (event === null) return ended({ outcome: 'no-such-event' });
  if (!from.includes(event.status)) return ended({ outcome: 'done-before', status: event.status });
  // Also one that waited since the key of the provider was of test mode, or that the command line queued again.
  const unusable = problemWith(event, parts.eventOrigin);
  if (unusable !== null) {
    return await mark(parts, transaction, event, { outcome: 'failed', reason: unusable.message });
  }
  const effect = effectOf(event.type);
  if (effect === undefined) throw new Error(`there is no effect for ${event.type}`);
  const { clock, log, secrets, mail, pastDueGraceMs } = parts;
  const outcome = await effect(event, {
    transaction,
    ...answers,
    mailAdmins: createAdminMailer(transaction, mail),
    mailSuperAdmins: createSuperAdminMailer(transaction, mail),
    now: new Date(clock.now()),
    newId: secrets.newId,
    log: log.with({ eventId: event.providerEventId, eventType: event.type }),
    pastDueGraceMs,
  });
  if (outcome.outcome === 'ask' || outcome.outcome === 'ask-lines') {
    return { processed: null, ask: outcome, level: null };
  }
  return await mark(parts, transaction, event, outcome);
}

async function mark(
  { clock, log }: ProcessParts,
  transaction: Transaction,
  event: LockedEvent,
  outcome: Exclude<EffectOutcome, Question>,
): Promise<Round> {
  const now = new Date(clock.now());
  const none = { effect: null, error: null, companyId: null, waitsFor: [], nextAttemptAt: null, now };
  const names = { eventId: event.providerEventId, eventType: event.type };
  switch (outcome.outcome) {
    case 'applied': {
      const { did: effect, companyId, arrived = [] } = outcome;
      await markEvent(transaction, event.id, { ...none, status: 'PROCESSED', effect, companyId });
      const level = companyId === null ? null : await readLevel(transaction, companyId);
      return { processed: { outcome: 'processed', arrived }, ask: null, level };
    }
    case 'deferred': {
      const nextAttemptAt = deferredUntil(event, now);
      const { reason, waitsFor } = outcome;
      if (nextAttemptAt === null) {
        const error = `given up after waiting for ${waitsFor.join(', ')}: ${reason}`;
        // If what it waited for arrives later, it is still applied.
        await markEvent(transaction, event.id, { ...none, status: 'FAILED', error, waitsFor });
        log.error('a payment event has waited in vain: look at it and replay it', { ...names, reason });
        return ended({ outcome: 'failed' });
      }
      await markEvent(transaction, event.id, {
        ...none,
        status: 'DEFERRED',
        error: reason,
        waitsFor,
        nextAttemptAt,
      });
      if (event.status !== 'DEFERRED') log.warn('a payment event waits', { ...names, reason });
      return ended({ outcome: 'deferred' });
    }
    case 'failed': {
      const { reason, companyId = null } = outcome;
      await markEvent(transaction, event.id, { ...none, status: 'FAILED', error: reason, companyId });
      log.error('a payment event cannot be applied: look at it and replay it', { ...names, reason });
      return ended({ outcome: 'failed' });
    }
  }
}

/** Null if the provider does not have it or does not answer: then the event's own payload is used. */
async function askProvider(
  { provider, log }: ProcessParts,
  subscriptionId: string,
): Promise<WireObject | null> {
  const answer = await provider.retrieveSubscription(subscriptionId);
  if (answer.outcome === 'done') return answer.value;
  const { reason } = answer.failure;
  if (reason !== 'not-found') {
    log.warn(
      'the payment provider did not return the state of a subscription; the state in the event is used',
      {
        subscriptionId,
        reason,
      },
    );
  }
  return null;
}

const LINES_PAGE = 100;
/** Far more than the provider allows on one invoice. */
const MOST_LINE_PAGES = 50;

/** All pages; null if one of them is missing: an incomplete invoice is never counted. */
async function listAllLines(
  { provider, log }: ProcessParts,
  invoiceId: string,
): Promise<readonly WireObject[] | null> {
  const lines: WireObject[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_LINE_PAGES; page += 1) {
    const params = after === undefined ? { limit: LINES_PAGE } : { limit: LINES_PAGE, after };
    const listed = await provider.listInvoiceLines(invoiceId, params);
    if (listed.outcome === 'failed') {
      const { reason } = listed.failure;
      log.warn('the payment provider did not list the lines of an invoice', { invoiceId, reason });
      return null;
    }
    lines.push(...listed.value.items);
    after = listed.value.items.at(-1)?.id;
    if (!listed.value.hasMore) return lines;
    if (after === undefined) break;
  }
  log.error('an invoice has more lines than are read', { invoiceId, lines: lines.length });
  return null;
}

/**
 * In a statement of its own, after the rollback. If the database is unavailable the scheduled retry finds the event
 * anyway.
 */
async function noteFault({ database, clock, log }: ProcessParts, id: string, error: unknown): Promise<void> {
  const now = new Date(clock.now());
  log.error('a payment event could not be applied, by a fault of our own', { paymentEventId: id, error });
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, 2_000);
  try {
    const [row] = await database.query<Pick<LockedEvent, 'attempts' | 'receivedAt' | 'status'>>(
      `update provider_events set attempts = attempts + 1, error = $2 where id = $1 and status in ('RECEIVED', 'DEFERRED')
       returning attempts, received_at as "receivedAt", status`,
      [id, reason],
    );
    if (row === undefined) return;
    // The attempts of one that waits are mostly no faults: it waits as long as any other.
    const nextAttemptAt =
      row.status === 'DEFERRED' ? deferredUntil(row, now) : nextRetryAt(row.attempts, now);
    await database.query(
      `update provider_events set next_attempt_at = $2, status = case when $2::timestamptz is null then 'FAILED' else status end
       where id = $1 and status in ('RECEIVED', 'DEFERRED')`,
      [id, nextAttemptAt],
    );
  } catch (fault) {
    log.warn('the fault of a payment event could not be noted', { paymentEventId: id, error: fault });
  }
}

function ended(processed: ProcessedEvent): Round {
  return { processed, ask: null, level: null };
}

/** When unfinished events are checked again. */
const FIRST_MS = 60_000;
export const LONGEST_MS = 6 * 60 * 60_000;
/** The provider keeps its events for this long; what has not arrived by then will not arrive. */
const GIVE_UP_MS = 30 * 24 * 60 * 60_000;
/** Retries after faults of ours, spread over about two days. */
const MOST_FAULTS = 16;

/** Null when it has waited long enough: it is kept, and an operator has to look at it. */
export function deferredUntil(
  { receivedAt, attempts }: { readonly receivedAt: Date; readonly attempts: number },
  now: Date,
): Date | null {
  if (now.getTime() - receivedAt.getTime() >= GIVE_UP_MS) return null;
  return new Date(now.getTime() + backoffMs(attempts));
}

/** `attempts` includes the one that has just failed. Null after too many. */
export function nextRetryAt(attempts: number, now: Date): Date | null {
  return attempts >= MOST_FAULTS ? null : new Date(now.getTime() + backoffMs(attempts - 1));
}

function backoffMs(attempts: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(0, attempts), 20));
}
