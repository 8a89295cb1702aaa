import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements, Transaction } from '../../ports/database.ts';
import { lockJob, withoutGiven, writeJob } from './change-job.ts';
import type { Job } from './job.ts';
import { fieldsOfPosting, type ReadPosting } from './posting-fields.ts';

/** A posting that waits to be read. */
export interface WaitingPosting {
  readonly jobId: string;
  readonly companyId: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** In hexadecimal: which file it was, for when the reading is over. */
  readonly fileHash: string;
}

/** Of a posting that was tried again and again: its dead letter may be given another run, which then counts. */
export const GAVE_UP = 'The posting could not be read because of a fault of ours. Send it again later.';

/** Null where there is nothing to do: it has been read, or the job is gone. */
export async function findWaitingPosting(
  statements: Statements,
  jobId: string,
): Promise<WaitingPosting | null> {
  const rows = await statements.query<WaitingPosting>(
    `select job.id as "jobId", job.company_id as "companyId", file.name, file.bytes,
       encode(file.sha256, 'hex') as "fileHash"
     from jobs as job join job_files as file on file.job_id = job.id
     where job.id = $1 and (job.parsing = 'PENDING' or job.parse_problem = $2)`,
    [jobId, GAVE_UP],
  );
  return rows[0] ?? null;
}

export type PostingReading =
  | {
      readonly outcome: 'read';
      readonly posting: ReadPosting & Readonly<Record<string, unknown>>;
      readonly engine: 'model' | 'embedded';
    }
  /** For good: the sentence is shown to whoever sent the posting. */
  | { readonly outcome: 'failed'; readonly problem: string };

const LONGEST_PROBLEM = 500;

/**
 * Writes down what came of a reading, once: only while the job waits for it and its file is the one that was read.
 * `also` runs in the same transaction, and only where the reading counts: there the call that it took is charged.
 */
export async function applyReading(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  waiting: Pick<WaitingPosting, 'jobId' | 'fileHash'>,
  reading: PostingReading,
  also: (transaction: Transaction) => Promise<void> = async () => {},
): Promise<{ readonly outcome: 'applied'; readonly job: Job } | { readonly outcome: 'outdated' }> {
  return await database.transaction(async (transaction) => {
    const job = await lockJob(transaction, null, waiting.jobId);
    if (job === null || !isWaiting(job)) return { outcome: 'outdated' };
    const files = await transaction.query<{ hash: string }>(
      `select encode(sha256, 'hex') as hash from job_files where job_id = $1`,
      [job.id],
    );
    if (files[0]?.hash !== waiting.fileHash) return { outcome: 'outdated' };
    const written = await writeReading(transaction, job, reading, new Date(clock.now()));
    // Last of all: the account that it charges is locked until the commit, and all the company's calls wait for it.
    await also(transaction);
    return { outcome: 'applied', job: written };
  });
}

async function writeReading(
  transaction: Transaction,
  job: Job,
  reading: PostingReading,
  at: Date,
): Promise<Job> {
  if (reading.outcome === 'failed') {
    const parseProblem = reading.problem.slice(0, LONGEST_PROBLEM);
    const failed = { ...job, parsing: 'FAILED', parseProblem } as const;
    return await writeJob(transaction, failed, { what: 'parse-failed', changedBy: null, at });
  }
  const { posting, engine } = reading;
  const read = withoutGiven(fieldsOfPosting(posting), job.given);
  const next = { ...job, ...read, parsing: 'DONE', parseProblem: null, engine } as const;
  return await writeJob(transaction, next, { what: 'parsed', changedBy: null, at, posting });
}

function isWaiting({ parsing, parseProblem }: Job): boolean {
  return parsing === 'PENDING' || parseProblem === GAVE_UP;
}
