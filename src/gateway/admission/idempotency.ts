import type { IdempotentCalls } from '../../domain/calls/idempotency/idempotent-calls.ts';
import type {
  IdempotencyState,
  IdempotentClaim,
  IdempotentRequest,
} from '../../domain/calls/idempotency/key-claims.ts';
import type { CallReservation } from '../../domain/limits/call-reservation.ts';
import type { MemoryShare } from '../../http/memory-limit.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { countedResponse, MEMORY_FULL } from '../forwarding/answer-memory.ts';
import { STREAM_HEADERS } from '../streaming/server-sent-events.ts';
import type { Refusal } from './refusals.ts';

export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key';

/** Set on every response that is replayed. */
const REPLAYED_HEADER = 'idempotent-replayed';
const ORIGINAL_REQUEST_HEADER = 'original-request-id';

/** Long enough that polling clients are no burden, short compared with a model's answer. */
const STILL_RUNNING_MS = 2_000;

const PRINTABLE_KEY = /^[\x20-\x7e]{1,255}$/;

export const UNREADABLE_KEY: Refusal = {
  name: 'invalidRequest',
  message: 'Idempotency-Key must be 1 to 255 printable ASCII characters, a UUID for example.',
  param: 'Idempotency-Key',
};

export function isIdempotencyKey(text: string): boolean {
  return PRINTABLE_KEY.test(text);
}

/** The request, to distinguish a repeat from another request with the same key. */
interface RequestToIdentify {
  readonly keyId: string;
  readonly idempotencyKey: string;
  readonly method: string;
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export async function idempotentRequestOf(
  { sha256 }: Pick<Secrets, 'sha256'>,
  { keyId, idempotencyKey, method, path, bytes }: RequestToIdentify,
): Promise<IdempotentRequest> {
  const ofBody = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return { keyId, idempotencyKey, sha256: sha256(`${method} ${path} ${ofBody.toHex()}`) };
}

/** The refusal for a key that is in use or cannot be replayed; clients retry automatically only if that helps. */
export function refusalOfState(
  state: Exclude<IdempotencyState, 'free' | 'answered'> | 'unavailable',
): Refusal {
  const name = 'idempotencyConflict';
  switch (state) {
    case 'running':
      return { name, message: RUNNING, retryAfterMs: STILL_RUNNING_MS };
    case 'other-body':
      return { name, message: OTHER_BODY, shouldRetry: false };
    case 'not-kept':
      return { name, message: NOT_KEPT, shouldRetry: false };
    case 'unavailable':
      return { name: 'unavailable', message: UNAVAILABLE };
  }
}

type Replay =
  | { readonly outcome: 'replayed'; readonly response: Response }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

interface Replaying {
  readonly headers: Readonly<Record<string, string>>;
  readonly share: MemoryShare;
  readonly clientSignal: AbortSignal;
}

/** The stored answer, byte for byte; a stream is sent in one piece. */
export async function replay(
  idempotency: Pick<IdempotentCalls, 'read'>,
  idempotent: IdempotentRequest,
  { headers, share, clientSignal }: Replaying,
): Promise<Replay> {
  const found = await idempotency.read(idempotent);
  // Removed because of its age, or encrypted with another master key: in both cases it was charged.
  if (found === null) return { outcome: 'refused', refusal: refusalOfState('not-kept') };
  if (found === 'unavailable') return { outcome: 'refused', refusal: refusalOfState('unavailable') };
  const { bytes, httpStatus: status, contentType, requestId } = found;
  if (!share.hold(bytes.length)) return { outcome: 'refused', refusal: MEMORY_FULL };
  const response = countedResponse(bytes, share, clientSignal, {
    status,
    headers: {
      ...headers,
      ...(contentType.startsWith('text/event-stream') ? STREAM_HEADERS : {}),
      'content-type': contentType,
      [REPLAYED_HEADER]: 'true',
      [ORIGINAL_REQUEST_HEADER]: requestId,
    },
  });
  return { outcome: 'replayed', response };
}

const RUNNING =
  'The call with this Idempotency-Key is still running. Send it again after the time in retry-after to get its answer.';
const OTHER_BODY =
  'This Idempotency-Key was used for another request. Repeat that one byte for byte, or use a new key.';
const NOT_KEPT =
  'The call with this Idempotency-Key was answered and charged, but its answer is too large to be stored and cannot be returned again. Use a new key to make a new call.';
const UNAVAILABLE = 'Idempotency keys cannot be checked right now. Retry with backoff.';

/** The last step of admission, so that a call that is refused anyway writes nothing. A replay keeps its reservation. */
export async function claimOrRelease(
  parts: { readonly idempotency: Pick<IdempotentCalls, 'claim'> },
  claim: IdempotentClaim,
  reservation: CallReservation,
) {
  let isTaken = false;
  try {
    const state = await parts.idempotency.claim(claim);
    isTaken = state === 'claimed' || state === 'answered';
    return state;
  } finally {
    if (!isTaken) await reservation.end(0, []);
  }
}
