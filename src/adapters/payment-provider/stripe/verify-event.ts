import Stripe from 'stripe';
import type { Clock } from '../../../ports/clock.ts';
import { isObject } from '../../../ports/json-object.ts';
import type { EventVerdict, ProviderEvent, WireObject } from '../../../ports/payment-provider.ts';

interface VerifierOptions {
  /** All that are valid at the moment: two while a secret is being replaced. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
}

type EventVerifier = (rawBody: Uint8Array<ArrayBuffer>, signatureHeader: string | null) => EventVerdict;

const TOLERANCE_SECONDS = 300;
const OUTSIDE_TOLERANCE = 'Timestamp outside the tolerance zone';
const WITHOUT_TIMESTAMP = 'Unable to extract timestamp and signatures from header';
const NO_MATCH = 'No signatures found matching';

/**
 * The client's own check, with what it leaves open: it signs with an empty secret, takes a timestamp of next year or
 * none that is a number, hands a thin event on and throws at signed bytes that are not JSON.
 */
export function createEventVerifier({ secrets, clock }: VerifierOptions): EventVerifier {
  if (secrets.length === 0) throw new Error('The payment webhook needs a signing secret: there is none.');
  if (secrets.some((secret) => secret.trim() === '')) {
    throw new Error('The payment webhook needs a signing secret: an empty one would let everybody sign.');
  }

  return (rawBody, signatureHeader) => {
    let refusal: string | null = null;
    for (const secret of secrets) {
      const checked = check(rawBody, signatureHeader, secret, clock.now());
      if (checked.outcome !== 'refused') return checked;
      // What another secret says about a signature that it knows is worth more than "no match".
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
    // It says Buffer and means what Buffer extends.
    const bytes = rawBody as unknown as Buffer;
    parsed = Stripe.webhooks.constructEvent(bytes, header ?? '', secret, TOLERANCE_SECONDS, undefined, nowMs);
  } catch (error) {
    // The words of a JSON parser may quote what it read.
    if (error instanceof SyntaxError) return refuse('The payload is not valid JSON.');
    return refuse(error instanceof Error ? error.message : 'The signature could not be checked.');
  }
  const timestamp = timestampOf(header ?? '');
  if (!Number.isSafeInteger(timestamp)) return refuse(WITHOUT_TIMESTAMP);
  if (timestamp - Math.floor(nowMs / 1000) > TOLERANCE_SECONDS) return refuse(OUTSIDE_TOLERANCE);
  const read = readEvent(parsed, nowMs);
  return read.outcome === 'event' ? { outcome: 'verified', event: read.event } : refuse(read.message);
}

/** As the client reads it: of several, the last. */
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
 * An event as our port has it, out of what a delivery or a list holds. What is signed stands on its own, so only what
 * nothing can be done without is demanded. The version is not looked at here.
 */
export function readEvent(value: unknown, receivedAtMs: number): ReadEvent {
  if (!isObject(value)) return noEvent('The payload is not an event: it is not an object.');
  if (typeof value.object === 'string' && value.object !== 'event') {
    // A thin event names what changed and leaves the object out, so there is nothing in it to act upon.
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
    // No database holds a zero character.
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

/** In seconds; past the year 9999 no date can be written down. */
function isMoment(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 253_402_300_799;
}

function noEvent(message: string): ReadEvent {
  return { outcome: 'no-event', message };
}
