import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { type IdempotentClaim, LEASE_MS, renewClaims } from './idempotent-claims.ts';

export interface IdempotentLeases {
  /** Renews its lease until `drop`. */
  keep(claim: IdempotentClaim): void;
  drop(claim: IdempotentClaim): void;
  count(): number;
  close(): void;
}

export interface IdempotentLeaseParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
}

const RENEW_MS = LEASE_MS / 3;
/** After a failure: when the database is back, a repeat must not find leases that ended only because it was away. */
const RENEW_AGAIN_MS = 2_000;
/** No call runs that long: one that does was forgotten. */
const MOST_KEPT_MS = 48 * 3_600_000;

/** The leases of all running calls of this process, renewed together. */
export function createIdempotentLeases({ database, clock, log }: IdempotentLeaseParts): IdempotentLeases {
  const running = new Map<string, { readonly claim: IdempotentClaim; readonly sinceMs: number }>();
  let timer: Timer | null = null;
  let isRenewing = false;
  let isFailing = false;

  function arm(delayMs: number): void {
    if (running.size === 0 || isRenewing) return;
    timer ??= clock.after(delayMs, () => {
      timer = null;
      isRenewing = true;
      void renew();
    });
  }

  async function renew(): Promise<void> {
    const now = clock.now();
    const claims: IdempotentClaim[] = [];
    for (const [callId, { claim, sinceMs }] of running) {
      if (now - sinceMs > MOST_KEPT_MS) running.delete(callId);
      else claims.push(claim);
    }
    try {
      await renewClaims(database, claims);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn('the leases of running idempotent calls cannot be renewed', { error });
      isFailing = true;
    }
    isRenewing = false;
    arm(isFailing ? RENEW_AGAIN_MS : RENEW_MS);
  }

  return {
    keep(claim) {
      running.set(claim.callId, { claim, sinceMs: clock.now() });
      arm(RENEW_MS);
    },
    drop({ callId }) {
      running.delete(callId);
      if (running.size > 0) return;
      timer?.cancel();
      timer = null;
    },
    count: () => running.size,
    close() {
      running.clear();
      timer?.cancel();
      timer = null;
    },
  };
}
