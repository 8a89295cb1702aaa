import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements, Transaction } from '../../ports/database.ts';
import {
  type Job,
  type JobFields,
  LONGEST_DESCRIPTION,
  LONGEST_REQUIREMENT,
  LONGEST_TITLE,
  MOST_MONTHS,
  MOST_REQUIREMENTS,
} from './job.ts';
import { lockJob, withoutGiven, writeJob } from './job-changes.ts';

/** A posting that has not been read yet. */
interface WaitingPosting {
  readonly jobId: string;
  readonly companyId: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** In hexadecimal. Identifies the file that was read when the result is stored. */
  readonly fileHash: string;
}

/** The problem of a posting whose retries are used up. If its dead letter is redriven, that reading is applied. */
export const POSTING_GAVE_UP =
  'The posting could not be parsed because of an internal error. Send it again later.';

/** Null if there is nothing to do: the posting has been read, or the job was deleted. */
export async function findWaitingPosting(
  statements: Statements,
  jobId: string,
): Promise<WaitingPosting | null> {
  const rows = await statements.query<WaitingPosting>(
    `select job.id as "jobId", job.company_id as "companyId", file.name, file.bytes,
       encode(file.sha256, 'hex') as "fileHash"
     from jobs as job join job_files as file on file.job_id = job.id
     where job.id = $1 and (job.parsing = 'PENDING' or job.parse_problem = $2)`,
    [jobId, POSTING_GAVE_UP],
  );
  return rows[0] ?? null;
}

export type PostingReading =
  | {
      readonly outcome: 'read';
      readonly posting: ReadPosting & Readonly<Record<string, unknown>>;
      readonly engine: 'model' | 'embedded';
    }
  /** Permanent: the sentence is shown to the sender of the posting. */
  | { readonly outcome: 'failed'; readonly problem: string };

const LONGEST_PROBLEM = 500;

/**
 * Stores the result of a reading, once: only while the job waits for it and its file is the one that was read. `also`
 * runs in the same transaction, only if the reading is applied, and charges the call that it took.
 */
export async function applyPostingReading(
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
    // Runs last: the account that it charges is locked until the commit, and all calls of the company wait for it.
    await also(transaction);
    return { outcome: 'applied', job: written };
  });
}

/** The part of a read posting that a job takes over. The whole posting is stored with the job. */
export interface ReadPosting {
  readonly title: string | null;
  readonly description: string | null;
  readonly jobLocation: readonly {
    readonly city: string | null;
    readonly region: string | null;
    readonly country: string | null;
  }[];
  readonly jobLocationType: string | null;
  readonly employmentType: string | null;
  readonly must_have: readonly string[];
  readonly nice_to_have: readonly string[];
  readonly experienceRequirements: { readonly monthsOfExperience: number | null } | null;
}

/** A posting that names more is one for many jobs. */
const MOST_PLACES = 5;
const LONGEST_LOCATION = 300;

/** The content of a posting, cut to the limits of a job. Fields that it does not mention are omitted. */
export function fieldsOfPosting(posting: ReadPosting): Partial<JobFields> {
  const places = posting.jobLocation.map(placeText).filter((text) => text !== '');
  const months = posting.experienceRequirements?.monthsOfExperience ?? null;
  const fields: { [Name in keyof JobFields]: JobFields[Name] | null } = {
    title: lineOf(posting.title, LONGEST_TITLE),
    description: storable(posting.description)?.slice(0, LONGEST_DESCRIPTION).trim() || null,
    location: lineOf(within(places.slice(0, MOST_PLACES), LONGEST_LOCATION), LONGEST_LOCATION),
    remote: posting.jobLocationType === 'TELECOMMUTE' ? true : null,
    employmentType: lineOf(posting.employmentType, 100),
    mustHave: requirementsOf(posting.must_have),
    niceToHave: requirementsOf(posting.nice_to_have),
    minMonthsExperience: months === null ? null : Math.min(Math.max(0, Math.round(months)), MOST_MONTHS),
  };
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as Partial<JobFields>;
}

/** A provisional title: the text's first line, or the file's name without its extension. */
export function titleBeforeReading(file: { readonly name: string }, text: string | null): string {
  const first = text?.split('\n').find((line) => line.trim() !== '');
  const name = file.name.replace(/\.[a-z0-9]{1,5}$/i, '');
  return lineOf(first ?? null, LONGEST_TITLE) ?? lineOf(name, LONGEST_TITLE) ?? 'Untitled posting';
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
  return parsing === 'PENDING' || parseProblem === POSTING_GAVE_UP;
}

function requirementsOf(texts: readonly string[]): readonly string[] | null {
  const lines = texts.flatMap((text) => lineOf(text, LONGEST_REQUIREMENT) ?? []);
  return lines.length === 0 ? null : [...new Set(lines)].slice(0, MOST_REQUIREMENTS);
}

function placeText({ city, region, country }: ReadPosting['jobLocation'][number]): string {
  return [city, region, country].filter((part) => part !== null && part !== '').join(', ');
}

/** As many whole places as fit: "Turin, Italy; Milan, Italy". */
function within(places: readonly string[], longest: number): string | null {
  let text: string | null = null;
  for (const place of places) {
    const longer: string = text === null ? place : `${text}; ${place}`;
    if (text === null || longer.length <= longest) text = longer;
  }
  return text;
}

function storable(text: string | null): string | null {
  return text === null ? null : text.toWellFormed().replaceAll('\0', '');
}

function lineOf(text: string | null, longest: number): string | null {
  const line = storable(text)
    ?.replaceAll(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, longest)
    .toWellFormed()
    .trim();
  return line || null;
}
