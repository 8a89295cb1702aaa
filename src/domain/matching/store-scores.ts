import type { Database, Statements } from '../../ports/database.ts';
import { type ClaimedPair, MOST_ATTEMPTS, retryDelayMs } from './claims.ts';
import type { MatchPart } from './explain-pair.ts';
import { SCORER_VERSION } from './facts.ts';

/** A pair in the versions in which it is done. */
export interface DonePair {
  readonly jobId: string;
  readonly talentId: string;
  readonly jobVersion: number;
  readonly talentVersion: number;
  readonly weightsVersion: number;
}

/** A pair's score, with the versions it was computed from. */
export interface ScoredPair extends DonePair {
  readonly id: string;
  readonly companyId: string;
  readonly score: number;
  readonly jobToTalent: number;
  readonly talentToJob: number;
  readonly parts: readonly MatchPart[];
  readonly reasons: readonly string[];
  readonly missing: readonly string[];
}

export interface FailedPair extends ClaimedPair {
  readonly reason: string;
}

export interface PairResults {
  readonly scored: readonly ScoredPair[];
  readonly failed: readonly FailedPair[];
  /** Scored in these versions before: asked for by somebody who could not see it yet. */
  readonly already: readonly DonePair[];
  /** Pairs of which one cannot be matched any more. */
  readonly gone: readonly ClaimedPair[];
}

/**
 * Scores and the end of their waiting, in one transaction. A score is stored only where the pair is still claimed by us:
 * what another process took over after our lease ran out is theirs. A pair that was asked for in newer versions
 * meanwhile goes on waiting. Returns how many scores were stored.
 */
export async function storeResults(
  database: Database,
  claimId: string,
  { scored, already, failed, gone }: PairResults,
  nowMs: number,
): Promise<number> {
  return await database.transaction(async (transaction) => {
    const stored = scored.length === 0 ? 0 : await storeScores(transaction, claimId, scored, new Date(nowMs));
    const done = [...scored, ...already, ...gone.map((pair) => ({ ...pair, ...NEWEST }))];
    await endWaiting(transaction, claimId, done);
    for (const pair of failed) await putBack(transaction, claimId, pair, nowMs);
    return stored;
  });
}

async function storeScores(
  transaction: Statements,
  claimId: string,
  scored: readonly ScoredPair[],
  updatedAt: Date,
): Promise<number> {
  const rows = await transaction.query(
    `insert into match_scores as own (id, job_id, talent_id, company_id, job_version, talent_version, scorer_version,
       weights_version, score, job_to_talent, talent_to_job, parts, reasons, missing, engine, updated_at)
     select r.id, r."jobId", r."talentId", r."companyId", r."jobVersion", r."talentVersion", $3, r."weightsVersion",
       r.score, r."jobToTalent", r."talentToJob", r.parts,
       array(select jsonb_array_elements_text(r.reasons)), array(select jsonb_array_elements_text(r.missing)),
       'embedded', $4
     from jsonb_to_recordset($2::jsonb -> 'rows') as r (id uuid, "jobId" uuid, "talentId" uuid, "companyId" uuid,
       "jobVersion" integer, "talentVersion" integer, "weightsVersion" integer, score float8, "jobToTalent" float8,
       "talentToJob" float8, parts jsonb, reasons jsonb, missing jsonb)
     join match_pairs as p on p.job_id = r."jobId" and p.talent_id = r."talentId" and p.claim_id = $1
     order by r."jobId", r."talentId"
     on conflict (job_id, talent_id) do update set job_version = excluded.job_version,
       talent_version = excluded.talent_version, scorer_version = excluded.scorer_version,
       weights_version = excluded.weights_version, score = excluded.score, job_to_talent = excluded.job_to_talent,
       talent_to_job = excluded.talent_to_job, parts = excluded.parts, reasons = excluded.reasons,
       missing = excluded.missing, engine = excluded.engine, updated_at = excluded.updated_at
     where own.job_version <= excluded.job_version and own.talent_version <= excluded.talent_version
     returning 1`,
    [claimId, { rows: scored }, SCORER_VERSION, updatedAt],
  );
  return rows.length;
}

async function endWaiting(
  transaction: Statements,
  claimId: string,
  done: readonly DonePair[],
): Promise<void> {
  if (done.length === 0) return;
  const columns = [
    done.map(({ jobId }) => jobId),
    done.map(({ talentId }) => talentId),
    done.map(({ jobVersion }) => jobVersion),
    done.map(({ talentVersion }) => talentVersion),
    done.map(({ weightsVersion }) => weightsVersion),
  ] as const;
  const named = `unnest($2::uuid[], $3::uuid[], $4::integer[], $5::integer[], $6::integer[])
       as d (job_id, talent_id, jv, tv, wv)`;
  const isOurs = 'own.job_id = d.job_id and own.talent_id = d.talent_id and own.claim_id = $1';
  await transaction.query(
    `delete from match_pairs as own using ${named} where ${isOurs} and own.job_version <= d.jv
       and own.talent_version <= d.tv and own.weights_version <= d.wv and own.scorer_version <= $7`,
    [claimId, ...columns, SCORER_VERSION],
  );
  // A statement of its own: one that asked for newer versions while the first one waited for it is seen only now.
  await transaction.query(
    `update match_pairs as own set claim_id = null, claimed_until = null, attempts = 0
     from unnest($2::uuid[], $3::uuid[]) as d (job_id, talent_id) where ${isOurs}`,
    [claimId, columns[0], columns[1]],
  );
}

const LATEST = 2 ** 31 - 1;
const NEWEST = { jobVersion: LATEST, talentVersion: LATEST, weightsVersion: LATEST } as const;

/** In which versions claimed pairs have been scored by this scorer, by `jobId talentId`. */
export async function scoredVersions(
  statements: Statements,
  pairs: readonly ClaimedPair[],
): Promise<ReadonlyMap<string, DonePair>> {
  const rows = await statements.query<DonePair>(
    `select job_id as "jobId", talent_id as "talentId", job_version as "jobVersion",
       talent_version as "talentVersion", weights_version as "weightsVersion"
     from match_scores join unnest($1::uuid[], $2::uuid[]) as asked (job_id, talent_id) using (job_id, talent_id)
     where scorer_version >= $3`,
    [pairs.map(({ jobId }) => jobId), pairs.map(({ talentId }) => talentId), SCORER_VERSION],
  );
  return new Map(rows.map((row) => [`${row.jobId} ${row.talentId}`, row]));
}

async function putBack(
  transaction: Statements,
  claimId: string,
  { jobId, talentId, attempts, reason }: FailedPair,
  nowMs: number,
): Promise<void> {
  const isLast = attempts >= MOST_ATTEMPTS;
  await transaction.query(
    `update match_pairs set claim_id = null, claimed_until = null, error = $4, due_at = $5, failed_at = $6
     where job_id = $1 and talent_id = $2 and claim_id = $3`,
    [
      jobId,
      talentId,
      claimId,
      reason.slice(0, 500),
      new Date(nowMs + retryDelayMs(attempts)),
      isLast ? new Date(nowMs) : null,
    ],
  );
}
