import type { Statements } from '../../ports/database.ts';

/**
 * Who works on what. A claim is a lease, taken in one short statement that skips what others are claiming, and held
 * without a lock while facts are read, models asked and scores computed: on the embedded database a lock would stop
 * everybody. What a dead process had is free once its lease has run out.
 */
export interface Claim {
  readonly id: string;
  readonly nowMs: number;
  readonly leaseMs: number;
  readonly limit: number;
}

export type SubjectKind = 'talent' | 'job';

export interface ClaimedChange {
  readonly subjectId: string;
  readonly kind: SubjectKind;
  readonly companyId: string;
  readonly changeNo: bigint;
  /** This one included. */
  readonly attempts: number;
}

export interface ClaimedPair {
  readonly jobId: string;
  readonly talentId: string;
  /** Those asked for; it is scored in these or newer ones. */
  readonly jobVersion: number;
  readonly talentVersion: number;
  readonly companyId: string;
  readonly attempts: number;
}

/** What people changed first, then what sweeps ask for; each in the order in which it came. */
export async function claimChanges(
  statements: Statements,
  { id, nowMs, leaseMs, limit }: Claim,
): Promise<readonly ClaimedChange[]> {
  return await statements.query<ClaimedChange>(
    `update match_changes as own set claim_id = $1, claimed_until = $2, attempts = own.attempts + 1
     from (select subject_id from match_changes
           where due_at <= $3 and (claimed_until is null or claimed_until < $3)
           order by priority, change_no limit $4 for update skip locked) as free
     where own.subject_id = free.subject_id
     returning own.subject_id as "subjectId", own.kind, own.company_id as "companyId", own.change_no as "changeNo",
       own.attempts`,
    [id, new Date(nowMs + leaseMs), new Date(nowMs), limit],
  );
}

export async function claimPairs(
  statements: Statements,
  { id, nowMs, leaseMs, limit }: Claim,
): Promise<readonly ClaimedPair[]> {
  return await statements.query<ClaimedPair>(
    `update match_pairs as own set claim_id = $1, claimed_until = $2, attempts = own.attempts + 1
     from (select job_id, talent_id from match_pairs
           where failed_at is null and due_at <= $3 and (claimed_until is null or claimed_until < $3)
           order by pair_no limit $4 for update skip locked) as free
     where own.job_id = free.job_id and own.talent_id = free.talent_id
     returning own.job_id as "jobId", own.talent_id as "talentId", own.company_id as "companyId", own.attempts,
       own.job_version as "jobVersion", own.talent_version as "talentVersion"`,
    [id, new Date(nowMs + leaseMs), new Date(nowMs), limit],
  );
}

/** Tries before something is left alone until it changes. */
export const MOST_ATTEMPTS = 5;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 300_000;

export function retryDelayMs(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 4 ** (attempts - 1));
}

/** Done, unless it has changed again meanwhile: then it is free for the next claim. */
export async function finishChanges(
  statements: Statements,
  claimId: string,
  done: readonly ClaimedChange[],
): Promise<void> {
  if (done.length === 0) return;
  const ids = done.map(({ subjectId }) => subjectId);
  await statements.query(
    `delete from match_changes as own using unnest($2::uuid[], $3::bigint[]) as done (subject_id, change_no)
     where own.subject_id = done.subject_id and own.change_no = done.change_no and own.claim_id = $1`,
    [claimId, ids, done.map(({ changeNo }) => changeNo)],
  );
  // A statement of its own: what changed while the first one waited for it is seen only now.
  await statements.query(
    `update match_changes set claim_id = null, claimed_until = null, attempts = 0
     where subject_id = any($2::uuid[]) and claim_id = $1`,
    [claimId, ids],
  );
}

/** Another try later; after the last one it waits for a change. */
export async function putBackChange(
  statements: Statements,
  claimId: string,
  { subjectId, changeNo, attempts }: ClaimedChange,
  { nowMs, reason }: { readonly nowMs: number; readonly reason: string },
): Promise<void> {
  const dueAt =
    attempts >= MOST_ATTEMPTS ? 'infinity' : new Date(nowMs + retryDelayMs(attempts)).toISOString();
  await statements.query(
    `update match_changes set claim_id = null, claimed_until = null, error = $4,
       due_at = case when change_no = $3 then $5::timestamptz else due_at end
     where subject_id = $1 and claim_id = $2`,
    [subjectId, claimId, changeNo, reason.slice(0, 500), dueAt],
  );
}
