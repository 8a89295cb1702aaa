import type { Statements } from '../../../ports/database.ts';
import { spanOf, type UsageRange } from './usage-range.ts';
import type { UsageDimension } from './usage-report.ts';

/** Calls are counted by their start, exact to the millisecond. */
export interface FailuresQuestion extends UsageRange {
  readonly companyId: string;
  /** The dimensions of the counts, besides outcome, reason and status. */
  readonly by: readonly UsageDimension[];
}

/** FAILED calls reached a model or tried to; REFUSED calls did not, and are in no other total. */
export type FailureOutcome = 'FAILED' | 'REFUSED';

interface FailureKey {
  readonly outcome: FailureOutcome;
  /** The code in the call's record; null if it has only a status. */
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly model: string | null;
  readonly keyId: string | null;
}

/** Dimensions that the counts are not split by are null. */
export interface FailureGroup extends FailureKey {
  readonly day: string | null;
  readonly calls: bigint;
  readonly lastAt: Date;
}

export interface FailedCall extends FailureKey {
  readonly id: string;
  readonly requestId: string;
  readonly endpoint: string;
  readonly startedAt: Date;
  readonly durationMs: number;
}

export interface CountedFailures {
  /** The most frequent first. */
  readonly groups: readonly FailureGroup[];
  /** Set if there were more calls than are read: only those since this time are counted. */
  readonly countedFrom: Date | null;
}

/**
 * Few calls do not succeed, but in a bad month there may be millions: so only the newest are counted, as many as the embedded
 * engine reads in well under a second even under load.
 */
const MOST_FAILURES_COUNTED = 20_000;
const MOST_GROUPS = 1_000;
const MOST_LATEST = 50;
const DIMENSIONS = { day: 'day', model: 'alias', key: 'key_id' } as const;
const NAMES = { day: 'day', model: 'model', key: 'keyId' } as const;

/**
 * Uses the index that contains only calls that did not succeed. Parameters: company, start of the period, end of the period
 * (exclusive).
 */
const newestFailures = (most: number) => `
    select id, request_id, endpoint, alias, key_id, outcome, reason, http_status, started_at, duration_ms, count
    from calls
    where company_id = $1 and outcome <> 'SUCCEEDED' and started_at >= $2::timestamptz
      and started_at < $3::timestamptz
    order by started_at desc limit ${most}`;

export async function countFailures(
  statements: Statements,
  { companyId, by, ...range }: FailuresQuestion,
  mostLookedAt = MOST_FAILURES_COUNTED,
): Promise<CountedFailures> {
  type Seen = { readonly looked: bigint; readonly earliest: Date | null };
  // At least one row, which shows how far was read even if nothing failed.
  const rows = await statements.query<FailureGroup & Seen>(
    `with looked as materialized (${newestFailures(mostLookedAt)}),
       failed as (select *, (started_at at time zone 'utc')::date as day from looked),
       counted as (
         select outcome, reason, http_status as "httpStatus", ${splitBy(by)}, sum(coalesce(count, 1)) as calls,
           max(started_at) as "lastAt"
         from failed group by 1, 2, 3, 4, 5, 6 order by calls desc, "lastAt" desc limit ${MOST_GROUPS})
     select outcome, reason, "httpStatus", to_char(day, 'YYYY-MM-DD') as day, model, "keyId", calls, "lastAt", looked,
       earliest
     from (select count(*) as looked, min(started_at) as earliest from looked) as seen left join counted on true
     order by calls desc, "lastAt" desc`,
    [companyId, ...momentsOf(range)],
  );
  const isCut = (rows[0]?.looked ?? 0n) >= BigInt(mostLookedAt);
  const found = rows.filter(({ outcome }) => outcome !== null);
  const groups = found.map(({ looked: _, earliest: __, ...group }) => group);
  return { groups, countedFrom: isCut ? (rows[0]?.earliest ?? null) : null };
}

/** The newest first. */
export async function latestFailures(
  statements: Statements,
  { companyId, ...range }: Omit<FailuresQuestion, 'by'>,
): Promise<readonly FailedCall[]> {
  return await statements.query<FailedCall>(
    `select id, request_id as "requestId", endpoint, alias as model, key_id as "keyId", outcome, reason,
       http_status as "httpStatus", started_at as "startedAt", duration_ms as "durationMs"
     from (${newestFailures(MOST_LATEST)}) as failed order by started_at desc`,
    [companyId, ...momentsOf(range)],
  );
}

function momentsOf(range: UsageRange): readonly string[] {
  const { fromMs, beforeMs } = spanOf(range);
  return [new Date(fromMs).toISOString(), new Date(beforeMs).toISOString()];
}

function splitBy(by: readonly UsageDimension[]): string {
  const dimensions = Object.keys(DIMENSIONS) as UsageDimension[];
  const columns = dimensions.map((one) => {
    const nothing = { day: 'null::date', model: 'null::text', key: 'null::uuid' }[one];
    return `${by.includes(one) ? DIMENSIONS[one] : nothing} as "${NAMES[one]}"`;
  });
  return columns.join(', ');
}
