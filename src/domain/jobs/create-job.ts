import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { DOCUMENT_QUEUE } from './document-queue.ts';
import {
  JOB_COLUMNS,
  type Job,
  type JobFieldName,
  type JobFields,
  type JobFile,
  type JobStatus,
} from './job.ts';
import { checkWantedFields, type WantedFields } from './wanted-job.ts';
import { writeJobVersion } from './write-version.ts';

export interface NewJob {
  readonly companyId: string;
  readonly createdBy: string | null;
  readonly fields: WantedFields;
  /** Left out: DRAFT for a posting that is to be read, ACTIVE for what a person has filled in. */
  readonly status?: JobStatus | undefined;
  readonly file?: JobFile | undefined;
  /** What was read of the posting at once; it stands until the worker has read it, and where nobody has said otherwise. */
  readonly draft?: Partial<JobFields> | undefined;
}

export type CreatedJob =
  | { readonly outcome: 'created'; readonly job: Job }
  | { readonly outcome: 'invalid'; readonly field: JobFieldName; readonly message: string };

export interface CreateJobParts {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/** A posting with a file waits for the document worker from this transaction's commit on. */
export async function createJob(
  transaction: Transaction,
  { clock, secrets, jobQueue }: CreateJobParts,
  wanted: NewJob,
): Promise<CreatedJob> {
  const checked = checkWantedFields(wanted.fields);
  if (checked.outcome === 'invalid') return checked;
  const given = Object.keys(checked.fields);
  const fields = { ...NOTHING, ...wanted.draft, ...checked.fields };
  if (fields.title === '') return { outcome: 'invalid', field: 'title', message: 'a job needs a title' };
  const { file } = wanted;
  const status = wanted.status ?? (file === undefined ? 'ACTIVE' : 'DRAFT');
  const rows = await transaction.query<Job>(
    `insert into jobs (id, company_id, status, title, description, location, remote, employment_type, must_have,
       nice_to_have, min_months_experience, given, parsing, created_by, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text[], $10::text[], $11, $12::text[], $13, $14, $15, $15)
     returning ${JOB_COLUMNS}`,
    [
      secrets.newId(),
      wanted.companyId,
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
      wanted.createdBy,
      new Date(clock.now()),
    ],
  );
  const [job] = rows;
  if (job === undefined) throw new Error('a job that was inserted did not come back');
  await writeJobVersion(transaction, job, 'created', wanted.createdBy);
  if (file !== undefined) await sendToWorker(transaction, jobQueue, job, file);
  return { outcome: 'created', job };
}

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

/** Keeps the file in the place of the one before it, and a job for the worker with it. */
export async function sendToWorker(
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
  await jobQueue.enqueue(DOCUMENT_QUEUE.name, { jobId: job.id }, { within: transaction });
}
