import type Stripe from 'stripe';
import type { Statements } from '../../ports/database.ts';
import { PROVIDER_API_VERSION } from '../../ports/payment-provider.ts';
import { type ObjectStore, readSetting, writeSetting } from './object-store.ts';
import { addDelivery, releaseHeld } from './webhook-delivery.ts';

export interface Emission {
  readonly objects: ObjectStore;
  readonly statements: Statements;
  readonly now: number;
  /** By the real clock: deliveries are made in real time, whatever the sandbox's clock shows. */
  readonly realNowMs: number;
  /** Read at most once for each change. */
  endpoints(): Promise<readonly Stripe.WebhookEndpoint[]>;
  readonly request: { readonly id: string; readonly idempotencyKey: string | null } | null;
  newId(prefix: string): string;
}

/** The provider's limit for a test account. */
export const MAX_ENDPOINTS = 16;

export async function enabledEndpoints(objects: ObjectStore): Promise<readonly Stripe.WebhookEndpoint[]> {
  const asked = { where: { status: 'enabled' }, limit: MAX_ENDPOINTS };
  return (await objects.list('webhook_endpoint', asked)).data;
}

/** Stores the event, and a delivery for each endpoint that is enabled for its type, according to the switches. */
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
    api_version: PROVIDER_API_VERSION,
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
  // The caller guarantees that the object matches the event's type; the compiler cannot check it.
  return event as Stripe.Event;
}

/**
 * Deliberate faults, each with the number of next events that it applies to. `duplicate` sends an event twice,
 * `second_id` sends the same fact as a second event, `reorder` and `concurrent` hold this number of events and send
 * them newest first or all at the same time, `delay` sends them `delay_ms` late, `drop` never sends them, and
 * `bad_signature` and `stale_timestamp` spoil the first attempt.
 */
interface Switches {
  readonly duplicate: number;
  readonly second_id: number;
  readonly reorder: number;
  readonly concurrent: number;
  readonly delay: number;
  readonly delay_ms: number;
  readonly drop: number;
  readonly bad_signature: number;
  readonly stale_timestamp: number;
  /** Counts invoices whose finalization fails, rather than events. */
  readonly finalization_failure: number;
}

type SwitchName = keyof Switches;

const allOff: Switches = {
  duplicate: 0,
  second_id: 0,
  reorder: 0,
  concurrent: 0,
  delay: 0,
  delay_ms: 0,
  drop: 0,
  bad_signature: 0,
  stale_timestamp: 0,
  finalization_failure: 0,
};

export const switchNames = Object.keys(allOff) as SwitchName[];

/** How one event is sent. */
interface SendingPlan {
  readonly copies: 1 | 2;
  readonly hasSecondId: boolean;
  readonly isDropped: boolean;
  readonly flaw: 'bad_signature' | 'stale_timestamp' | null;
  readonly delayMs: number;
  readonly atOnce: boolean;
  /** Lower values are sent first. */
  readonly sendOrder: number;
  /** Held until its group is complete, or for `HELD_MS`. */
  readonly isHeld: boolean;
  readonly releases: 'reordered' | 'at-once' | null;
}

const HELD_MS = 30_000;
/** Far below all others. */
const REORDERED_FROM = -1_000_000;

/** The plan for the next event, and the remaining switches. */
function planSending(switches: Switches): { plan: SendingPlan; left: Switches } {
  const isOn = (name: SwitchName) => switches[name] > 0;
  const left = { ...switches };
  const counted = switchNames.filter((name) => name !== 'delay_ms' && name !== 'finalization_failure');
  for (const name of counted) left[name] = Math.max(0, switches[name] - 1);
  const isLastReordered = isOn('reorder') && left.reorder === 0;
  const isLastAtOnce = isOn('concurrent') && left.concurrent === 0;
  const plan: SendingPlan = {
    copies: isOn('duplicate') ? 2 : 1,
    hasSecondId: isOn('second_id'),
    isDropped: isOn('drop'),
    flaw: isOn('bad_signature') ? 'bad_signature' : isOn('stale_timestamp') ? 'stale_timestamp' : null,
    delayMs: isOn('delay') ? switches.delay_ms : 0,
    atOnce: isOn('concurrent'),
    sendOrder: isOn('reorder') ? REORDERED_FROM + left.reorder : 0,
    isHeld: (isOn('reorder') && !isLastReordered) || (isOn('concurrent') && !isLastAtOnce),
    releases: isLastReordered ? 'reordered' : isLastAtOnce ? 'at-once' : null,
  };
  return { plan, left };
}

export async function readSwitches(statements: Statements): Promise<Switches> {
  return { ...allOff, ...(await readSetting<Partial<Switches>>(statements, 'switches')) };
}

export async function writeSwitches(statements: Statements, switches: Switches): Promise<void> {
  await writeSetting(statements, 'switches', { ...switches });
}
