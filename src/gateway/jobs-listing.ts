import type { Job } from '../domain/jobs/job.ts';
import { LONGEST_SEARCH, listJobs, searchWords } from '../domain/jobs/list-jobs.ts';
import { isId } from '../domain/keys/api-key.ts';
import type { DatabaseFailure, Statements } from '../ports/database.ts';
import type { Refusal } from './refusals.ts';

export type AnsweredJobs =
  | { readonly outcome: 'answered'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

interface JobParameters {
  readonly limit: number;
  readonly after: string | null;
  readonly updatedSince: Date | null;
  readonly words: readonly string[];
}

const USUAL_LIMIT = 20;
const MOST = 100;
const NAMES = ['limit', 'after', 'updated_since', 'q'] as const;
/** A day in UTC, or a moment with its zone: what a server takes for local time nobody knows. */
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d))?$/i;

/** G-6: the active jobs of the key's company, the newest first. */
export async function answerJobs(
  database: Statements,
  companyId: string,
  search: URLSearchParams,
): Promise<AnsweredJobs> {
  const read = readJobParameters(search);
  if (read.outcome === 'invalid') {
    const { param, message } = read;
    return { outcome: 'refused', refusal: { name: 'invalidRequest', message, param } };
  }
  const { limit, ...wish } = read.parameters;
  try {
    // One more than asked for tells whether there are more.
    const rows = await listJobs(database, companyId, { ...wish, limit: limit + 1, status: 'ACTIVE' });
    const page = rows.slice(0, limit);
    const hasMore = rows.length > limit;
    const nextCursor = hasMore ? (page.at(-1)?.id ?? null) : null;
    const body = { object: 'list', data: page.map(shownJob), has_more: hasMore, next_cursor: nextCursor };
    return { outcome: 'answered', body };
  } catch (error) {
    // A statement that the database refuses is a fault of ours, which the log is to show.
    const { name, reason } = error as Partial<DatabaseFailure>;
    if (name !== 'DatabaseFailure' || reason === 'refused') throw error;
    const message = 'Jobs cannot be read at the moment. Try again with backoff.';
    return { outcome: 'refused', refusal: { name: 'unavailable', message } };
  }
}

type ReadJobParameters =
  | { readonly outcome: 'read'; readonly parameters: JobParameters }
  | { readonly outcome: 'invalid'; readonly param: string; readonly message: string };

function readJobParameters(search: URLSearchParams): ReadJobParameters {
  const invalid = (param: string, message: string) => ({ outcome: 'invalid', param, message }) as const;
  for (const name of NAMES) {
    if (search.getAll(name).length > 1) return invalid(name, `Give ${name} once.`);
  }
  const limit = search.get('limit') ?? String(USUAL_LIMIT);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST) {
    return invalid('limit', `limit is a number from 1 to ${MOST}.`);
  }
  const after = search.get('after') || null;
  if (after !== null && !isId(after)) return invalid('after', 'after is the next_cursor of a page.');
  const since = search.get('updated_since');
  const updatedSince = since === null ? null : momentOf(since);
  if (since !== null && updatedSince === null) {
    return invalid(
      'updated_since',
      'updated_since must be a day such as 2026-01-31, or a time with its zone such as 2026-01-31T12:00:00Z.',
    );
  }
  const q = search.get('q') ?? '';
  if (q.length > LONGEST_SEARCH || /\p{Cc}/u.test(q)) {
    return invalid('q', `q is one to ten words, in at most ${LONGEST_SEARCH} characters.`);
  }
  return {
    outcome: 'read',
    parameters: { limit: Number(limit), after, updatedSince, words: searchWords(q) },
  };
}

function momentOf(text: string): Date | null {
  // In an address a + stands for a space, which many clients forget in +01:00.
  const written = text.trim().replace(' ', '+');
  if (written.length > 64 || !ISO.test(written)) return null;
  const moment = new Date(written);
  return Number.isNaN(moment.getTime()) ? null : moment;
}

/** As the interface has it; also what the tool list_jobs shows. */
export function shownJob(job: Job) {
  return {
    id: job.id,
    title: job.title,
    description: job.description,
    status: job.status,
    location: job.location,
    remote: job.remote,
    employment_type: job.employmentType,
    must_have: job.mustHave,
    nice_to_have: job.niceToHave,
    min_months_experience: job.minMonthsExperience,
    created_at: job.createdAt.toISOString(),
    updated_at: job.updatedAt.toISOString(),
  };
}
