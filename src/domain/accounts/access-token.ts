import { errors, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../ports/clock.ts';

export interface TokenSubject {
  readonly userId: string;
  readonly email: string;
}

export interface VerifiedToken extends TokenSubject {
  /** To the second. */
  readonly issuedAt: Date;
}

export interface IssuedToken {
  readonly token: string;
  readonly expiresAt: Date;
}

export interface AccessTokens {
  issue(subject: TokenSubject): Promise<IssuedToken>;
  /** Null for everything but a whole, unexpired token of ours. */
  verify(token: string): Promise<VerifiedToken | null>;
}

export const ACCESS_TOKEN_SECONDS = 15 * 60;
const ALGORITHM = 'HS256';
/** Ours have some 300 characters; no signature is computed over what cannot be one. */
const LONGEST_TOKEN = 4_096;

/** HS256 tokens with exactly the claims sub, email, iat and exp (P-8). The first secret signs, all of them verify. */
export async function createAccessTokens(
  jwtSecrets: readonly [string, ...string[]],
  clock: Clock,
  lifetimeSeconds = ACCESS_TOKEN_SECONDS,
): Promise<AccessTokens> {
  const keys = await Promise.all(jwtSecrets.map(importSecret));
  const [signing] = keys;
  if (signing === undefined) throw new Error('access tokens need a secret');

  return {
    async issue({ userId, email }) {
      const issuedAt = Math.floor(clock.now() / 1000);
      const expiresAt = issuedAt + lifetimeSeconds;
      const token = await new SignJWT({ email })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setSubject(userId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(signing);
      return { token, expiresAt: new Date(expiresAt * 1000) };
    },
    async verify(token) {
      if (token.length > LONGEST_TOKEN) return null;
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
    const { sub, email, iat } = payload;
    if (typeof sub !== 'string' || typeof email !== 'string' || iat === undefined) return null;
    return { userId: sub, email, issuedAt: new Date(iat * 1000) };
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}
