import type { ProviderEvent } from '../../ports/payment-provider.ts';
import { effectOf, LONGEST_MS, type ProcessParts, problemWith, processEvent } from './apply-event.ts';
import type { WaitKey } from './effect.ts';
import {
  dueEvents,
  findPaymentEvent,
  type PaymentEvent,
  type PaymentEventStatus,
  replaceEvent,
  type StoredEvent,
  storeEvent,
  waitingEvents,
} from './event-inbox.ts';
import { uuidIn } from './provider-objects.ts';

/** Events of the payment provider, from their arrival on. */
export interface PaymentEvents {
  /**
   * Stores an event with a valid signature and applies it if possible. Rejects only for faults of ours, after storing
   * the event if possible: the provider should send it again.
   */
  receive(event: ProviderEvent): Promise<ReceivedEvent>;
  /** Something exists now that events may wait for. Never rejects. */
  wake(keys: readonly WaitKey[]): Promise<void>;
  /** Processes events whose retry is due, and those left by a crashed process. Returns how many. */
  retryDue(signal?: AbortSignal): Promise<number>;
  /** Retries an event that is not final; called by a super admin. */
  replay(id: string): Promise<ReplayedEvent>;
}

type ReceivedEvent =
  | { readonly outcome: 'processed' | 'deferred' | 'failed' | 'ignored'; readonly id: string }
  /** It is stored but not processed: its API version is another one, or it is of test mode or of another account. */
  | { readonly outcome: 'other-version' | 'other-origin'; readonly id: string }
  | { readonly outcome: 'duplicate'; readonly id: string };

type ReplayedEvent =
  | { readonly outcome: 'replayed'; readonly event: PaymentEvent }
  /** It was applied and must not be applied twice. */
  | { readonly outcome: 'done-before'; readonly event: PaymentEvent }
  | { readonly outcome: 'other-version' | 'other-origin'; readonly event: PaymentEvent }
  | { readonly outcome: 'no-such-event' };

/** An event is retried after this if the process that received it has crashed. */
const FIRST_LOOK_MS = 120_000;
const NOT_APPLIED: readonly PaymentEventStatus[] = ['RECEIVED', 'DEFERRED', 'FAILED'];
const WOKEN_AT_ONCE = 200;
const MOST_WAKES = 20;
const DUE_AT_ONCE = 200;

export function createPaymentEvents(parts: ProcessParts): PaymentEvents {
  const { database, secrets, clock, log } = parts;

  /**
   * What an event waits for may be committed after the look-up and before the event is marked as waiting: then nothing
   * wakes it. So an event that has to wait is processed once more.
   */
  async function processTwice(id: string, from?: Parameters<typeof processEvent>[2]) {
    const processed = await processEvent(parts, id, from);
    return processed.outcome === 'deferred' ? await processEvent(parts, id) : processed;
  }

  async function wake(first: readonly WaitKey[]): Promise<void> {
    let keys = first;
    for (let turn = 0; turn < MOST_WAKES && keys.length > 0; turn += 1) {
      const arrived: WaitKey[] = [];
      try {
        for (const id of await waitingEvents(database, keys, WOKEN_AT_ONCE)) {
          const processed = await processTwice(id, NOT_APPLIED).catch(() => null);
          if (processed?.outcome === 'processed') arrived.push(...processed.arrived);
        }
      } catch (error) {
        log.warn('events that wait could not be woken; the timer will', { error });
      }
      keys = arrived;
    }
  }

  /** Applies it and the events that waited for it. */
  async function apply(id: string, from?: Parameters<typeof processEvent>[2]) {
    const processed = await processTwice(id, from);
    if (processed.outcome === 'processed') await wake(processed.arrived);
    return processed;
  }

  /**
   * The same event may be delivered in our API version after it was delivered or listed in another one: two endpoints, or an
   * endpoint that was recreated; or again once its account is set as ours. The delivery that can be applied replaces one
   * that never was.
   */
  async function replaceUnusable(stored: StoredEvent, event: ProviderEvent, nextAttemptAt: Date) {
    if (!stored.isNew && stored.status === 'FAILED') {
      await replaceEvent(database, stored, event, nextAttemptAt);
    }
  }

  return {
    wake,
    async receive(event) {
      const now = clock.now();
      const unusable = problemWith(event, parts.eventOrigin);
      const status =
        unusable !== null ? 'FAILED' : effectOf(event.type) !== undefined ? 'RECEIVED' : 'IGNORED';
      const firstLookAt = new Date(now + FIRST_LOOK_MS);
      const stored = await storeEvent(database, {
        id: secrets.newId(),
        event,
        status,
        error: unusable?.message ?? null,
        now: new Date(now),
        nextAttemptAt: status === 'RECEIVED' ? firstLookAt : null,
      });
      const { id, isNew } = stored;
      if (status !== 'RECEIVED') {
        if (!isNew) return { outcome: 'duplicate', id };
        if (unusable !== null) {
          const { apiVersion, type } = event;
          const { outcome, message: reason } = unusable;
          const what = outcome === 'other-version' ? 'API version' : 'mode or account';
          log.error(`a payment event of another ${what} is stored and not interpreted`, {
            ...{ apiVersion, type, reason },
          });
          return { outcome, id };
        }
        return { outcome: 'ignored', id };
      }
      await replaceUnusable(stored, event, firstLookAt);
      const applied = await apply(id);
      if (applied.outcome === 'done-before' || applied.outcome === 'no-such-event') {
        return { outcome: 'duplicate', id };
      }
      return { outcome: applied.outcome, id };
    },

    async retryDue(signal) {
      const now = clock.now();
      const due = { now: new Date(now), latest: new Date(now + 2 * LONGEST_MS) };
      const ids = await dueEvents(database, due, DUE_AT_ONCE);
      for (const id of ids) {
        signal?.throwIfAborted();
        // The fault is recorded with the event, and must not stop the others.
        await apply(id).catch(() => undefined);
      }
      return ids.length;
    },

    async replay(id) {
      const before = uuidIn(id) === null ? null : await findPaymentEvent(database, id);
      if (before === null) return { outcome: 'no-such-event' };
      const [row] = await database.query<Pick<ProviderEvent, 'apiVersion' | 'payload'>>(
        'select api_version as "apiVersion", payload from provider_events where id = $1',
        [id],
      );
      const unusable = row === undefined ? null : problemWith(row, parts.eventOrigin);
      if (unusable !== null) return { outcome: unusable.outcome, event: before };
      if (effectOf(before.type) === undefined) return { outcome: 'done-before', event: before };
      const applied = await apply(id, NOT_APPLIED);
      const event = (await findPaymentEvent(database, id)) ?? before;
      return { outcome: applied.outcome === 'done-before' ? 'done-before' : 'replayed', event };
    },
  };
}
