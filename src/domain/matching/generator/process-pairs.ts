import type { Database, Statements } from '../../../ports/database.ts';
import type { Secrets } from '../../../ports/secrets.ts';
import { SCORER_VERSION } from '../facts/facts.ts';
import { type Explanation, explainPair } from '../scoring/explain-pair.ts';
import type { JobFeatures, TalentFeatures } from '../scoring/features.ts';
import { type PairScore, type ScoreNumbers, scorePair } from '../scoring/score-pair.ts';
import { type CompanyWeights, findWeights, type Weights } from '../weights.ts';
import type { CompanyIndex } from './company-index.ts';
import type { WorkParts } from './process-changes.ts';
import {
  type Claim,
  type ClaimedPair,
  claimPairs,
  lastServed,
  MOST_ATTEMPTS,
  retryDelayMs,
} from './work-queue.ts';

interface PairsWorked {
  readonly claimed: number;
  /** Computed and stored by this process. */
  readonly processed: number;
  readonly failed: number;
  readonly scored: readonly ScoredPair[];
  readonly lastServed: string | undefined;
}

type PairScorer = (talent: TalentFeatures, job: JobFeatures, weights: Weights) => PairScore;

export interface PairWorkParts extends WorkParts {
  readonly secrets: Pick<Secrets, 'newId'>;
  /** Replaced only in tests, by one that fails or records its calls. */
  readonly score?: PairScorer;
}

/** Pairs scored before other work gets a turn: 50 pairs with their words take a few milliseconds. */
const PAIRS_A_TURN = 50;

/**
 * Processes one batch of waiting pairs. They are scored in the versions of the index, which are the requested or newer
 * ones. A pair that fails is put back individually; the others are stored.
 */
export async function workOffPairs(parts: PairWorkParts, claim: Claim): Promise<PairsWorked> {
  const { database, clock, indexes, log, secrets, score = scorePair } = parts;
  const pairs = await claimPairs(database, claim);
  if (pairs.length === 0) return { claimed: 0, processed: 0, failed: 0, scored: [], lastServed: claim.after };
  parts.onClaimed?.();
  const scored: ScoredPair[] = [];
  const failed: FailedPair[] = [];
  const gone: ClaimedPair[] = [];
  const already: DonePair[] = [];
  const known = await scoredVersions(database, pairs);

  function scoreOne(pair: ClaimedPair, index: CompanyIndex, own: CompanyWeights): void {
    const [talent, job] = [index.talents.get(pair.talentId), index.jobs.get(pair.jobId)];
    if (talent === undefined || job === undefined) return void gone.push(pair);
    if (talent.version < pair.talentVersion || job.version < pair.jobVersion) {
      return void failed.push({ ...pair, reason: 'the facts of its versions are not there' });
    }
    const before = known.get(`${pair.jobId} ${pair.talentId}`);
    if (before !== undefined && isSame(before, talent, job, own)) return void already.push(before);
    try {
      const numbers = score(talent, job, own.weights);
      const { score: combined, jobToTalent, talentToJob } = numbers;
      const words = explainPair(talent, job, numbers, own.weights);
      const { jobId, talentId, companyId } = pair;
      const versions = {
        jobVersion: job.version,
        talentVersion: talent.version,
        weightsVersion: own.version,
      };
      const ids = { id: secrets.newId(), jobId, talentId, companyId };
      scored.push({ ...ids, ...versions, score: combined, jobToTalent, talentToJob, ...words });
    } catch (error) {
      const { jobId, talentId } = pair;
      log.error('a pair cannot be scored', { jobId, talentId, attempts: pair.attempts, error });
      failed.push({ ...pair, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  for (const [companyId, own] of Map.groupBy(pairs, (pair) => pair.companyId)) {
    const index = await indexes.open(companyId);
    const weights = await findWeights(database, companyId);
    for (const [at, pair] of own.entries()) {
      scoreOne(pair, index, weights);
      if (at % PAIRS_A_TURN === PAIRS_A_TURN - 1) await clock.turn();
    }
  }
  const processed = await storeResults(database, claim.id, { scored, already, failed, gone }, clock.now());
  return {
    ...{ claimed: pairs.length, processed, failed: failed.length, scored },
    lastServed: lastServed(pairs, claim.after),
  };
}

function isSame(
  before: DonePair,
  talent: TalentFeatures,
  job: JobFeatures,
  { version }: CompanyWeights,
): boolean {
  const { jobVersion, talentVersion, weightsVersion } = before;
  return jobVersion === job.version && talentVersion === talent.version && weightsVersion === version;
}

/** A pair with the versions in which it was scored. */
interface DonePair {
  readonly jobId: string;
  readonly talentId: string;
  readonly jobVersion: number;
  readonly talentVersion: number;
  readonly weightsVersion: number;
}

/** A pair's score, with the versions it was computed from. */
export interface ScoredPair extends DonePair, ScoreNumbers, Explanation {
  readonly id: string;
  readonly companyId: string;
}

interface FailedPair extends ClaimedPair {
  readonly reason: string;
}

interface PairResults {
  readonly scored: readonly ScoredPair[];
  readonly failed: readonly FailedPair[];
  /** Already scored in these versions: requested before the result was visible. */
  readonly already: readonly DonePair[];
  /** Pairs whose talent or job can no longer be matched. */
  readonly gone: readonly ClaimedPair[];
}

/**
 * Stores scores and removes their pairs from the queue in one transaction. A score is stored only if the pair is still
 * claimed by this process: after the lease expired, another process may own it. A pair that was requested in newer
 * versions in the meantime stays in the queue. Returns the number of stored scores.
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
    for (const pair of failed) await putBackPair(transaction, claimId, pair, nowMs);
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
  // A separate statement, because it also sees newer versions requested while the first one waited for a lock.
  await transaction.query(
    `update match_pairs as own set claim_id = null, claimed_until = null, attempts = 0
     from unnest($2::uuid[], $3::uuid[]) as d (job_id, talent_id) where ${isOurs}`,
    [claimId, columns[0], columns[1]],
  );
}

const LATEST = 2 ** 31 - 1;
const NEWEST = { jobVersion: LATEST, talentVersion: LATEST, weightsVersion: LATEST } as const;

/** The versions in which claimed pairs were scored by this scorer, by `jobId talentId`. */
async function scoredVersions(
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

async function putBackPair(
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
