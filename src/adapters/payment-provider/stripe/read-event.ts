import type { ProviderEvent, WireObject } from '../../../ports/payment-provider.ts';

type ReadEvent =
  | { readonly outcome: 'event'; readonly event: ProviderEvent }
  | { readonly outcome: 'no-event'; readonly message: string };

type Fields = Readonly<Record<string, unknown>>;

/**
 * An event as our port has it, out of what a delivery or a list holds. What is signed stands on its own, so only what
 * nothing can be done without is demanded. The version is not looked at here.
 */
export function readEvent(value: unknown, receivedAtMs: number): ReadEvent {
  if (!isFields(value)) return noEvent('The payload is not an event: it is not an object.');
  if (typeof value.object === 'string' && value.object !== 'event') {
    // A thin event names what changed and leaves the object out, so there is nothing in it to act upon.
    const kind = value.object.slice(0, 40);
    return noEvent(
      `The payload is not an event with its object in it, but "${kind}". Register for snapshots.`,
    );
  }
  const { id, type, created, data } = value;
  if (!isName(id) || !isName(type)) return noEvent('The payload is not an event: id or type is missing.');
  if (!isFields(data) || !isFields(data.object)) {
    return noEvent('The payload is not an event: data.object is missing.');
  }
  const event: ProviderEvent = {
    id,
    type,
    apiVersion: typeof value.api_version === 'string' ? value.api_version : null,
    createdAtMs: typeof created === 'number' ? created * 1000 : receivedAtMs,
    livemode: value.livemode === true,
    object: data.object satisfies WireObject,
    previousAttributes: isFields(data.previous_attributes) ? data.previous_attributes : null,
    payload: value,
  };
  return { outcome: 'event', event };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 255;
}

function noEvent(message: string): ReadEvent {
  return { outcome: 'no-event', message };
}
