import type { Statements } from '../../../ports/database.ts';
import { findMatchableJobs } from '../../jobs/job.ts';
import { findMatchableTalents } from '../../talents/talent.ts';
import {
  type JobFacts,
  SCORER_VERSION,
  type StoredVector,
  type TalentFacts,
  vectorBytes,
} from '../facts/facts.ts';
import type { StoredJob } from '../facts/read-job.ts';
import type { StoredTalent } from '../facts/read-talent.ts';
import type { SubjectKind } from './work-queue.ts';

/**
 * The current version of a talent or job. It is live if it can be matched: a talent that was read, a job that is open.
 */
export type FoundSubject = { readonly id: string; readonly version: number; readonly isLive: boolean } & (
  | { readonly kind: 'talent'; readonly stored: StoredTalent }
  | { readonly kind: 'job'; readonly stored: StoredJob }
);

export async function findTalentSubjects(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly FoundSubject[]> {
  const rows = await findMatchableTalents(statements, ids);
  return rows.map(({ id, version, isLive, ...stored }) => ({ id, version, isLive, kind: 'talent', stored }));
}

export async function findJobSubjects(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly FoundSubject[]> {
  const rows = await findMatchableJobs(statements, ids);
  return rows.map(({ id, version, isLive, ...stored }) => ({ id, version, isLive, kind: 'job', stored }));
}

export interface PreparedSubject {
  readonly id: string;
  readonly kind: SubjectKind;
  readonly companyId: string;
  readonly version: number;
  readonly facts: TalentFacts | JobFacts;
  readonly vector: StoredVector | null;
}

/** Those whose facts and vector of this model are stored. If the version is current, only their pairs need processing. */
export async function preparedVersions(
  statements: Statements,
  ids: readonly string[],
  embedModel: string | null,
): Promise<ReadonlyMap<string, number>> {
  const rows = await statements.query<{ id: string; version: number }>(
    `select subject_id as id, version from match_subjects
     where subject_id = any($1::uuid[]) and is_live and scorer_version >= $2 and vector is not null
       and embed_model = coalesce($3, embed_model)`,
    [ids, SCORER_VERSION, embedModel],
  );
  return new Map(rows.map(({ id, version }) => [id, version]));
}

/**
 * Never overwrites a newer version. If the same version gets its first vector or one of another model, its scores are
 * marked as outdated, because they were computed without it.
 */
export async function storeSubject(
  statements: Statements,
  { id, kind, companyId, version, facts, vector }: PreparedSubject,
  writtenAt: Date,
): Promise<void> {
  const found = { ...facts } as unknown as { readonly [key: string]: unknown };
  await statements.query(
    `with before as (select version, embed_model from match_subjects where subject_id = $1 and is_live),
       marked as (update match_scores set scorer_version = 0 from before
         where (job_id = $1 or talent_id = $1) and before.version = $4 and before.embed_model is distinct from $7)
     insert into match_subjects as own (subject_id, kind, company_id, version, is_live, facts, vector, embed_model,
       scorer_version, written_at)
     values ($1, $2, $3, $4, true, $5, $6, $7, $8, $9)
     on conflict (subject_id) do update set version = excluded.version, is_live = true, facts = excluded.facts,
       vector = excluded.vector, embed_model = excluded.embed_model, scorer_version = excluded.scorer_version,
       written_in = pg_current_xact_id(), written_at = excluded.written_at
     where own.version <= excluded.version`,
    [
      id,
      kind,
      companyId,
      version,
      found,
      vector === null ? null : vectorBytes(vector),
      vector?.model ?? null,
      SCORER_VERSION,
      writtenAt,
    ],
  );
}

/** A subject that cannot be matched (any longer) has no scores and no waiting pairs. */
export async function retireSubjects(
  statements: Statements,
  ids: readonly string[],
  writtenAt: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await statements.query(
    'delete from match_scores where job_id = any($1::uuid[]) or talent_id = any($1::uuid[])',
    [ids],
  );
  await statements.query(
    'delete from match_pairs where job_id = any($1::uuid[]) or talent_id = any($1::uuid[])',
    [ids],
  );
  await statements.query(
    `update match_subjects set is_live = false, facts = null, vector = null, embed_model = null,
       written_in = pg_current_xact_id(), written_at = $2
     where subject_id = any($1::uuid[]) and is_live`,
    [ids, writtenAt],
  );
}
