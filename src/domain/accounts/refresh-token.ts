import type { Secrets } from '../../ports/secrets.ts';

/**
 * A refresh token is `tpr_`, the family, a dot, the key. The family stays the same for a session's life and is as
 * secret as the key: who shows the family with a key of before has had a token of ours, which was copied, or is a
 * client that lost an answer. The next key is the hash of the session's seed and the key shown: a client that asks
 * again with the same token gets the same answer, although nothing but hashes is kept.
 */
export interface RefreshToken {
  readonly family: string;
  readonly key: string;
}

const TOKEN = /^tpr_([\w-]{22})\.([\w-]{43})$/;
const FAMILY_BYTES = 16;
const KEY_BYTES = 32;

export function drawRefreshToken(secrets: Secrets): RefreshToken {
  return {
    family: base64url(secrets.randomBytes(FAMILY_BYTES)),
    key: base64url(secrets.randomBytes(KEY_BYTES)),
  };
}

export function writeRefreshToken({ family, key }: RefreshToken): string {
  return `tpr_${family}.${key}`;
}

export function readRefreshToken(text: string): RefreshToken | null {
  const [, family, key] = TOKEN.exec(text) ?? [];
  return family === undefined || key === undefined ? null : { family, key };
}

export function nextKey(secrets: Secrets, seed: Uint8Array, key: string): string {
  return base64url(secrets.sha256(`${seed.toHex()}.${key}`));
}

/** For links in mails: 256 random bits, kept as their SHA-256 only. */
export function drawOneTimeToken(secrets: Secrets): string {
  return base64url(secrets.randomBytes(KEY_BYTES));
}

function base64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}
