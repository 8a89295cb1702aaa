import {
  NO_USAGE,
  readKeyMonth,
  type UsageDimension,
  type UsageGroup,
  type UsageTotals,
  usageReport,
} from '../domain/calls/usage-report.ts';
import { readLevel } from '../domain/credits/account-level.ts';
import type { HeldCredits } from '../domain/credits/held-credits.ts';
import type { ApiKey } from '../domain/keys/api-key.ts';
import type { Allowance, KeyAllowances } from '../domain/limits/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { DatabaseFailure, Statements } from '../ports/database.ts';
import type { Refusal } from './refusals.ts';
import { readUsageParameters, type UsageParameters } from './usage-parameters.ts';

export interface UsageParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly heldCredits: HeldCredits;
}

/** Whose usage is asked for, and how its limits stand. */
export interface UsageAsker {
  readonly key: ApiKey;
  readonly allowances: KeyAllowances;
}

export type AnsweredUsage =
  | { readonly outcome: 'answered'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** G-5: what the calling key has used, what its company has left, and how its limits stand. */
export async function answerUsage(
  parts: UsageParts,
  asker: UsageAsker,
  search: URLSearchParams,
): Promise<AnsweredUsage> {
  const read = readUsageParameters(search, parts.clock.now());
  if (read.outcome === 'invalid') {
    const { param, message } = read;
    return { outcome: 'refused', refusal: { name: 'invalidRequest', message, param } };
  }
  try {
    return { outcome: 'answered', body: await usageBody(parts, asker, read.parameters) };
  } catch (error) {
    // A statement that the database refuses is a fault of ours, which the log is to show.
    if ((error as Partial<DatabaseFailure>).name !== 'DatabaseFailure') throw error;
    if ((error as DatabaseFailure).reason === 'refused') throw error;
    const message = 'Usage cannot be read at the moment. Try again with backoff.';
    return { outcome: 'refused', refusal: { name: 'unavailable', message } };
  }
}

async function usageBody(
  { database, clock, heldCredits }: UsageParts,
  { key, allowances }: UsageAsker,
  { from, to, groupBy }: UsageParameters,
) {
  const month = monthOf(clock.now());
  const { companyId, id: keyId, monthlySpendingLimitMicro: limitMicro } = key;
  const by: UsageDimension[][] = [[], ['model'], ['day'], ...(groupBy === null ? [] : [[...groupBy]])];
  const [{ groups }, level, held, spentMicro] = await Promise.all([
    usageReport(database, { companyId, keyId, from, to, by }),
    readLevel(database, companyId),
    heldCredits(companyId),
    limitMicro === null ? 0n : readKeyMonth(database, keyId, month.firstDay),
  ]);
  const [totals = [], byModel = [], byDay = [], grouped = []] = groups;
  return {
    object: 'usage',
    from,
    to,
    totals: shown(totals[0] ?? NO_USAGE),
    by_model: byModel.map((group) => ({ model: group.model, ...shown(group) })),
    by_day: byDay.map((group) => ({ day: group.day, ...shown(group) })),
    ...(groupBy === null
      ? {}
      : { groups: grouped.map((group) => ({ ...namesOf(group, groupBy), ...shown(group) })) }),
    balance: { credits: credits(level?.balanceMicro ?? 0n), held: credits(held ?? 0n) },
    limits: {
      requests_per_minute: shownAllowance(allowances.requests),
      tokens_per_minute: shownAllowance(allowances.tokens),
      calls_in_flight: { limit: key.maxCallsInFlight },
      monthly_spending: limitMicro === null ? null : spendingOf(limitMicro, spentMicro, month.resetsAt),
    },
  };
}

function shown(totals: UsageTotals) {
  return {
    calls: Number(totals.calls),
    failures: Number(totals.failures),
    prompt_tokens: Number(totals.promptTokens),
    cached_tokens: Number(totals.cachedTokens),
    completion_tokens: Number(totals.completionTokens),
    credits: credits(totals.chargeMicro),
  };
}

function namesOf({ model, day, keyId }: UsageGroup, groupBy: readonly UsageDimension[]) {
  const names = { model, day, key: keyId };
  return Object.fromEntries(groupBy.map((dimension) => [dimension, names[dimension]]));
}

function shownAllowance({ limit, remaining, resetMs }: Allowance) {
  return { limit, remaining, reset_ms: Math.ceil(resetMs) };
}

function spendingOf(limitMicro: bigint, spentMicro: bigint, resetsAt: string) {
  const leftMicro = limitMicro > spentMicro ? limitMicro - spentMicro : 0n;
  return {
    limit: credits(limitMicro),
    spent: credits(spentMicro),
    remaining: credits(leftMicro),
    resets_at: resetsAt,
  };
}

/** One division of two whole numbers: the nearest number there is to the exact decimal, which is how it prints. */
function credits(micro: bigint): number {
  return Number(micro) / 1_000_000;
}

function monthOf(nowMs: number): { readonly firstDay: string; readonly resetsAt: string } {
  const now = new Date(nowMs);
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
  return { firstDay: `${now.toISOString().slice(0, 7)}-01`, resetsAt: next.toISOString() };
}
