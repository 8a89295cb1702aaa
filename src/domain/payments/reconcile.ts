import {
  type PaymentProvider,
  PROVIDER_API_VERSION,
  type ProviderEvent,
  type WireObject,
} from '../../ports/payment-provider.ts';
import { type MissedEventsParts, receiveMissedEvents } from './missed-events.ts';
import { isPaidSession, textIn } from './provider-objects.ts';
import { cancelPurchase } from './purchase.ts';

export interface ReconcileParts extends MissedEventsParts {
  readonly provider: MissedEventsParts['provider'] & Pick<PaymentProvider, 'retrieveCheckoutSession'>;
}

interface Reconciled {
  readonly purchases: number;
  readonly events: number;
}

/** By then the event of a paid checkout has arrived, or something has gone wrong. */
const PENDING_FOR_MS = 10 * 60_000;
/** An unpaid one is checked again after this; those that have waited longest come first, so that each gets its turn. */
const ASKED_EVERY_MS = 60 * 60_000;
const PURCHASES_AT_ONCE = 100;
/** How long after its page has expired an event may still arrive. */
const LONG_EXPIRED_MS = 3 * 24 * 60 * 60_000;

/**
 * Compares our state with the provider's: purchases that wait too long, and events that did not arrive. Both go through
 * the same inbox as if they had been sent, so nothing is applied twice.
 */
export async function reconcile(parts: ReconcileParts, signal?: AbortSignal): Promise<Reconciled> {
  const events = await receiveMissedEvents(parts, signal);
  const purchases = await pendingPurchases(parts, signal);
  if (purchases + events > 0) parts.log.info('payments were reconciled', { purchases, events });
  return { purchases, events };
}

interface Pending {
  readonly id: string;
  readonly sessionId: string | null;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
}

async function pendingPurchases(parts: ReconcileParts, signal?: AbortSignal): Promise<number> {
  const { database, provider, paymentEvents, clock, log } = parts;
  const now = clock.now();
  const pending = await database.query<Pending>(
    `select id, provider_session_id as "sessionId", expires_at as "expiresAt", created_at as "createdAt"
     from credit_pack_purchases
     where status = 'PENDING' and created_at <= $1 and (checked_at is null or checked_at <= $2 or checked_at > $3)
     order by coalesce(checked_at, created_at), created_at limit ${PURCHASES_AT_ONCE}`,
    [new Date(now - PENDING_FOR_MS), new Date(now - ASKED_EVERY_MS), new Date(now)],
  );
  let completed = 0;
  for (const purchase of pending) {
    signal?.throwIfAborted();
    await database.query('update credit_pack_purchases set checked_at = $2 where id = $1', [
      purchase.id,
      new Date(now),
    ]);
    const { sessionId } = purchase;
    const answer = sessionId === null ? null : await provider.retrieveCheckoutSession(sessionId);
    if (answer?.outcome === 'done' && sessionId !== null) {
      const session = answer.value;
      if (textIn(session.status) === 'complete' && isPaidSession(session)) {
        await paymentEvents.receive(eventOf(session, sessionId, now));
        completed += 1;
      } else if (textIn(session.status) === 'expired') {
        await cancelPurchase(database, purchase.id, new Date(now));
      }
      continue;
    }
    if (answer !== null && answer.outcome === 'failed' && answer.failure.reason !== 'not-found') {
      log.warn('the payment provider did not say what became of a checkout', { purchaseId: purchase.id });
      continue;
    }
    // A page that was never created, or that the provider no longer has, cannot have been paid.
    const last = purchase.expiresAt ?? purchase.createdAt;
    if (now - last.getTime() > LONG_EXPIRED_MS) await cancelPurchase(database, purchase.id, new Date(now));
  }
  return completed;
}

/** The event that the provider would have sent, with an id that says where it is from; one per session. */
function eventOf(session: WireObject, sessionId: string, nowMs: number): ProviderEvent {
  const id = `reconciled_${sessionId}`;
  const type = 'checkout.session.completed';
  const created = Math.floor(nowMs / 1000);
  const payload = {
    id,
    object: 'event',
    type,
    created,
    api_version: PROVIDER_API_VERSION,
    data: { object: session },
  };
  return {
    ...{ id, type, payload, object: session, previousAttributes: null },
    apiVersion: PROVIDER_API_VERSION,
    createdAtMs: created * 1000,
    livemode: session.livemode === true,
  };
}
