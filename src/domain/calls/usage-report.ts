import type { Statements } from '../../ports/database.ts';
import { breakdownName, usageSql } from './usage-report-sql.ts';

export type UsageDimension = 'model' | 'day' | 'key';

export interface UsageQuestion {
  readonly companyId: string;
  /** One key's usage; null is the whole company's, with the calls that the platform made for it. */
  readonly keyId: string | null;
  /** The first and the last day, both included: YYYY-MM-DD, UTC, of the calls' start. */
  readonly from: string;
  readonly to: string;
  /** The breakdowns wanted: each a set of dimensions, [] the totals. At most 8. */
  readonly by: readonly (readonly UsageDimension[])[];
}

/** Tokens are those of calls that succeeded. */
export interface UsageTotals {
  readonly calls: bigint;
  readonly failures: bigint;
  readonly promptTokens: bigint;
  readonly cachedTokens: bigint;
  readonly completionTokens: bigint;
  readonly chargeMicro: bigint;
}

/** What a breakdown is not by is null. */
export interface UsageGroup extends UsageTotals {
  /** The alias as it was called. */
  readonly model: string | null;
  readonly day: string | null;
  readonly keyId: string | null;
}

export interface UsageReport {
  /** For each breakdown that was asked for, in that order: its groups, by day, model and key. */
  readonly groups: readonly (readonly UsageGroup[])[];
}

export const NO_USAGE: UsageTotals = {
  calls: 0n,
  failures: 0n,
  promptTokens: 0n,
  cachedTokens: 0n,
  completionTokens: 0n,
  chargeMicro: 0n,
};

/** Under this key stand all calls of a company. */
const ALL_KEYS = '00000000-0000-0000-0000-000000000000';
const MOST_BREAKDOWNS = 8;
/** Of the largest report, 100 keys by day and model for a month, there are 18,000. */
const MOST_GROUPS = 100_000;

/**
 * What was used, from the rows that every commit keeps up to date: one for each key, day and model, however many
 * calls it stands for. So a finished call is in it at once. Whole months that are over are read as they were added
 * up, so that a year costs about as much as a month. All breakdowns are of one moment.
 */
export async function usageReport(statements: Statements, question: UsageQuestion): Promise<UsageReport> {
  const { companyId, keyId, from, to, by } = question;
  if (by.length > MOST_BREAKDOWNS) throw new RangeError(`at most ${MOST_BREAKDOWNS} breakdowns at once`);
  // Keys have rows of their own beside the company's: adding both up would count calls twice.
  const isByKey = keyId === null && by.some((dimensions) => dimensions.includes('key'));
  if (isByKey && by.some((dimensions) => !dimensions.includes('key'))) {
    throw new RangeError('a company by key is a report of its own');
  }
  if (by.length === 0) return { groups: [] };
  const whole = wholeMonths(from, to);
  const rows = await statements.query<UsageGroup & { readonly name: string }>(
    `${usageSql(by, { isByKey })} order by 3, 2, 4 limit ${MOST_GROUPS}`,
    [companyId, keyId ?? ALL_KEYS, from, to, whole.from, whole.before],
  );
  const groupsBy = Map.groupBy(rows, ({ name }) => name);
  return { groups: by.map((dimensions) => (groupsBy.get(breakdownName(dimensions)) ?? []).map(plain)) };
}

/** The first day of the first calendar month that lies wholly in the range, and of the one after the last. */
function wholeMonths(from: string, to: string): { readonly from: string; readonly before: string } {
  const [fromYear = 0, fromMonth = 0, fromDay = 0] = from.split('-').map(Number);
  const first = new Date(Date.UTC(fromYear, fromDay === 1 ? fromMonth - 1 : fromMonth));
  const [toYear = 0, toMonth = 0, toDay = 0] = to.split('-').map(Number);
  const after = new Date(Date.UTC(toYear, toMonth - 1, toDay + 1));
  const before = new Date(Date.UTC(after.getUTCFullYear(), after.getUTCMonth()));
  if (first >= before) return { from, before: from };
  return { from: first.toISOString().slice(0, 10), before: before.toISOString().slice(0, 10) };
}

function plain({ name: _, ...group }: UsageGroup & { readonly name: string }): UsageGroup {
  return group;
}

/** What a key with a monthly limit has spent in a month, as its limit counts it; `month` is its first day. */
export async function readKeyMonth(statements: Statements, keyId: string, month: string): Promise<bigint> {
  const [row] = await statements.query<{ spentMicro: bigint }>(
    'select charge_micro as "spentMicro" from key_months where key_id = $1 and month = $2::date',
    [keyId, month],
  );
  return row?.spentMicro ?? 0n;
}
