import Stripe from 'stripe';
import type { Clock } from '../../../ports/clock.ts';
import type { EventVerdict } from '../../../ports/payment-provider.ts';
import { readEvent } from './read-event.ts';

export interface VerifierOptions {
  /** All that are valid at the moment: two while a secret is being replaced. */
  readonly secrets: readonly string[];
  readonly clock: Clock;
}

export type EventVerifier = (
  rawBody: Uint8Array<ArrayBuffer>,
  signatureHeader: string | null,
) => EventVerdict;

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
