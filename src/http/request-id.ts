import type { Clock } from '../ports/clock.ts';
import type { Secrets } from '../ports/secrets.ts';

export const REQUEST_ID_HEADER = 'x-request-id';

/** Ids that a client may send: short, and harmless in a header, a log line and a file name. */
const ACCEPTABLE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const ID_BYTES = 12;
const IDS_DRAWN_AT_ONCE = 256;

/**
 * Returns the client's own id if it is acceptable, otherwise a new one: `req_` and 24 hexadecimal digits. With a clock, the
 * first twelve are the time in milliseconds, so that the record of a call is found by its id without an index on ids.
 */
export function createRequestIds(
  secrets: Pick<Secrets, 'randomBytes'>,
  clock: Pick<Clock, 'now'> | null = null,
): (request: Request | null) => string {
  const bytes = clock === null ? ID_BYTES : ID_BYTES / 2;
  // Random bytes are drawn for many requests at once, because the call costs more than the bytes.
  let pool = new Uint8Array(0);
  let used = 0;
  function drawn(): string {
    if (used + bytes > pool.length) {
      pool = secrets.randomBytes(bytes * IDS_DRAWN_AT_ONCE);
      used = 0;
    }
    used += bytes;
    const random = pool.subarray(used - bytes, used).toHex();
    return clock === null ? `req_${random}` : `req_${clock.now().toString(16).padStart(12, '0')}${random}`;
  }
  return (request) => {
    const sent = request?.headers.get(REQUEST_ID_HEADER) ?? null;
    return sent !== null && ACCEPTABLE_ID.test(sent) ? sent : drawn();
  };
}
