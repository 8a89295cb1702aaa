import type { Transaction } from '../../ports/database.ts';
import type { Job } from './job.ts';

export type JobChange = 'created' | 'edited' | 'closed' | 'parsed' | 'parse-failed' | 'sent-again';

/** Who and when, in the transaction of the change itself. Null for the document worker. */
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
  /** As it is today. */
  readonly changedByEmail: string | null;
  readonly changedAt: Date;
}
