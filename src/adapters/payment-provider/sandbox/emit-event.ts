import type Stripe from 'stripe';
import type { Statements } from '../../../ports/database.ts';
import { addDelivery, releaseHeld } from './deliveries.ts';
import type { ObjectStore } from './object-store.ts';
import { HELD_MS, planSending, readSwitches, switchNames, writeSwitches } from './switches.ts';

export interface Emission {
  readonly objects: ObjectStore;
  readonly statements: Statements;
  readonly now: number;
  /** By the real clock: deliveries are made in real time, whatever the sandbox's clock says. */
  readonly realNowMs: number;
  /** Asked once for each change of the world. */
  endpoints(): Promise<readonly Stripe.WebhookEndpoint[]>;
  readonly request: { readonly id: string; readonly idempotencyKey: string | null } | null;
  newId(prefix: string): string;
}

export const EVENT_VERSION = '2023-10-16';
/** As many as the provider lets a test account have. */
const MAX_ENDPOINTS = 16;

export async function enabledEndpoints(objects: ObjectStore): Promise<readonly Stripe.WebhookEndpoint[]> {
  const asked = { where: { status: 'enabled' }, limit: MAX_ENDPOINTS };
  return (await objects.list('webhook_endpoint', asked)).data;
}

/** Keeps the event and one delivery of it for each endpoint that wants its type, as the switches say. */
export async function emitEvent(
  emission: Emission,
  type: Stripe.Event.Type,
  object: object,
  previous: object | null,
): Promise<void> {
  const { objects, statements, realNowMs } = emission;
  const endpoints = (await emission.endpoints()).filter(
    ({ enabled_events }) => enabled_events.includes('*') || enabled_events.includes(type),
  );
  const make = async () => {
    const event = eventShape(emission, type, object, previous, endpoints.length);
    await objects.put('event', event, { hidden: {} });
    return event.id;
  };
  const eventIds = [await make()];
  if (endpoints.length === 0) return;

  const switches = await readSwitches(statements);
  const { plan, left } = planSending(switches);
  if (switchNames.some((name) => left[name] !== switches[name])) await writeSwitches(statements, left);
  if (plan.hasSecondId) eventIds.push(await make());
  const holdMs = plan.isHeld ? HELD_MS : 0;
  for (const eventId of eventIds) {
    for (const endpoint of endpoints) {
      for (let copy = 0; copy < plan.copies; copy += 1) {
        await addDelivery(statements, {
          id: emission.newId('dl_'),
          eventId,
          endpointId: endpoint.id,
          state: plan.isDropped ? 'dropped' : 'pending',
          flaw: plan.flaw,
          atOnce: plan.atOnce,
          sendOrder: plan.sendOrder,
          madeAtMs: realNowMs,
          nextAttemptMs: realNowMs + Math.max(plan.delayMs, holdMs),
        });
      }
    }
  }
  if (plan.releases !== null) await releaseHeld(statements, plan.releases, realNowMs);
}

function eventShape(
  { now, newId, request }: Emission,
  type: Stripe.Event.Type,
  object: object,
  previous: object | null,
  pendingWebhooks: number,
): Stripe.Event {
  const event: Stripe.EventBase = {
    id: newId('evt_1'),
    object: 'event',
    api_version: EVENT_VERSION,
    created: now,
    data: {
      object: object as Stripe.Event.Data.Object,
      ...(previous === null ? {} : { previous_attributes: previous }),
    },
    livemode: false,
    pending_webhooks: pendingWebhooks,
    request: { id: request?.id ?? null, idempotency_key: request?.idempotencyKey ?? null },
    type,
  };
  // The compiler cannot know that the object is of the event's type; whoever emits does.
  return event as Stripe.Event;
}
