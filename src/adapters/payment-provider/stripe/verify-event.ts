import Stripe from 'stripe';
import type { Clock } from '../../../ports/clock.ts';
import { isObject } from '../../../ports/json-object.ts';
import type { EventVerdict, ProviderEvent, WireObject } from '../../../ports/payment-provider.ts';

interface VerifierOptions {
  /** All secrets that are currently valid: two while one is being replaced. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
}

type EventVerifier = (rawBody: Uint8Array<ArrayBuffer>, signatureHeader: string | null) => EventVerdict;

const TOLERANCE_SECONDS = 300;
const OUTSIDE_TOLERANCE = 'Timestamp outside the tolerance zone';
const WITHOUT_TIMESTAMP = 'Unable to extract timestamp and signatures from header';
const NO_MATCH = 'No signatures found matching';

/**
 * The client's own check, and the cases that it does not cover: it accepts an empty secret, a timestamp in the future
 * or one that is not a number, passes a thin event on, and throws if signed bytes are not JSON.
 */
export function createEventVerifier({ secrets, clock }: VerifierOptions): EventVerifier {
  if (secrets.length === 0) throw new Error('The payment webhook needs a signing secret: there is none.');
  if (secrets.some((secret) => secret.trim() === '')) {
    throw new Error('The payment webhook needs a signing secret: an empty one would let anyone sign.');
  }

  return (rawBody, signatureHeader) => {
    let refusal: string | null = null;
    for (const secret of secrets) {
      const checked = check(rawBody, signatureHeader, secret, clock.now());
      if (checked.outcome !== 'refused') return checked;
      // Another secret's specific refusal is more useful than "no match".
      if (refusal?.startsWith(NO_MATCH) !== false) refusal = checked.message;
    }
    return refuse(refusal ?? NO_MATCH);
  };
}

function check(
  rawBody: Uint8Array<ArrayBuffer>,
  header: string | null,
  secret: string,
  nowMs: number,
): EventVerdict {
  let parsed: unknown;
  try {
    // Declared as Buffer, but any Uint8Array works.
    const bytes = rawBody as unknown as Buffer;
    parsed = Stripe.webhooks.constructEvent(bytes, header ?? '', secret, TOLERANCE_SECONDS, undefined, nowMs);
  } catch (error) {
    // The message of a JSON parser may quote the payload.
    if (error instanceof SyntaxError) return refuse('The payload is not valid JSON.');
    return refuse(error instanceof Error ? error.message : 'The signature could not be checked.');
  }
  const timestamp = timestampOf(header ?? '');
  if (!Number.isSafeInteger(timestamp)) return refuse(WITHOUT_TIMESTAMP);
  if (timestamp - Math.floor(nowMs / 1000) > TOLERANCE_SECONDS) return refuse(OUTSIDE_TOLERANCE);
  const read = readEvent(parsed, nowMs);
  return read.outcome === 'event' ? { outcome: 'verified', event: read.event } : refuse(read.message);
}

/** Read like the client does: the last of several. */
function timestampOf(header: string): number {
  const last = header.split(',').findLast((item) => item.startsWith('t='));
  return Number.parseInt(last?.slice(2) ?? '', 10);
}

function refuse(message: string): EventVerdict {
  return { outcome: 'refused', message };
}

type ReadEvent =
  | { readonly outcome: 'event'; readonly event: ProviderEvent }
  | { readonly outcome: 'no-event'; readonly message: string };

/**
 * Converts an event of a delivery or a list to the port's type. The source is trusted, so only indispensable fields are
 * required. The API version is not checked here.
 */
export function readEvent(value: unknown, receivedAtMs: number): ReadEvent {
  if (!isObject(value)) return noEvent('The payload is not an event: it is not an object.');
  if (typeof value.object === 'string' && value.object !== 'event') {
    // A thin event names the change without the object, so it cannot be applied.
    const kind = value.object.slice(0, 40);
    return noEvent(
      `The payload is not an event with its object in it, but "${kind}". Register for snapshots.`,
    );
  }
  const { id, type, created, data } = value;
  if (!isName(id) || !isName(type))
    return noEvent('The payload is not an event: id or type is missing or no name.');
  if (!isObject(data) || !isObject(data.object)) {
    return noEvent('The payload is not an event: data.object is missing.');
  }
  const event: ProviderEvent = {
    id,
    type,
    // The database cannot store a zero character.
    apiVersion: typeof value.api_version === 'string' ? value.api_version.replaceAll('\u0000', '') : null,
    createdAtMs: isMoment(created) ? created * 1000 : receivedAtMs,
    livemode: value.livemode === true,
    object: data.object satisfies WireObject,
    previousAttributes: isObject(data.previous_attributes) ? data.previous_attributes : null,
    payload: value,
  };
  return { outcome: 'event', event };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 255 && !value.includes('\u0000');
}

/** In seconds; dates after the year 9999 cannot be represented. */
function isMoment(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 253_402_300_799;
}

function noEvent(message: string): ReadEvent {
  return { outcome: 'no-event', message };
}
