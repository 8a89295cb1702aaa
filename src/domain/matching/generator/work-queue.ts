import type { SqlValue, Statements } from '../../../ports/database.ts';
import { SCORER_VERSION } from '../facts/facts.ts';

/**
 * Work is distributed by claims. A claim is a lease, made in one short statement that skips rows that others are
 * claiming. No lock is held while facts are read, models are called and scores are computed: on the embedded database a
 * lock would block everything. The claims of a dead process are free when their lease expires.
 */
export interface Claim {
  readonly id: string;
  readonly nowMs: number;
  readonly leaseMs: number;
  readonly limit: number;
  /** The company that was served last. */
  readonly after?: string | undefined;
}

export type SubjectKind = 'talent' | 'job';

export interface ClaimedChange {
  readonly subjectId: string;
  readonly kind: SubjectKind;
  readonly companyId: string;
  readonly changeNo: bigint;
  /** Including this one. */
  readonly attempts: number;
}

export interface ClaimedPair {
  readonly jobId: string;
  readonly talentId: string;
  /** The requested versions; the pair is scored in these or newer ones. */
  readonly jobVersion: number;
  readonly talentVersion: number;
  readonly companyId: string;
  readonly attempts: number;
}

/**
 * Companies take turns: a claim starts with the companies after the last one served, by id and wrapping around, so that
 * a company with a hundred thousand waiting items delays the others by one batch only. Each process has its own order.
 *
 *   changes   the batch is divided evenly; changes by people first, then those from sweeps
 *   pairs     as many of one company as fit in the batch, then the next company: a model words the best pairs of each
 *             company per batch
 */
const MOST_COMPANIES = 16;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const PRIORITIES = [0, 1] as const;

export async function claimChanges(statements: Statements, claim: Claim): Promise<readonly ClaimedChange[]> {
  for (const priority of PRIORITIES) {
    const rows = await statements.query<ClaimedChange>(
      `with recursive ${turnsOf('match_changes', 'own.priority = $6')},
         free as (
           select next.subject_id from turns, lateral (
             select own.subject_id from match_changes as own
             where own.company_id = turns.company_id and own.priority = $6 and ${IS_FREE}
             order by own.change_no limit (select ceil($4::bigint / count(*)::float8)::bigint from turns)
             for update skip locked) as next
           limit $4)
       update match_changes as own set claim_id = $1, claimed_until = $2, attempts = own.attempts + 1
       from free where own.subject_id = free.subject_id
       returning own.subject_id as "subjectId", own.kind, own.company_id as "companyId", own.change_no as "changeNo",
         own.attempts`,
      [...claimValues(claim), priority],
      { isIndependent: true },
    );
    if (rows.length > 0) return rows;
  }
  return [];
}

export async function claimPairs(statements: Statements, claim: Claim): Promise<readonly ClaimedPair[]> {
  return await statements.query<ClaimedPair>(
    `with recursive ${turnsOf('match_pairs', 'own.failed_at is null')},
       free as (
         select next.job_id, next.talent_id from turns, lateral (
           select own.job_id, own.talent_id from match_pairs as own
           where own.company_id = turns.company_id and own.failed_at is null and ${IS_FREE}
           order by own.pair_no limit $4 for update skip locked) as next
         limit $4)
     update match_pairs as own set claim_id = $1, claimed_until = $2, attempts = own.attempts + 1
     from free where own.job_id = free.job_id and own.talent_id = free.talent_id
     returning own.job_id as "jobId", own.talent_id as "talentId", own.company_id as "companyId", own.attempts,
       own.job_version as "jobVersion", own.talent_version as "talentVersion"`,
    claimValues(claim),
    { isIndependent: true },
  );
}

const IS_FREE = 'own.due_at <= $3 and (own.claimed_until is null or own.claimed_until < $3)';

function claimValues({ id, nowMs, leaseMs, limit, after }: Claim): readonly SqlValue[] {
  return [id, new Date(nowMs + leaseMs), new Date(nowMs), limit, after ?? FIRST_ID];
}

/** The companies with unclaimed items, those after $5 first. Takes one index lookup per company, whatever its backlog. */
function turnsOf(table: 'match_changes' | 'match_pairs', condition: string): string {
  const next = (bounds: string) =>
    `select own.company_id from ${table} as own where ${condition} and ${bounds} and ${IS_FREE}
     order by own.company_id limit 1`;
  const walk = (name: string, first: string, bounds: string) =>
    `${name} (company_id) as ((${next(first)}) union all
       select found.company_id from ${name}, lateral (${next(`own.company_id > ${name}.company_id${bounds}`)}) as found)`;
  return `${walk('later', 'own.company_id > $5', '')}, ${walk('earlier', `own.company_id >= '${FIRST_ID}' and own.company_id <= $5`, ' and own.company_id <= $5')},
    turns as materialized (
      select company_id from (select company_id from later union all select company_id from earlier) as waiting
      limit ${MOST_COMPANIES})`;
}

/** The company that was served last; the next claim starts after it. */
export function lastServed(
  claimed: readonly { readonly companyId: string }[],
  after: string | undefined,
): string | undefined {
  const ids = [...new Set(claimed.map(({ companyId }) => companyId))].sort();
  return ids.findLast((id) => id <= (after ?? FIRST_ID)) ?? ids.at(-1) ?? after;
}

/** Attempts before an item is left alone until it changes. */
export const MOST_ATTEMPTS = 5;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 300_000;

export function retryDelayMs(attempts: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 4 ** (attempts - 1));
}

/** Deletes the finished changes. One that changed again in the meantime is released for the next claim. */
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
  // A separate statement, because it also sees changes made while the first one waited for a lock.
  await statements.query(
    `update match_changes set claim_id = null, claimed_until = null, attempts = 0
     where subject_id = any($2::uuid[]) and claim_id = $1`,
    [claimId, ids],
  );
}

/** Schedules a retry; after the last attempt it waits for a change. */
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

/**
 * Enqueues the pairs of one talent or job: its candidates, and those that it has a score with, which must not become
 * outdated. A pair already scored in these versions is skipped, and a waiting pair is only raised to the newer
 * versions, so that it is scored once even if several changes and processes request it. Rows are inserted in key order,
 * so that concurrent requests for the same pairs wait for each other instead of deadlocking.
 */
export async function enqueuePairs(
  statements: Statements,
  { id, kind }: { readonly id: string; readonly kind: SubjectKind },
  candidates: readonly string[],
): Promise<number> {
  const [own, other] = kind === 'job' ? ['j', 't'] : ['t', 'j'];
  const [ownColumn, otherColumn] = kind === 'job' ? ['job_id', 'talent_id'] : ['talent_id', 'job_id'];
  const rows = await statements.query(
    `insert into match_pairs as waiting (job_id, talent_id, company_id, job_version, talent_version, scorer_version,
       weights_version)
     select j.subject_id, t.subject_id, j.company_id, j.version, t.version, $3::integer, coalesce(w.version, 0)
     from match_subjects as j
     join match_subjects as t on t.company_id = j.company_id and t.kind = 'talent' and t.is_live
     left join match_weights as w on w.company_id = j.company_id
     left join match_scores as s on s.job_id = j.subject_id and s.talent_id = t.subject_id
     where j.kind = 'job' and j.is_live and ${own}.subject_id = $1
       and ${other}.subject_id in (
         select unnest($2::uuid[]) union select ${otherColumn} from match_scores where ${ownColumn} = $1)
       and (s.job_id is null or (s.job_version, s.talent_version) <> (j.version, t.version)
         or s.scorer_version < $3 or s.weights_version <> coalesce(w.version, 0))
     order by 1, 2
     on conflict (job_id, talent_id) do update set
       job_version = greatest(waiting.job_version, excluded.job_version),
       talent_version = greatest(waiting.talent_version, excluded.talent_version),
       scorer_version = greatest(waiting.scorer_version, excluded.scorer_version),
       weights_version = greatest(waiting.weights_version, excluded.weights_version),
       due_at = '-infinity', attempts = 0, failed_at = null, error = null
     where waiting.job_version < excluded.job_version or waiting.talent_version < excluded.talent_version
       or waiting.scorer_version < excluded.scorer_version or waiting.weights_version < excluded.weights_version
     returning 1`,
    [id, candidates, SCORER_VERSION],
  );
  return rows.length;
}
