import { storedNameOf } from '../../models/aliases.ts';
import type { FinishedCall } from './finished-call.ts';

/**
 * A call as all statements read it, with the names that charge_calls uses. Nulls are omitted: every byte is read several
 * times.
 */
export function callRowOf(call: FinishedCall) {
  return {
    id: call.id,
    company: call.companyId,
    key: call.keyId ?? undefined,
    request: call.requestId,
    endpoint: call.endpoint,
    alias: call.alias ?? undefined,
    model: pricedAlias(call),
    target: call.targetId ?? undefined,
    outcome: call.outcome,
    reason: call.reason ?? undefined,
    status: call.httpStatus,
    streamed: call.streamed,
    prompt: call.tokens?.promptTokens,
    cached: call.tokens?.cachedTokens,
    cache_write: call.tokens?.cacheWriteTokens,
    completion: call.tokens?.completionTokens,
    estimated: call.estimatedTokens,
    started: call.startedAtMs,
    first_byte: call.firstByteMs ?? undefined,
    duration: call.durationMs,
    spending_limit: call.monthlyLimitMicro?.toString(),
    idempotency: call.idempotent?.idempotencyKey,
    prompt_bound: call.tokenBounds?.promptTokens,
    completion_bound: call.tokenBounds?.completionTokens,
    payer: call.payerId,
    surcharge: call.surchargeMicro,
    tool_uses: call.toolUses,
    end_user: call.endUser,
    tags: call.tags,
    project: call.project,
    tries: call.tries,
    share: call.chargeShareMillionths,
    factor: call.priceFactorMillionths,
    completion_factor: call.completionFactorMillionths,
    tier: call.tier,
    hour_write: call.hourWriteTokens,
    hour_factor: call.hourWriteFactorMillionths,
    cost: call.costMicro,
    own_key: call.ownKey,
    cache_hit: call.cacheHit,
    served_by: call.servedBy,
    mcp: call.overMcp,
    unpriced: call.unpriced,
    count: call.count,
    budgets: call.budgets,
  };
}

/** The alias that determines the price, without its prefix. */
function pricedAlias({ alias, servedBy, pricedAs }: FinishedCall): string | undefined {
  const name = pricedAs ?? servedBy ?? alias;
  return name == null ? undefined : storedNameOf(name);
}

/** Fields that concurrent calls usually share; charge_calls reads them once for all. */
const COMMON_NAMES = [
  ...(['company', 'key', 'endpoint', 'alias', 'model', 'target', 'outcome', 'status', 'streamed'] as const),
  ...(['prompt_bound', 'completion_bound'] as const),
];

type CallRow = ReturnType<typeof callRowOf>;
type RestOfCallRow = { [Name in keyof CallRow]: CallRow[Name] | undefined };

/** The calls of one statement as charge_calls reads them. */
export function callsText(calls: readonly FinishedCall[]): string {
  const rows: RestOfCallRow[] = calls.map(callRowOf);
  const [first] = rows;
  if (first === undefined || rows.length === 1 || !calls.every(needsOnlyCharge)) return JSON.stringify(rows);
  const common: Record<string, unknown> = {};
  for (const name of COMMON_NAMES) {
    const value = first[name];
    if (value === undefined || !rows.every((row) => row[name] === value)) continue;
    common[name] = value;
    for (const row of rows) row[name] = undefined;
  }
  return `${JSON.stringify(common)}\n${JSON.stringify(rows)}`;
}

/** Whether charge_call alone can commit it. */
export function isPlain({ idempotent, endUser, tags, project, budgets }: FinishedCall): boolean {
  return (
    idempotent === undefined &&
    endUser === undefined &&
    tags === undefined &&
    project === undefined &&
    budgets === undefined
  );
}

/** Whether its commit only records and charges it. */
function needsOnlyCharge(call: FinishedCall): boolean {
  return isPlain(call) && call.response === undefined && call.monthlyLimitMicro === null;
}
