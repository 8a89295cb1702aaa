import type { Statements } from '../../ports/database.ts';
import { JOB_COLUMNS, type Job, type JobStatus } from './job.ts';
import type { JobVersion } from './write-version.ts';

export interface JobWish {
  readonly limit: number;
  /** The id of the last job of the page before. */
  readonly after: string | null;
  /** Null is every status. */
  readonly status: JobStatus | null;
  /** Changed at or after. */
  readonly updatedSince?: Date | null;
  /** Words that must all stand somewhere in the job, whatever their case. */
  readonly words?: readonly string[];
}

const MOST_AT_ONCE = 1_000;
export const MOST_WORDS = 10;
export const LONGEST_SEARCH = 200;

/** A company's jobs, the newest first: by id, which grows with time and never changes, so no page misses one. */
export async function listJobs(
  statements: Statements,
  companyId: string,
  { limit, after, status, updatedSince = null, words = [] }: JobWish,
): Promise<readonly Job[]> {
  return await statements.query<Job>(
    `select ${JOB_COLUMNS} from jobs
     where company_id = $1 and ($2::uuid is null or id < $2) and ($3::text is null or status = $3)
       and ($4::timestamptz is null or updated_at >= $4)
       and not exists (select 1 from unnest($5::text[]) as word where position(word in lower(concat_ws(' ', title,
         description, location, employment_type, array_to_string(must_have, ' '), array_to_string(nice_to_have, ' ')))) = 0)
     order by id desc limit $6`,
    [companyId, after, status, updatedSince, words, Math.min(Math.max(1, limit), MOST_AT_ONCE)],
  );
}

/** A search as the words that `listJobs` takes; the rest of a longer one is left out. */
export function searchWords(search: string): readonly string[] {
  const words = search.slice(0, LONGEST_SEARCH).toLowerCase().split(/\s+/);
  return [...new Set(words.filter((word) => word !== ''))].slice(0, MOST_WORDS);
}

/** In the order of the ids; null for a job of another company, as for one that does not exist. */
export async function findJobs(
  statements: Statements,
  companyId: string,
  ids: readonly string[],
): Promise<readonly (Job | null)[]> {
  const rows = await statements.query<Job>(
    `select ${JOB_COLUMNS} from jobs where company_id = $1 and id = any($2::uuid[])`,
    [companyId, ids],
  );
  const byId = new Map(rows.map((job) => [job.id, job]));
  return ids.map((id) => byId.get(id) ?? null);
}

const MOST_VERSIONS = 100;

/** A job's newest versions, the newest first. */
export async function listJobVersions(
  statements: Statements,
  companyId: string,
  jobId: string,
): Promise<readonly JobVersion[]> {
  return await statements.query<JobVersion>(
    `select own.version, own.what, own.fields, own.changed_by as "changedBy", person.email as "changedByEmail",
       own.changed_at as "changedAt"
     from job_versions as own join jobs as job on job.id = own.job_id
     left join users as person on person.id = own.changed_by
     where own.job_id = $1 and job.company_id = $2 order by own.version desc limit ${MOST_VERSIONS}`,
    [jobId, companyId],
  );
}
