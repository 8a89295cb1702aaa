import type { AskedOnce } from '../domain/calls/idempotent-claims.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { Refusal } from './refusals.ts';

export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

export const UNREADABLE_KEY: Refusal = {
  name: 'invalidRequest',
  message: 'Idempotency-Key must be 1 to 255 printable ASCII characters, a UUID for example.',
  param: 'Idempotency-Key',
};

export function isIdempotencyKey(text: string): boolean {
  return PRINTABLE.test(text);
}

/** What is asked, so that the same key with anything else can be told from a repeat. */
export interface Asking {
  readonly keyId: string;
  readonly idempotencyKey: string;
  readonly method: string;
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export async function askedOnce(
  { sha256 }: Pick<Secrets, 'sha256'>,
  { keyId, idempotencyKey, method, path, bytes }: Asking,
): Promise<AskedOnce> {
  const ofBody = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return { keyId, idempotencyKey, sha256: sha256(`${method} ${path} ${ofBody.toHex()}`) };
}
