import type { Secrets } from '../../ports/secrets.ts';
import { type Claim, type ClaimedPair, claimPairs } from './claims.ts';
import type { CompanyIndex } from './company-index.ts';
import { findWeights } from './company-weights.ts';
import { explainPair } from './explain-pair.ts';
import type { JobFeatures, TalentFeatures } from './features.ts';
import { type PairScore, scorePair } from './score-pair.ts';
import {
  type DonePair,
  type FailedPair,
  type ScoredPair,
  scoredVersions,
  storeResults,
} from './store-scores.ts';
import type { CompanyWeights, Weights } from './weights.ts';
import type { WorkParts } from './work-changes.ts';

export interface PairsWorked {
  readonly claimed: number;
  /** Computed and stored by us. */
  readonly processed: number;
  readonly failed: number;
  readonly scored: readonly ScoredPair[];
}

export type PairScorer = (talent: TalentFeatures, job: JobFeatures, weights: Weights) => PairScore;

export interface PairWorkParts extends WorkParts {
  readonly secrets: Pick<Secrets, 'newId'>;
  /** Another one only in tests: one that fails, or that tells what it was asked. */
  readonly score?: PairScorer;
}

/** Pairs that are scored before others have a turn: 50 pairs are some milliseconds with their words. */
const PAIRS_A_TURN = 50;

/**
 * One batch of waiting pairs. They are scored in the versions that the index holds, which are those asked for or newer;
 * one that fails is put back by itself, and the others are stored.
 */
export async function workOffPairs(parts: PairWorkParts, claim: Claim): Promise<PairsWorked> {
  const { database, clock, indexes, log, secrets, score = scorePair } = parts;
  const pairs = await claimPairs(database, claim);
  if (pairs.length === 0) return { claimed: 0, processed: 0, failed: 0, scored: [] };
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
  return { claimed: pairs.length, processed, failed: failed.length, scored };
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
