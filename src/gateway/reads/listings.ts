import { readCallParameters } from '../../domain/calls/log/call-parameters.ts';
import { momentIn } from '../../domain/calls/usage/usage-range.ts';
import { type Job, LONGEST_SEARCH, listJobs, searchWords } from '../../domain/jobs/job.ts';
import { isId } from '../../domain/keys/api-key.ts';
import type { Statements } from '../../ports/database.ts';
import type { AdmittedRead, AskedRead } from '../admission/admit.ts';
import { type Refusal, type RefusedClient, refusalResponse } from '../admission/refusals.ts';
import { answerCalls } from './calls.ts';
import { answerModels, type ModelListParts, refusalOfModels } from './models.ts';
import {
  answerStoredResponse,
  refusalOfStoredResponse,
  type StoredResponseParts,
} from './stored-response.ts';
import {
  type AnsweredRead,
  answerUsage,
  readUsageParameters,
  refusedRead,
  type UsageParts,
} from './usage.ts';

export interface ReadParts extends UsageParts, StoredResponseParts, ModelListParts {}

interface Reading {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly client: RefusedClient;
  /** Aborts when the client disconnects. */
  readonly clientSignal: AbortSignal;
}

/** Answers a route that is free of charge. `url` is the whole URL, for its query. */
export async function answerRead(
  parts: ReadParts,
  call: AdmittedRead,
  { url, headers, client, clientSignal }: Reading,
): Promise<Response> {
  const { route, key } = call;
  switch (route.kind) {
    case 'list-models':
    case 'one-model':
      return answerModels(parts, key, route, { search: searchOf(url), headers, client });
    case 'stored-response':
      return await answerStoredResponse(parts, call, route, { url, headers, clientSignal });
    case 'usage':
      return shownRead(await answerUsage(parts, call, searchOf(url)), headers);
    case 'calls':
      return await answerCalls(parts.database, key, searchOf(url), headers);
    case 'jobs':
      return shownRead(await answerJobs(parts.database, key.companyId, searchOf(url)), headers);
  }
}

/**
 * What is wrong with the parameters of a read, or null: for admission, which refuses it before anything is counted for its
 * key (G-37).
 */
export function refusalOfRead(
  parts: Pick<ReadParts, 'models' | 'clock'>,
  { route, key, url, wire }: AskedRead,
): Refusal | null {
  const search = searchOf(url);
  switch (route.kind) {
    case 'list-models':
    case 'one-model':
      return refusalOfModels(parts, key, route, { search, wire });
    case 'usage':
      return refusalOf(readUsageParameters(search, parts.clock.now()));
    case 'calls':
      return refusalOf(readCallParameters(search));
    case 'jobs':
      return refusalOf(readJobParameters(search));
    case 'stored-response':
      return refusalOfStoredResponse(route, search);
  }
}

type ReadParameters =
  | { readonly outcome: 'read' }
  | { readonly outcome: 'invalid'; readonly param: string; readonly message: string };

function refusalOf(read: ReadParameters): Refusal | null {
  if (read.outcome === 'read') return null;
  return { name: 'invalidRequest', message: read.message, param: read.param };
}

function shownRead(answered: AnsweredRead, headers: Record<string, string>): Response {
  if (answered.outcome === 'refused') return refusalResponse(answered.refusal, headers);
  return Response.json(answered.body, { headers: { ...headers, 'cache-control': 'no-store' } });
}

function searchOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}

interface JobParameters {
  readonly limit: number;
  readonly after: string | null;
  readonly updatedSince: Date | null;
  readonly words: readonly string[];
}

const USUAL_JOBS = 20;
const MOST_JOBS = 100;
const JOB_PARAMETERS = ['limit', 'after', 'updated_since', 'q'] as const;

/** G-6: the active jobs of the key's company, newest first. */
async function answerJobs(
  database: Statements,
  companyId: string,
  search: URLSearchParams,
): Promise<AnsweredRead> {
  const read = readJobParameters(search);
  if (read.outcome === 'invalid') {
    const { param, message } = read;
    return { outcome: 'refused', refusal: { name: 'invalidRequest', message, param } };
  }
  const { limit, ...filter } = read.parameters;
  try {
    // One more than requested shows whether there are more.
    const rows = await listJobs(database, companyId, { ...filter, limit: limit + 1, status: 'ACTIVE' });
    const page = rows.slice(0, limit);
    const hasMore = rows.length > limit;
    const nextCursor = hasMore ? (page.at(-1)?.id ?? null) : null;
    const body = { object: 'list', data: page.map(shownJob), has_more: hasMore, next_cursor: nextCursor };
    return { outcome: 'answered', body };
  } catch (error) {
    return refusedRead(error, 'Jobs cannot be read right now. Retry with backoff.');
  }
}

type ReadJobParameters =
  | { readonly outcome: 'read'; readonly parameters: JobParameters }
  | { readonly outcome: 'invalid'; readonly param: string; readonly message: string };

function readJobParameters(search: URLSearchParams): ReadJobParameters {
  const invalid = (param: string, message: string) => ({ outcome: 'invalid', param, message }) as const;
  for (const name of JOB_PARAMETERS) {
    if (search.getAll(name).length > 1) return invalid(name, `Give ${name} once.`);
  }
  const limit = search.get('limit') ?? String(USUAL_JOBS);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST_JOBS) {
    return invalid('limit', `limit is a number from 1 to ${MOST_JOBS}.`);
  }
  const after = search.get('after') || null;
  if (after !== null && !isId(after)) return invalid('after', 'after is the next_cursor of a page.');
  const since = search.get('updated_since');
  const updatedSince = since === null ? null : momentIn(since);
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

/** The format of the API, which the tool list_jobs also uses. */
function shownJob(job: Job) {
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
