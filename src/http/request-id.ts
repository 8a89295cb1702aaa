import type { Secrets } from '../ports/secrets.ts';

export const REQUEST_ID_HEADER = 'x-request-id';

/** What a client may send: short, and harmless in a header, a log line and a file name. */
const ACCEPTABLE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const ID_BYTES = 12;
const IDS_DRAWN_AT_ONCE = 256;

/** The client's own id where it is acceptable, else a new one. */
export function createRequestIds(secrets: Pick<Secrets, 'randomBytes'>): (request: Request | null) => string {
  // One draw of randomness serves many requests: the call costs more than the bytes.
  let pool = new Uint8Array(0);
  let used = 0;
  function drawn(): string {
    if (used + ID_BYTES > pool.length) {
      pool = secrets.randomBytes(ID_BYTES * IDS_DRAWN_AT_ONCE);
      used = 0;
    }
    used += ID_BYTES;
    return `req_${pool.subarray(used - ID_BYTES, used).toHex()}`;
  }
  return (request) => {
    const sent = request?.headers.get(REQUEST_ID_HEADER) ?? null;
    return sent !== null && ACCEPTABLE_ID.test(sent) ? sent : drawn();
  };
}
