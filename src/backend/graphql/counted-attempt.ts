import type { AttemptKind } from '../../domain/accounts/attempts.ts';
import { rateLimited } from './refusals.ts';
import type { RequestContext } from './request-context.ts';

/** Counts an attempt from the client's address and on the account, if one is named; RATE_LIMITED beyond. */
export async function countAttempt(
  context: RequestContext,
  kind: AttemptKind,
  account?: string,
): Promise<void> {
  const counted = await context.parts.attempts.count(kind, context.clientAddress, account);
  if (counted.outcome === 'refused') throw rateLimited(counted.retryAfterMs);
}
