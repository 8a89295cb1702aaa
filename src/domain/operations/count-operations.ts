import type { Statements } from '../../ports/database.ts';

export interface OperationCount {
  /** The endpoint, as chat/completions, parse/cv, embeddings or meeting-summary. */
  readonly kind: string;
  readonly outcome: 'SUCCEEDED' | 'FAILED' | 'REFUSED';
  readonly count: number;
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
}

interface CountRow extends Pick<OperationCount, 'kind' | 'outcome' | 'count'> {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** A call's id grows with the time at which it began, so that its index finds the calls since then. */
export async function countOperations(
  statements: Statements,
  since: Date,
): Promise<readonly OperationCount[]> {
  const rows = await statements.query<CountRow>(
    `select endpoint as kind, outcome, count(*)::integer as count,
       percentile_cont(0.5) within group (order by duration_ms)::float8 as p50,
       percentile_cont(0.95) within group (order by duration_ms)::float8 as p95,
       percentile_cont(0.99) within group (order by duration_ms)::float8 as p99
     from calls where id >= $1::uuid and started_at >= $2
     group by endpoint, outcome order by endpoint, outcome`,
    [leastIdAt(since), since],
  );
  return rows.map(({ kind, outcome, count, p50, p95, p99 }) => {
    return { kind, outcome, count, latencyMs: { p50, p95, p99 } };
  });
}

/** How many alone, for who asks often: latencies would have all of them sorted. */
export async function countOutcomes(
  statements: Statements,
  since: Date,
): Promise<readonly Pick<OperationCount, 'kind' | 'outcome' | 'count'>[]> {
  return await statements.query(
    `select endpoint as kind, outcome, count(*)::integer as count from calls
     where id >= $1::uuid and started_at >= $2 group by endpoint, outcome order by endpoint, outcome`,
    [leastIdAt(since), since],
  );
}

/** A minute of room: an id is made a little before the call's own first moment. */
export function leastIdAt(since: Date): string {
  const hex = Math.max(0, since.getTime() - 60_000)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
