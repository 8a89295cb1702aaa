import type { Statements } from '../../ports/database.ts';

/** A call that its client may send again without a second effect, for one API key. */
export interface AskedOnce {
  readonly keyId: string;
  readonly idempotencyKey: string;
  /** Of method, path and body. */
  readonly sha256: Uint8Array<ArrayBuffer>;
}

/** What one call has while it runs. */
export interface IdempotentClaim extends AskedOnce {
  readonly callId: string;
}

/**
 * How an idempotency key stands for what is asked now:
 *   free           nobody has it, or who had it has died without a commit
 *   running        another call has it
 *   other-body     it was used for something else
 *   answered       the answer is there
 *   not-kept       it was answered and charged, and the answer was too large to be kept
 */
export type IdempotencyState = 'free' | 'running' | 'other-body' | 'answered' | 'not-kept';

/** Without a word of its call for so long, a claim has ended. By the database's clock, which all processes share. */
export const LEASE_MS = 60_000;

/** Reads only: who finds it free has nothing yet. */
export async function findIdempotencyState(
  statements: Statements,
  { keyId, idempotencyKey, sha256 }: AskedOnce,
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

/** True where the call has the key now. Of any number at once, one has it. */
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
 * For claims whose calls still run. What another statement has locked is left out: waiting for it while others wait
 * for this one could be a circle, and there are two more renewals before a lease ends.
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

/** For a call that could not be written: nothing of it is charged, so its key is free again. */
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
