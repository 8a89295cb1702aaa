import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue, QueueDefinition } from '../../ports/job-queue.ts';
import type { Secrets } from '../../ports/secrets.ts';
import {
  checkJobFields,
  JOB_COLUMNS,
  type Job,
  type JobChange,
  type JobFieldName,
  type JobFields,
  type JobFile,
  type JobStatus,
  type RequestedJobFields,
  writeJobVersion,
} from './job.ts';

export interface NewJob {
  readonly companyId: string;
  readonly createdBy: string | null;
  readonly fields: RequestedJobFields;
  /** Defaults to DRAFT for a posting that is to be read, otherwise to ACTIVE. */
  readonly status?: JobStatus | undefined;
  readonly file?: JobFile | undefined;
  /** A first quick reading of the posting for fields that the user has not set, used until the worker has read it. */
  readonly draft?: Partial<JobFields> | undefined;
}

type CreatedJob =
  | { readonly outcome: 'created'; readonly job: Job }
  | { readonly outcome: 'invalid'; readonly field: JobFieldName; readonly message: string };

interface CreateJobParts {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/** A posting with a file is queued for the document worker when this transaction commits. */
export async function createJob(
  transaction: Transaction,
  { clock, secrets, jobQueue }: CreateJobParts,
  params: NewJob,
): Promise<CreatedJob> {
  const checked = checkJobFields(params.fields);
  if (checked.outcome === 'invalid') return checked;
  const given = Object.keys(checked.fields);
  const fields = { ...NOTHING, ...params.draft, ...checked.fields };
  if (fields.title === '') return { outcome: 'invalid', field: 'title', message: 'a job needs a title' };
  const { file } = params;
  const status = params.status ?? (file === undefined ? 'ACTIVE' : 'DRAFT');
  const rows = await transaction.query<Job>(
    `insert into jobs (id, company_id, status, title, description, location, remote, employment_type, must_have,
       nice_to_have, min_months_experience, given, parsing, created_by, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text[], $10::text[], $11, $12::text[], $13, $14, $15, $15)
     returning ${JOB_COLUMNS}`,
    [
      secrets.newId(),
      params.companyId,
      status,
      fields.title,
      fields.description,
      fields.location,
      fields.remote,
      fields.employmentType,
      fields.mustHave,
      fields.niceToHave,
      fields.minMonthsExperience,
      given,
      file === undefined ? 'NONE' : 'PENDING',
      params.createdBy,
      new Date(clock.now()),
    ],
  );
  const [job] = rows;
  if (job === undefined) throw new Error('a job that was inserted did not come back');
  await writeJobVersion(transaction, job, 'created', params.createdBy);
  if (file !== undefined) await sendToWorker(transaction, jobQueue, job, file);
  return { outcome: 'created', job };
}

interface JobChanges {
  readonly companyId: string;
  readonly jobId: string;
  readonly changedBy: string | null;
  readonly fields: RequestedJobFields;
  readonly status?: JobStatus | undefined;
  /** Another posting, which replaces the previous one and is read. */
  readonly file?: JobFile | undefined;
  readonly draft?: Partial<JobFields> | undefined;
  /** The version that the edit is based on; if omitted, the current one is changed. */
  readonly version?: number | undefined;
}

type ChangedJob =
  /** `isNew` is false if nothing had to be changed. */
  | { readonly outcome: 'changed'; readonly job: Job; readonly isNew: boolean }
  | { readonly outcome: 'no-such-job' }
  /** Another change was made in between: nothing is written. */
  | { readonly outcome: 'changed-since'; readonly version: number }
  | { readonly outcome: 'invalid'; readonly field: JobFieldName; readonly message: string };

interface ChangeJobParts {
  readonly clock: Clock;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/** Omitted fields stay as they are. The row is locked, so that concurrent edits follow each other. */
export async function changeJob(
  transaction: Transaction,
  { clock, jobQueue }: ChangeJobParts,
  changes: JobChanges,
): Promise<ChangedJob> {
  const checked = checkJobFields(changes.fields);
  if (checked.outcome === 'invalid') return checked;
  const old = await lockJob(transaction, changes.companyId, changes.jobId);
  if (old === null) return { outcome: 'no-such-job' };
  if (changes.version !== undefined && changes.version !== old.version) {
    return { outcome: 'changed-since', version: old.version };
  }
  const given = [...new Set([...old.given, ...(Object.keys(checked.fields) as JobFieldName[])])];
  const { file } = changes;
  const draft = file === undefined ? {} : withoutGiven(changes.draft ?? {}, given);
  const next: Job = {
    ...old,
    ...draft,
    ...checked.fields,
    status: changes.status ?? old.status,
    given,
    ...(file === undefined ? {} : { parsing: 'PENDING' as const, parseProblem: null }),
  };
  if (file === undefined && isSame(old, next)) return { outcome: 'changed', job: old, isNew: false };
  const what = next.status === 'CLOSED' && old.status !== 'CLOSED' ? 'closed' : 'edited';
  const change = { what: file === undefined ? what : 'sent-again', changedBy: changes.changedBy } as const;
  const job = await writeJob(transaction, next, { ...change, at: new Date(clock.now()) });
  if (file !== undefined) await sendToWorker(transaction, jobQueue, job, file);
  return { outcome: 'changed', job, isNew: true };
}

/** Null if the company has no such job. A null `companyId` matches any company. */
export async function lockJob(
  transaction: Transaction,
  companyId: string | null,
  jobId: string,
): Promise<Job | null> {
  const rows = await transaction.query<Job>(
    `select ${JOB_COLUMNS} from jobs where id = $1 and ($2::uuid is null or company_id = $2) for update`,
    [jobId, companyId],
  );
  return rows[0] ?? null;
}

interface WrittenChange {
  readonly what: JobChange;
  readonly changedBy: string | null;
  readonly at: Date;
  /** The whole posting, if it has been read; undefined keeps the stored one. */
  readonly posting?: Readonly<Record<string, unknown>> | null;
}

/** Writes every field of a locked job as its next version. */
export async function writeJob(transaction: Transaction, next: Job, change: WrittenChange): Promise<Job> {
  const rows = await transaction.query<Job>(
    `update jobs set version = version + 1, status = $2, title = $3, description = $4, location = $5, remote = $6,
       employment_type = $7, must_have = $8::text[], nice_to_have = $9::text[], min_months_experience = $10,
       given = $11::text[], parsing = $12, parse_problem = $13, engine = $14,
       posting = case when $15 then $16::jsonb else posting end, updated_at = greatest(updated_at, $17)
     where id = $1 returning ${JOB_COLUMNS}`,
    [
      next.id,
      next.status,
      next.title,
      next.description,
      next.location,
      next.remote,
      next.employmentType,
      next.mustHave,
      next.niceToHave,
      next.minMonthsExperience,
      next.given,
      next.parsing,
      next.parseProblem,
      next.engine,
      change.posting !== undefined,
      change.posting ?? null,
      change.at,
    ],
  );
  const [job] = rows;
  if (job === undefined) throw new Error('a locked job is gone');
  await writeJobVersion(transaction, job, change.what, change.changedBy);
  return job;
}

/** Removes the fields that a person has set, which are not taken from a posting. */
export function withoutGiven(read: Partial<JobFields>, given: readonly JobFieldName[]): Partial<JobFields> {
  const entries = Object.entries(read).filter(([name]) => !given.includes(name as JobFieldName));
  return Object.fromEntries(entries) as Partial<JobFields>;
}

/**
 * Postings to be read; the queue contains only the ids of their jobs. A run may take the reader’s 20 s and two model
 * calls of 15 minutes. If the database or the reader is unavailable, it is retried for 20 to 30 minutes.
 */
export const DOCUMENT_QUEUE: QueueDefinition = {
  name: 'document',
  retries: 8,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 600,
  runSeconds: 2_000,
  heartbeatSeconds: 30,
};

const NOTHING: JobFields = {
  title: '',
  description: '',
  location: null,
  remote: false,
  employmentType: null,
  mustHave: [],
  niceToHave: [],
  minMonthsExperience: null,
};

/** Stores the file in place of the previous one, and enqueues a job for the worker. */
async function sendToWorker(
  transaction: Transaction,
  jobQueue: Pick<JobQueue, 'enqueue'>,
  job: Job,
  { name, bytes }: JobFile,
): Promise<void> {
  await transaction.query(
    `insert into job_files (job_id, name, sha256, bytes, created_at) values ($1, $2, sha256($3::bytea), $3, $4)
     on conflict (job_id) do update set name = excluded.name, sha256 = excluded.sha256, bytes = excluded.bytes,
       created_at = excluded.created_at`,
    [job.id, name, bytes, job.updatedAt],
  );
  const waiting = { within: transaction, owner: job.companyId };
  await jobQueue.enqueue(DOCUMENT_QUEUE.name, { jobId: job.id }, waiting);
}

function isSame(old: Job, next: Job): boolean {
  const texts = [old, next].map(({ given: _given, ...rest }) => JSON.stringify(rest));
  return texts[0] === texts[1];
}
