import { createHash, timingSafeEqual } from 'node:crypto';

/** The token of `Authorization: Bearer …`, or null where there is none in that form. */
export function bearerToken(request: Request): string | null {
  const match = /^Bearer +([^\s]+) *$/i.exec(request.headers.get('authorization') ?? '');
  return match?.[1] ?? null;
}

/** Whether two secrets are equal, in a time that says nothing about where they differ or how long they are. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
