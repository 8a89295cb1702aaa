import { z } from 'zod';
import type { Statements, Transaction } from '../../ports/database.ts';
import { findEmails } from '../accounts/user.ts';

export type JobStatus = 'DRAFT' | 'ACTIVE' | 'CLOSED';
export type JobParsing = 'NONE' | 'PENDING' | 'DONE' | 'FAILED';

/** The fields that a user may set. Otherwise they are read from the posting. */
export interface JobFields {
  readonly title: string;
  readonly description: string;
  readonly location: string | null;
  readonly remote: boolean;
  readonly employmentType: string | null;
  readonly mustHave: readonly string[];
  readonly niceToHave: readonly string[];
  readonly minMonthsExperience: number | null;
}

export type JobFieldName = keyof JobFields;

const JOB_FIELD_NAMES = [
  'title',
  'description',
  'location',
  'remote',
  'employmentType',
  'mustHave',
  'niceToHave',
  'minMonthsExperience',
] as const satisfies readonly JobFieldName[];

export interface Job extends JobFields {
  readonly id: string;
  readonly companyId: string;
  readonly version: number;
  readonly status: JobStatus;
  readonly parsing: JobParsing;
  /** Why it could not be read; null unless `parsing` is FAILED. */
  readonly parseProblem: string | null;
  /** The engine that read the posting; null if none has. */
  readonly engine: 'model' | 'embedded' | null;
  /** The fields that a person has set. */
  readonly given: readonly JobFieldName[];
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A posting as pasted or uploaded. */
export interface JobFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Selects a row of `jobs` as a Job. */
export const JOB_COLUMNS = `id, company_id as "companyId", version, status, title, description, location, remote,
  employment_type as "employmentType", must_have as "mustHave", nice_to_have as "niceToHave",
  min_months_experience as "minMonthsExperience", parsing, parse_problem as "parseProblem", engine, given,
  created_by as "createdBy", created_at as "createdAt", updated_at as "updatedAt"`;

/** Requested changes: an absent field stays as it is; null clears an optional one. */
export type RequestedJobFields = { readonly [Name in JobFieldName]?: JobFields[Name] | null | undefined };

type CheckedFields =
  | { readonly outcome: 'checked'; readonly fields: Partial<JobFields> }
  | { readonly outcome: 'invalid'; readonly field: JobFieldName; readonly message: string };

export const LONGEST_TITLE = 300;
export const LONGEST_DESCRIPTION = 100_000;
export const LONGEST_REQUIREMENT = 500;
export const MOST_REQUIREMENTS = 100;
export const MOST_MONTHS = 1_200;

/** PostgreSQL cannot store NUL, and a lone surrogate is not a character. */
const STORABLE = /^[^\0\p{Cs}]*$/u;
const ONE_LINE = /^[^\p{Cc}\p{Cs}\u2028\u2029]*$/u;
const UNPRINTABLE = 'no control characters are allowed';

const line = (longest: number) =>
  z.string().trim().min(1, 'it must not be empty').max(longest).regex(ONE_LINE, UNPRINTABLE);
const requirements = z.array(line(LONGEST_REQUIREMENT)).max(MOST_REQUIREMENTS);

const FORMS = {
  title: line(LONGEST_TITLE),
  description: z.string().trim().max(LONGEST_DESCRIPTION).regex(STORABLE, UNPRINTABLE),
  location: line(300).nullable(),
  remote: z.boolean(),
  employmentType: line(100).nullable(),
  mustHave: requirements,
  niceToHave: requirements,
  minMonthsExperience: z.int().min(0).max(MOST_MONTHS).nullable(),
} as const satisfies { readonly [Name in JobFieldName]: z.ZodType<JobFields[Name]> };

/** The given fields, trimmed and within their limits. Null counts as omitted for a field that cannot be null. */
export function checkJobFields(params: RequestedJobFields): CheckedFields {
  const fields: Record<string, unknown> = {};
  for (const name of JOB_FIELD_NAMES) {
    const value = params[name];
    const form = FORMS[name];
    if (value === undefined || (value === null && !form.safeParse(null).success)) continue;
    const read = form.safeParse(value);
    if (!read.success) {
      return {
        outcome: 'invalid',
        field: name,
        message: read.error.issues[0]?.message ?? 'it cannot be used',
      };
    }
    fields[name] = read.data;
  }
  return { outcome: 'checked', fields: fields as Partial<JobFields> };
}

export type JobChange = 'created' | 'edited' | 'closed' | 'parsed' | 'parse-failed' | 'sent-again';

/** Runs in the transaction of the change itself. `changedBy` is null for the document worker. */
export async function writeJobVersion(
  transaction: Transaction,
  job: Job,
  what: JobChange,
  changedBy: string | null,
): Promise<void> {
  const { title, description, location, remote, employmentType, mustHave, niceToHave } = job;
  const { minMonthsExperience, status, parsing } = job;
  const fields = {
    ...{ title, description, status, location, remote, employmentType, mustHave, niceToHave },
    ...{ minMonthsExperience, parsing },
  };
  await transaction.query(
    `insert into job_versions (job_id, version, what, fields, changed_by, changed_at) values ($1, $2, $3, $4, $5, $6)`,
    [job.id, job.version, what, fields, changedBy, job.updatedAt],
  );
}

export interface JobVersion {
  readonly version: number;
  readonly what: JobChange;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly changedBy: string | null;
  /** The current address. */
  readonly changedByEmail: string | null;
  readonly changedAt: Date;
}

interface JobListArgs {
  readonly limit: number;
  /** The last id of the previous page. */
  readonly after: string | null;
  /** Null matches every status. */
  readonly status: JobStatus | null;
  /** Changed at or after this time. */
  readonly updatedSince?: Date | null;
  /** Lower-case words that must all occur in the job. */
  readonly words?: readonly string[];
}

const MOST_AT_ONCE = 1_000;
const MOST_WORDS = 10;
export const LONGEST_SEARCH = 200;

/** Newest first, ordered by id, which increases with time and never changes, so that no page misses a job. */
export async function listJobs(
  statements: Statements,
  companyId: string,
  { limit, after, status, updatedSince = null, words = [] }: JobListArgs,
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

/** Splits a search into the words for `listJobs`; the rest of a longer search is ignored. */
export function searchWords(search: string): readonly string[] {
  const words = search.slice(0, LONGEST_SEARCH).toLowerCase().split(/\s+/);
  return [...new Set(words.filter((word) => word !== ''))].slice(0, MOST_WORDS);
}

/** In the order of `ids`; null for each that the company does not have. */
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

/** Prevents a job from being deleted until the transaction ends. False if the company has no such job. */
export async function lockJobKey(
  transaction: Transaction,
  companyId: string,
  jobId: string,
): Promise<boolean> {
  const rows = await transaction.query('select 1 from jobs where id = $1 and company_id = $2 for key share', [
    jobId,
    companyId,
  ]);
  return rows.length === 1;
}

/** The data that a job is matched by. It is live while it is ACTIVE. */
interface MatchableJob extends Omit<JobFields, 'employmentType'> {
  readonly id: string;
  readonly version: number;
  readonly isLive: boolean;
  readonly posting: unknown;
  /** Whether a person listed the must-haves. */
  readonly isMustGiven: boolean;
}

/** Of any company, in no order, without unknown ids. */
export async function findMatchableJobs(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly MatchableJob[]> {
  return await statements.query<MatchableJob>(
    `select id, version, title, description, location, remote, must_have as "mustHave", nice_to_have as "niceToHave",
       min_months_experience as "minMonthsExperience", posting, status = 'ACTIVE' as "isLive",
       'mustHave' = any(given) as "isMustGiven"
     from jobs where id = any($1::uuid[])`,
    [ids],
  );
}

const MOST_VERSIONS = 100;

/** The newest versions of a job, newest first. */
export async function listJobVersions(
  statements: Statements,
  companyId: string,
  jobId: string,
): Promise<readonly JobVersion[]> {
  const rows = await statements.query<Omit<JobVersion, 'changedByEmail'>>(
    `select own.version, own.what, own.fields, own.changed_by as "changedBy", own.changed_at as "changedAt"
     from job_versions as own join jobs as job on job.id = own.job_id
     where own.job_id = $1 and job.company_id = $2 order by own.version desc limit ${MOST_VERSIONS}`,
    [jobId, companyId],
  );
  const changers = rows.flatMap(({ changedBy }) => (changedBy === null ? [] : [changedBy]));
  const emails = await findEmails(statements, [...new Set(changers)]);
  return rows.map((row) => ({ ...row, changedByEmail: emails.get(row.changedBy ?? '') ?? null }));
}

/** The size of all postings of a company, as uploaded. */
export async function storedPostingBytes(statements: Statements, companyId: string): Promise<number> {
  const [row] = await statements.query<{ bytes: number }>(
    `select coalesce(sum(octet_length(file.bytes)), 0)::float8 as bytes
     from jobs as job join job_files as file on file.job_id = job.id where job.company_id = $1`,
    [companyId],
  );
  return row?.bytes ?? 0;
}
