import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { JobHandler } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import { changeInChunks } from '../../retention/change-in-chunks.ts';
import { retentionQueue } from '../../retention/retention-queue.ts';

/** A request that a client may repeat without a second effect, per API key. */
export interface IdempotentRequest {
  readonly keyId: string;
  readonly idempotencyKey: string;
  /** The hash of method, path and body. */
  readonly sha256: Uint8Array<ArrayBuffer>;
}

/** The claim of a running call on an idempotency key. */
export interface IdempotentClaim extends IdempotentRequest {
  readonly callId: string;
}

/**
 * The state of an idempotency key for a request:
 *   free           no call has it, or the one that had it ended without a commit
 *   running        another call has it
 *   other-body     it was used for a different request
 *   answered       the answer is stored
 *   not-kept       it was answered and charged, but the answer was too large to store
 */
export type IdempotencyState = 'free' | 'running' | 'other-body' | 'answered' | 'not-kept';

/** A claim expires if it is not renewed for this long, by the database's clock, which all processes share. */
export const LEASE_MS = 60_000;

/** Only reads: finding a key free does not claim it. */
export async function findIdempotencyState(
  statements: Statements,
  { keyId, idempotencyKey, sha256 }: IdempotentRequest,
): Promise<IdempotencyState> {
  const [row] = await statements.query<{ state: IdempotencyState }>(
    `select case
       when sha256 <> $3::bytea then 'other-body'
       when ended_at is null and leased_until < now() then 'free'
       when ended_at is null then 'running'
       when sealed_answer is null then 'not-kept'
       else 'answered' end as state
     from idempotency_keys where key_id = $1 and idempotency_key = $2`,
    [keyId, idempotencyKey, sha256],
  );
  return row?.state ?? 'free';
}

/** True if the call has the key now. Of any number of concurrent calls, one gets it. */
export async function claimIdempotencyKey(
  statements: Statements,
  { keyId, idempotencyKey, sha256, callId }: IdempotentClaim,
): Promise<boolean> {
  const rows = await statements.query(
    `insert into idempotency_keys as present (key_id, idempotency_key, sha256, call_id, leased_until)
     values ($1, $2, $3, $4, now() + $5::float8 * interval '1 millisecond')
     on conflict (key_id, idempotency_key) do update
       set call_id = excluded.call_id, created_at = now(), leased_until = excluded.leased_until
       where present.ended_at is null and present.leased_until < now() and present.sha256 = excluded.sha256
     returning 1`,
    [keyId, idempotencyKey, sha256, callId, LEASE_MS],
  );
  return rows.length === 1;
}

/**
 * Renews the claims of running calls. Rows that another statement has locked are skipped: waiting for them could be a
 * deadlock, and there are two more renewals before a lease ends.
 */
export async function renewClaims(statements: Statements, claims: readonly IdempotentClaim[]): Promise<void> {
  await statements.query(
    `update idempotency_keys as present set leased_until = now() + $4::float8 * interval '1 millisecond'
     from (select key_id, idempotency_key from idempotency_keys
       join unnest($1::uuid[], $2::text[], $3::uuid[]) as running (key, idempotency, call)
         on key_id = key and idempotency_key = idempotency and call_id = call
       where ended_at is null for update of idempotency_keys skip locked) as own
     where present.key_id = own.key_id and present.idempotency_key = own.idempotency_key`,
    [
      claims.map(({ keyId }) => keyId),
      claims.map(({ idempotencyKey }) => idempotencyKey),
      claims.map(({ callId }) => callId),
      LEASE_MS,
    ],
  );
}

/** For a call that could not be written: it is not charged, so its key is freed. */
export async function freeIdempotencyKey(
  statements: Statements,
  { keyId, idempotencyKey, callId }: IdempotentClaim,
): Promise<void> {
  await statements.query(
    `delete from idempotency_keys
     where key_id = $1 and idempotency_key = $2 and call_id = $3 and ended_at is null`,
    [keyId, idempotencyKey, callId],
  );
}

interface IdempotentLeases {
  /** Renews its lease until `drop`. */
  keep(claim: IdempotentClaim): void;
  drop(claim: IdempotentClaim): void;
  count(): number;
  close(): void;
}

interface IdempotentLeaseParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
}

const RENEW_MS = LEASE_MS / 3;
/**
 * The delay after a failure. It is short so that, when the database is back, a repeat is unlikely to find a lease that ended
 * only because of the outage.
 */
const RENEW_AGAIN_MS = 2_000;
/** No call runs this long: an older claim was never dropped. */
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

/** Removes idempotency keys and their answers after their retention. */
export const IDEMPOTENCY_RETENTION_QUEUE = retentionQueue('idempotency-retention');
export const IDEMPOTENCY_RETENTION_CRON = '*/10 * * * *';

interface IdempotencyRetentionParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Counted from the claim of a key. */
  readonly keepMs: number;
}

/** With the largest answers that are stored by default this is 200 MB: short enough not to block others for long. */
const CHUNK_ROWS = 200;

/** Keys of running calls stay at any age. Returns the number of keys removed. */
export async function removeOldIdempotencyKeys(
  { database, clock, log, keepMs }: IdempotencyRetentionParts,
  signal?: AbortSignal,
): Promise<number> {
  const values = [new Date(clock.now() - keepMs)];
  const change = { sql: REMOVE_OLD_KEYS, values, chunkRows: CHUNK_ROWS, signal };
  const { rows: removed } = await changeInChunks(database, change);
  if (removed > 0) log.info('idempotency keys past their age were removed', { removed });
  return removed;
}

/** The handler of IDEMPOTENCY_RETENTION_QUEUE. */
export function createIdempotencyRetentionHandler(parts: IdempotencyRetentionParts): JobHandler {
  return async ({ signal }) => void (await removeOldIdempotencyKeys(parts, signal));
}

const REMOVE_OLD_KEYS = `delete from idempotency_keys as present
  using (select key_id, idempotency_key from idempotency_keys
    where created_at < $1 and (ended_at is not null or leased_until < now())
    order by created_at limit ${CHUNK_ROWS} for update skip locked) as old
  where present.key_id = old.key_id and present.idempotency_key = old.idempotency_key`;
