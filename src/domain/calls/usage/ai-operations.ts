import type { Statements } from '../../../ports/database.ts';
import { leastIdAt } from '../../../ports/secrets.ts';

export interface OperationCount {
  /** The endpoint, such as chat/completions, parse/cv, embeddings or meeting-summary. */
  readonly kind: string;
  readonly outcome: 'SUCCEEDED' | 'FAILED' | 'REFUSED';
  readonly count: number;
  readonly latencyMs: Percentiles;
}

interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

type CountRow = Pick<OperationCount, 'kind' | 'outcome' | 'count'> & Percentiles;

/** How soon a target began its answers. */
export interface TargetCount {
  readonly targetId: string;
  /** The alias that it answered for. */
  readonly alias: string | null;
  readonly count: number;
  readonly firstByteMs: Percentiles;
}

/** An id is created slightly before the start of its call is recorded: by less than this. */
const ID_EARLIER_MS = 60_000;

const MOST_TARGETS = 200;

/** A percentile over rows of `ranked`, interpolated between the two nearest ranks like percentile_cont. */
function percentile(share: number): string {
  const at = (rank: string) => `min(ms) filter (where ranks > ${rank})`;
  const [below, above] = [`floor(${share} * last)`, `ceil(${share} * last)`].map(at);
  return `(${below} + (${above} - ${below}) * (${share} * last - floor(${share} * last)))::float8`;
}

/**
 * Ids increase with the start time of their calls, so that their index finds the calls since then. Calls are first counted by
 * duration, which PostgreSQL's workers do in parallel, so that only the distinct durations are sorted.
 */
function countedBy(columns: readonly [string, string], ms: string, condition: string): string {
  const groups = columns.map((_, at) => `group${at}`).join(', ');
  return `with durations as (
       select ${columns.map((column, at) => `${column} as group${at}`).join(', ')}, ${ms} as ms, count(*) as rows,
         sum(coalesce(count, 1)) as calls
       from calls where id >= $1::uuid and started_at >= $2 and ${condition} group by ${ms}, ${columns.join(', ')}),
     ranked as (
       select *, sum(rows) over (grouped order by ms) as ranks, (sum(rows) over grouped) - 1 as last
       from durations window grouped as (partition by ${groups}))
     select ${groups}, sum(calls)::integer as count,
       ${percentile(0.5)} as p50, ${percentile(0.95)} as p95, ${percentile(0.99)} as p99
     from ranked group by ${groups}, last`;
}

export async function countOperations(
  statements: Statements,
  since: Date,
): Promise<readonly OperationCount[]> {
  const rows = await statements.query<CountRow>(
    `select group0 as kind, group1 as outcome, count, p50, p95, p99
     from (${countedBy(['endpoint', 'outcome'], 'duration_ms', 'true')}) as counted order by kind, outcome`,
    [leastIdAt(since.getTime() - ID_EARLIER_MS), since],
  );
  return rows.map(({ kind, outcome, count, p50, p95, p99 }) => {
    return { kind, outcome, count, latencyMs: { p50, p95, p99 } };
  });
}

/** The slowest first. Of calls that succeeded: a target that fails soon is not a fast one. */
export async function countTargets(statements: Statements, since: Date): Promise<readonly TargetCount[]> {
  const answered = "outcome = 'SUCCEEDED' and target_id is not null and first_byte_ms is not null";
  const counted = countedBy(
    ['target_id', 'coalesce(served_by, alias)'],
    'first_byte_ms',
    `${answered} and cache_hit is not true`,
  );
  const rows = await statements.query<Omit<TargetCount, 'firstByteMs'> & Percentiles>(
    `select group0 as "targetId", group1 as alias, count, p50, p95, p99
     from (${counted}) as counted order by p95 desc, "targetId", alias limit ${MOST_TARGETS}`,
    [leastIdAt(since.getTime() - ID_EARLIER_MS), since],
  );
  return rows.map(({ targetId, alias, count, p50, p95, p99 }) => {
    return { targetId, alias, count, firstByteMs: { p50, p95, p99 } };
  });
}

/** Counts without latencies, for frequent use: latencies require sorting. */
export async function countOutcomes(
  statements: Statements,
  since: Date,
): Promise<readonly Pick<OperationCount, 'kind' | 'outcome' | 'count'>[]> {
  return await statements.query(
    `select endpoint as kind, outcome, sum(coalesce(count, 1))::integer as count from calls
     where id >= $1::uuid and started_at >= $2 group by endpoint, outcome order by endpoint, outcome`,
    [leastIdAt(since.getTime() - ID_EARLIER_MS), since],
  );
}

export interface AiOperation {
  readonly id: string;
  /** The endpoint, such as chat/completions or parse/cv. */
  readonly kind: string;
  /** Null if the call ended before it had one. */
  readonly alias: string | null;
  readonly outcome: OperationCount['outcome'];
  /** Why it failed or was refused, as a code. */
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly promptTokens: bigint | null;
  readonly completionTokens: bigint | null;
  readonly requestId: string;
  readonly startedAt: Date;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

interface OperationsFilter {
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  readonly kind: string | null;
  readonly outcome: OperationCount['outcome'] | null;
  readonly limit: number;
  /** The last id of the previous page. */
  readonly after: string | null;
}

/** The newest first, of all companies, without naming them: the request id leads to the log. */
export async function listOperations(
  statements: Statements,
  { from, to, kind, outcome, limit, after }: OperationsFilter,
): Promise<readonly AiOperation[]> {
  // Calls that did not succeed have a partial index, whose condition the statement must contain.
  const isRare = outcome !== null && outcome !== 'SUCCEEDED';
  return await statements.query<AiOperation>(
    `select id, endpoint as kind, alias, outcome, reason, http_status as "httpStatus",
       prompt_tokens as "promptTokens", completion_tokens as "completionTokens", request_id as "requestId",
       started_at as "startedAt", first_byte_ms as "firstByteMs", duration_ms as "durationMs"
     from calls
     where id >= $1::uuid and id < $2::uuid and started_at >= $3 and started_at < $4
       and ($5::text is null or endpoint = $5) and ($6::text is null or outcome = $6)
       ${isRare ? "and outcome <> 'SUCCEEDED'" : ''}
       and ($7::uuid is null or id < $7::uuid)
     order by id desc limit $8`,
    [
      leastIdAt(from.getTime() - ID_EARLIER_MS),
      leastIdAt(to.getTime() + ID_EARLIER_MS),
      from,
      to,
      kind,
      outcome,
      after,
      limit,
    ],
  );
}
