import {
  MOST_USAGE_DAYS,
  matchIsoTime,
  readUsageRange,
  type UsageBound,
  type UsageRange,
} from '../../domain/calls/usage/usage-range.ts';
import {
  NO_USAGE,
  type UsageDimension,
  type UsageGroup,
  type UsageTotals,
  usageReport,
} from '../../domain/calls/usage/usage-report.ts';
import {
  isSubjectDimension,
  type SubjectDimension,
  subjectUsage,
} from '../../domain/calls/usage/usage-subjects.ts';
import { billingMonth, firstDayOfMonth } from '../../domain/credits/billing-month.ts';
import { type HeldCredits, readKeyMonth } from '../../domain/credits/holds/holds.ts';
import { creditsAsNumber, readLevel } from '../../domain/credits/ledger/credit-account.ts';
import type { ApiKey } from '../../domain/keys/api-key.ts';
import type { AbandonedCount, AbandonedStreams } from '../../domain/limits/abandoned-streams.ts';
import type { Allowance, KeyAllowances } from '../../domain/limits/limits.ts';
import { beginsWithDay, type Clock } from '../../ports/clock.ts';
import { type Database, isDatabaseUnavailable } from '../../ports/database.ts';
import type { Refusal } from '../admission/refusals.ts';

export interface UsageParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly heldCredits: HeldCredits;
  readonly abandoned: Pick<AbandonedStreams, 'look'>;
}

/** The calling key and the state of its limits. */
interface UsageAsker {
  readonly key: ApiKey;
  readonly allowances: KeyAllowances;
}

/** The result of reading the database. */
export type AnsweredRead =
  | { readonly outcome: 'answered'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** G-5: the usage of the calling key, the balance that pays for it, and the state of its limits. */
export async function answerUsage(
  parts: UsageParts,
  asker: UsageAsker,
  search: URLSearchParams,
): Promise<AnsweredRead> {
  const read = readUsageParameters(search, parts.clock.now());
  if (read.outcome === 'invalid') {
    const { param, message } = read;
    return { outcome: 'refused', refusal: { name: 'invalidRequest', message, param } };
  }
  try {
    return { outcome: 'answered', body: await usageBody(parts, asker, read.parameters) };
  } catch (error) {
    return refusedRead(error, 'Usage cannot be read right now. Retry with backoff.');
  }
}

async function usageBody(
  { database, clock, heldCredits, abandoned }: UsageParts,
  { key, allowances }: UsageAsker,
  { groupBy, ...given }: UsageParameters,
) {
  const subject = groupBy?.find(isSubjectDimension) ?? null;
  const dimensions = groupBy?.filter((one) => !isSubjectDimension(one)) ?? [];
  const named =
    subject === null
      ? null
      : await subjectUsage(database, {
          ...given,
          companyId: key.companyId,
          keyId: key.id,
          subject,
          by: dimensions,
        });
  const { from, to } = named?.range ?? given;
  const nowMs = clock.now();
  const month = {
    firstDay: firstDayOfMonth(nowMs),
    resetsAt: billingMonth(new Date(nowMs)).end.toISOString(),
  };
  const { companyId, id: keyId, monthlySpendingLimitMicro: limitMicro, payerUserId } = key;
  const by: UsageDimension[][] = [
    [],
    ['model'],
    ['day'],
    ...(groupBy === null || subject !== null ? [] : [dimensions]),
  ];
  const [{ groups, range }, level, held, spentMicro, left] = await Promise.all([
    usageReport(database, { companyId, keyId, from, to, by }),
    readLevel(database, payerUserId ?? companyId),
    heldCredits(companyId, payerUserId),
    limitMicro === null ? 0n : readKeyMonth(database, keyId, month.firstDay),
    abandoned.look(key),
  ]);
  const [totals = [], byModel = [], byDay = [], grouped = []] = groups;
  return {
    object: 'usage',
    ...range,
    totals: shownRow(totals[0] ?? NO_USAGE),
    by_model: byModel.map((group) => ({ model: group.model, ...shownRow(group) })),
    by_day: byDay.map((group) => ({ day: group.day, ...shownRow(group) })),
    ...(groupBy === null
      ? {}
      : {
          groups: (named?.groups ?? grouped).map((group) => ({
            ...namesOf(group, groupBy),
            ...shownRow(group),
          })),
        }),
    balance: {
      credits: creditsAsNumber(level?.balanceMicro ?? 0n),
      held: creditsAsNumber(held ?? 0n),
      ...(payerUserId === null ? {} : { payer: 'user' }),
    },
    limits: {
      requests_per_minute: shownAllowance(allowances.requests),
      tokens_per_minute: shownAllowance(allowances.tokens),
      calls_in_flight: { limit: key.maxCallsInFlight },
      abandoned_streams_per_hour: shownAbandoned(left),
      monthly_spending: limitMicro === null ? null : spendingOf(limitMicro, spentMicro, month.resetsAt),
    },
  };
}

function shownRow(totals: UsageTotals) {
  return {
    calls: Number(totals.calls),
    failures: Number(totals.failures),
    prompt_tokens: Number(totals.promptTokens),
    cached_tokens: Number(totals.cachedTokens),
    cache_write_tokens: Number(totals.cacheWriteTokens),
    completion_tokens: Number(totals.completionTokens),
    credits: creditsAsNumber(totals.chargeMicro),
    tool_credits: creditsAsNumber(totals.surchargeMicro),
  };
}

function namesOf(
  { model, day, keyId, subject }: UsageGroup & { readonly subject?: string },
  groupBy: readonly Dimension[],
) {
  const names = { model, day, key: keyId, project: subject, user: subject, tag: subject };
  return Object.fromEntries(groupBy.map((dimension) => [dimension, names[dimension]]));
}

function shownAllowance({ limit, remaining, resetMs }: Allowance) {
  return { limit, remaining, reset_ms: Math.ceil(resetMs) };
}

/** Streams that the key abandoned before their usage arrived. Those beyond the limit are read to the end and billed. */
function shownAbandoned({ limit, used, resetMs, isLimited }: AbandonedCount) {
  const remaining = Math.max(0, limit - used);
  return { limit, used, remaining, reset_ms: Math.ceil(resetMs), one_stream_at_a_time: isLimited };
}

function spendingOf(limitMicro: bigint, spentMicro: bigint, resetsAt: string) {
  const leftMicro = limitMicro > spentMicro ? limitMicro - spentMicro : 0n;
  return {
    limit: creditsAsNumber(limitMicro),
    spent: creditsAsNumber(spentMicro),
    remaining: creditsAsNumber(leftMicro),
    resets_at: resetsAt,
  };
}

interface UsageParameters extends UsageRange {
  /** Null if no breakdown is requested besides those by model and by day. */
  readonly groupBy: readonly Dimension[] | null;
}

type ReadUsageParameters =
  | { readonly outcome: 'read'; readonly parameters: UsageParameters }
  | { readonly outcome: 'invalid'; readonly param: ParameterName; readonly message: string };

type ParameterName = 'from' | 'to' | 'group_by';

const FIRST_YEAR = 2000;
const LAST_YEAR = 2199;
const LONGEST_PARAMETER = 64;
type Dimension = UsageDimension | SubjectDimension;
const DIMENSIONS: readonly Dimension[] = ['model', 'day', 'key', 'project', 'user', 'tag'];

/**
 * `from` and `to` are days, both inclusive, or times with millisecond precision: `from` is inclusive, `to` is exclusive. The
 * default is the last 30 days, including today.
 */
export function readUsageParameters(search: URLSearchParams, nowMs: number): ReadUsageParameters {
  for (const param of ['from', 'to'] as const) {
    const given = search.getAll(param);
    if (given.length > 1) return invalidParameter(param, `Give ${param} once.`);
    if (given[0] !== undefined && timeOf(given[0]) === null) return invalidParameter(param, notATime(param));
  }
  const read = readUsageRange(
    { from: timeOf(search.get('from') ?? ''), to: timeOf(search.get('to') ?? '') },
    nowMs,
  );
  if (read.outcome !== 'read') return invalidParameter(...WRONG_RANGE[read.outcome]);
  const groupBy = readGroupBy(search.getAll('group_by'));
  if (groupBy === 'invalid') {
    return invalidParameter(
      'group_by',
      `group_by is one or more of ${DIMENSIONS.join(', ')}, with commas between; of project, user and tag only one.`,
    );
  }
  return { outcome: 'read', parameters: { ...read.range, groupBy } };
}

const WRONG_RANGE: Readonly<Record<'in-future' | 'reversed' | 'too-long', readonly ['from' | 'to', string]>> =
  {
    'in-future': ['from', 'from is in the future: there is no usage yet.'],
    reversed: ['to', 'to must be after from.'],
    'too-long': ['from', `At most ${MOST_USAGE_DAYS} days at once: give a later from or an earlier to.`],
  };

/**
 * Refuses a read while the database is unavailable. A statement that the database rejects is a bug of ours, which must be
 * logged.
 */
export function refusedRead(error: unknown, message: string): AnsweredRead {
  if (!isDatabaseUnavailable(error)) throw error;
  return { outcome: 'refused', refusal: { name: 'unavailable', message } };
}

function readGroupBy(given: readonly string[]): readonly Dimension[] | null | 'invalid' {
  if (given.length === 0) return null;
  const text = given.join(',');
  if (text.length > LONGEST_PARAMETER) return 'invalid';
  const words = text.split(',').map((word) => word.trim());
  const known = DIMENSIONS.filter((dimension) => words.includes(dimension));
  const isKnown = words.every((word) => DIMENSIONS.some((dimension) => dimension === word));
  return isKnown && known.filter(isSubjectDimension).length <= 1 ? known : 'invalid';
}

function timeOf(text: string): UsageBound | null {
  const match = matchIsoTime(text);
  if (match === null) return null;
  const [whole, year = '', , , time] = match;
  if (Number(year) < FIRST_YEAR || Number(year) > LAST_YEAR) return null;
  if (!beginsWithDay(whole)) return null;
  const atMs = Date.parse(whole.toUpperCase());
  return Number.isNaN(atMs) ? null : { atMs, isDay: time === undefined };
}

function notATime(param: ParameterName): string {
  return `${param} must be a day such as 2026-01-31, or a time with its zone such as 2026-01-31T12:00:00Z.`;
}

function invalidParameter(param: ParameterName, message: string): ReadUsageParameters {
  return { outcome: 'invalid', param, message };
}
