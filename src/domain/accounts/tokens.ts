import { errors, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../ports/clock.ts';
import type { Secrets } from '../../ports/secrets.ts';

interface TokenSubject {
  readonly userId: string;
  readonly email: string;
  /** Null for a token without a session: of `turnpike token`, or signed by the operator. */
  readonly sessionId?: string | null;
}

export interface VerifiedToken extends Required<TokenSubject> {
  /** In whole seconds. */
  readonly issuedAt: Date;
  readonly expiresAt: Date;
}

interface IssuedToken {
  readonly token: string;
  readonly expiresAt: Date;
}

export interface AccessTokens {
  issue(subject: TokenSubject): Promise<IssuedToken>;
  /** Null unless it is a complete, unexpired token of ours. */
  verify(token: string): Promise<VerifiedToken | null>;
}

const ACCESS_TOKEN_SECONDS = 15 * 60;
const ALGORITHM = 'HS256';
/** Ours have about 300 characters; no signature is computed for longer input. */
const LONGEST_ACCESS_TOKEN = 4_096;

/**
 * HS256 tokens with the claims sub, email, iat and exp (P-8), and sid for the token of a session, which ends with it.
 * The first secret signs, all of them verify.
 */
export async function createAccessTokens(
  jwtSecrets: readonly [string, ...string[]],
  clock: Clock,
  lifetimeSeconds = ACCESS_TOKEN_SECONDS,
): Promise<AccessTokens> {
  const keys = await Promise.all(jwtSecrets.map(importSecret));
  const [signing] = keys;
  if (signing === undefined) throw new Error('access tokens need a secret');

  return {
    async issue({ userId, email, sessionId = null }) {
      const issuedAt = Math.floor(clock.now() / 1000);
      const expiresAt = issuedAt + lifetimeSeconds;
      const token = await new SignJWT(sessionId === null ? { email } : { email, sid: sessionId })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setSubject(userId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(signing);
      return { token, expiresAt: new Date(expiresAt * 1000) };
    },
    async verify(token) {
      if (token.length > LONGEST_ACCESS_TOKEN) return null;
      for (const key of keys) {
        const verified = await verifyWith(key, token, clock);
        if (verified !== null) return verified;
      }
      return null;
    },
  };
}

async function importSecret(secret: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, [
    'sign',
    'verify',
  ]);
}

async function verifyWith(key: CryptoKey, token: string, clock: Clock): Promise<VerifiedToken | null> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [ALGORITHM],
      requiredClaims: ['sub', 'email', 'iat', 'exp'],
      currentDate: new Date(clock.now()),
    });
    const { sub, email, iat, exp, sid = null } = payload;
    if (typeof sub !== 'string' || typeof email !== 'string') return null;
    if (iat === undefined || exp === undefined || (sid !== null && typeof sid !== 'string')) return null;
    const times = { issuedAt: new Date(iat * 1000), expiresAt: new Date(exp * 1000) };
    return { userId: sub, email, sessionId: sid, ...times };
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

/**
 * A refresh token is `tpr_`, the family, a dot, the key. The family stays the same for the life of the session and is
 * as secret as the key: a client that sends the family with an earlier key has an earlier token of ours, either a
 * copied one or because it lost a response. The next key is the hash of the session's seed and the key sent: a client
 * that repeats a token gets the same response, although only hashes are stored.
 */
interface RefreshToken {
  readonly family: string;
  readonly key: string;
}

const REFRESH_TOKEN = /^tpr_([\w-]{22})\.([\w-]{43})$/;
const FAMILY_BYTES = 16;
const KEY_BYTES = 32;

export function generateRefreshToken(secrets: Secrets): RefreshToken {
  return {
    family: base64url(secrets.randomBytes(FAMILY_BYTES)),
    key: base64url(secrets.randomBytes(KEY_BYTES)),
  };
}

export function writeRefreshToken({ family, key }: RefreshToken): string {
  return `tpr_${family}.${key}`;
}

export function readRefreshToken(text: string): RefreshToken | null {
  const [, family, key] = REFRESH_TOKEN.exec(text) ?? [];
  return family === undefined || key === undefined ? null : { family, key };
}

export function nextKey(secrets: Secrets, seed: Uint8Array, key: string): string {
  return base64url(secrets.sha256(`${seed.toHex()}.${key}`));
}

/** For links in mails: 256 random bits, of which only the SHA-256 is stored. */
export function generateOneTimeToken(secrets: Secrets): string {
  return base64url(secrets.randomBytes(KEY_BYTES));
}

function base64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}
