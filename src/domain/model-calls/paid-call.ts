import type { CallAttribution } from '../calls/call-attribution.ts';
import {
  boundedSurcharge,
  boundedToolUses,
  MOST_SURCHARGE_MICRO,
  type ToolUses,
} from '../calls/settlement/call-surcharge.ts';
import {
  type CallTokens,
  chargedTokens,
  elapsedMs,
  type FinishedCall,
  type ServedCall,
  type TokenBounds,
} from '../calls/settlement/finished-call.ts';
import type { OwnCharge } from '../calls/settlement/own-charge.ts';
import { type CreditHolds, estimateCost, type Payer } from '../credits/holds/holds.ts';
import type { CallReservation } from '../limits/call-reservation.ts';
import { type EstimatedUsage, estimateUsage, MOST_TOKENS } from '../limits/claims.ts';
import { type Alias, priceAt, priceOf } from '../models/aliases.ts';
import { mostFactor, type Tiers, tierUse, WHOLE_PRICE } from '../models/tiers/tiers.ts';

/**
 * A model call that costs credits, by a key or by the platform for a company (G-28):
 *
 *   holdsFor      its estimated cost, held against the balance in one step with the key's limits (limits.reserve)
 *   ...           targets are tried (try-targets.ts)
 *   recordOf      what is written of it; the charge follows from the tokens
 *   ...           the commit: the gateway's through the call book, a platform call's in the transaction of its effect
 *   releaseCall   what it held is given back together with the levels that the commit left
 *
 * Always in this order: the hold is never gone before the charge is there. Everything here runs for every call of
 * the gateway, so none of it is async and no object is copied whole.
 */
export interface PaidCall {
  readonly id: string;
  readonly payer: Payer;
  readonly alias: Alias;
  readonly estimatedTokens: number;
  readonly reservation: CallReservation;
  /** What decides on its price besides the tokens; null, or left out, where nothing does. */
  readonly tiers?: Tiers | null;
}

/** How a call came to its answer, where that was not by the first try of its own alias. */
export interface Served {
  /** The alias that answered, which decides the price; null where it is the one that was requested. */
  readonly by: Alias | null;
  readonly tries: number;
}

/** Undefined for nearly every call. */
export function servedOf(requested: Alias, by: Alias, tries: number): Served | undefined {
  const isOther = by.alias !== requested.alias;
  return isOther || tries > 1 ? { by: isOther ? by : null, tries } : undefined;
}

/** What a record says of a call besides how it ended. */
interface RecordedFacts {
  readonly requestId: string;
  readonly endpoint: string;
  readonly streamed: boolean;
  readonly nowMs: number;
  /** Each of them may be as long as the alias's context. */
  readonly prompts: number;
  /** Of each prompt. */
  readonly choices: number;
  /** Null, or left out, where nothing is known of it. */
  readonly attribution?: CallAttribution | null | undefined;
  readonly served?: Served | undefined;
  readonly overMcp?: boolean | undefined;
  readonly response?: FinishedCall['response'];
}

type SetByRecord = 'tries' | 'servedBy' | 'overMcp' | 'priceFactorMillionths' | 'tier';

export interface CallEnding extends Omit<ServedCall, SetByRecord> {
  readonly outcome: FinishedCall['outcome'];
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly targetId: string | null;
  /** Null where nothing is to be paid. */
  readonly tokens: CallTokens | null;
  readonly firstByteMs: number | null;
  /** What hosted tools cost besides the tokens, in micro-credits; none where the call is not charged. */
  readonly surchargeMicro?: number;
  readonly toolUses?: ToolUses;
  /** In the place of the estimate it was admitted with. */
  readonly estimatedTokens?: number;
  /** How many prompts the tokens are of, where only the end of the call can say so. */
  readonly prompts?: number;
  readonly served?: Served | undefined;
  /** The tiers that the provider says it has used. */
  readonly reportedTiers?: Tiers | undefined;
}

/** The reason of a call whose client left before its end. */
export const CLIENT_LEFT = 'client-left';

/** What came of a call whose answer was read whole. */
export interface CallUsage {
  /** Null where nothing is to be paid. */
  readonly tokens: CallTokens | null;
  readonly targetId: string | null;
  readonly reason: string | null;
  readonly answeredAtMs: number | null;
  /** How many prompts the tokens are of: of a model that was asked twice, or of a list of texts. One unless given. */
  readonly prompts?: number;
  readonly served?: Served | undefined;
}

/** A hosted tool that a call may use, at the price in force when it began. */
export interface PlannedTool {
  readonly name: string;
  readonly priceMicro: number;
  readonly mostUses: number;
}

/** What a call may spend on tools that run at its provider. */
export interface HostedPlan {
  readonly tools: readonly PlannedTool[];
  /** The most that all of them may cost; held beside the tokens. */
  readonly mostMicro: number;
}

function mostSurcharge({ mostMicro }: HostedPlan): number {
  return Math.min(mostMicro, MOST_SURCHARGE_MICRO);
}

/**
 * What the uses that the provider reported cost. Uses beyond the bound are recorded and not charged, as tokens beyond what a
 * call can use are not. The model reads its prompt once more after each use.
 */
export function surchargeOf(
  plan: HostedPlan,
  uses: ToolUses,
): Required<Pick<CallEnding, 'surchargeMicro' | 'toolUses' | 'prompts'>> {
  let micro = 0;
  let all = 0;
  for (const { name, priceMicro, mostUses } of plan.tools) {
    const count = Math.min(uses[name] ?? 0, mostUses);
    micro += count * priceMicro;
    all += count;
  }
  return { surchargeMicro: Math.min(micro, mostSurcharge(plan)), toolUses: uses, prompts: 1 + all };
}

/**
 * What a call holds against its payer's credits: its estimated cost, at the price in force when it begins. With hosted tools
 * it is the cost of all uses that it may make besides, and the credits must cover it whole: a provider charges for tools at
 * once, and a company with a few credits left could have a thousand of them run. Where other aliases may answer, it is the
 * dearest of them that is held.
 */
export function holdsFor(
  holds: Pick<CreditHolds, 'of'>,
  payer: Payer,
  { alias, size, hosted = null, fallbacks = NO_FALLBACKS, tiers }: CallToHold,
): ReturnType<CreditHolds['of']> {
  let due = dueFor({ alias, size, hosted, tiers }, payer.startedAtMs);
  for (const other of fallbacks) {
    due = Math.max(due, dueFor({ alias: other, size, tiers }, payer.startedAtMs));
  }
  // What costs nothing is refused for no balance.
  if (due === 0 && alias.ownKey?.chargeShareMillionths === 0) return [];
  if (hosted === null) return holds.of(payer, due);
  return holds.of(payer, due).map((hold) => ({ ...hold, rule: 'fits' }));
}

/** What a call may come to. */
interface CallToHold {
  readonly alias: Alias;
  readonly size: CallSize;
  readonly hosted?: HostedPlan | null;
  /** The aliases that answer where the first cannot. */
  readonly fallbacks?: readonly Alias[] | undefined;
  readonly tiers?: Tiers | null | undefined;
}

const NO_FALLBACKS: readonly Alias[] = [];
/** In millionths. */
const WHOLE_SHARE = 1_000_000;

function dueFor({ alias, size, hosted = null, tiers }: CallToHold, atMs: number): number {
  const { ownKey } = alias;
  const ofTokens = estimateCost(priceAt(alias, atMs), usageToHold(alias, size), mostFactor(alias, tiers));
  const all = ofTokens + (hosted === null ? 0 : mostSurcharge(hosted));
  return ownKey === undefined ? all : Math.ceil((all * ownKey.chargeShareMillionths) / WHOLE_SHARE);
}

/** What is known of a call's size before it runs. */
export interface CallSize {
  readonly bytes: number;
  /** The body's own; null where it names none. */
  readonly maxTokens: number | null;
  readonly choices: number;
  readonly prompts: number;
  readonly refersOutside: boolean;
  /** False for embeddings. */
  readonly isAnswered: boolean;
}

/** A text that is answered once, without a maximum. */
export function sizeOfText(bytes: number): CallSize {
  return { bytes, maxTokens: null, choices: 1, prompts: 1, refersOutside: false, isAnswered: true };
}

/**
 * What is held for a call. Nothing that the client may leave out makes it smaller: without a maximum the alias's own
 * counts, and where the bytes do not show what the model will read, all that it can read does.
 */
function usageToHold(alias: Alias, size: CallSize): EstimatedUsage {
  const { bytes, maxTokens, choices, prompts, refersOutside, isAnswered } = size;
  const answers = choices * prompts;
  const usage = estimateUsage(bytes, isAnswered ? (maxTokens ?? alias.maxOutputTokens) : 0, answers);
  if (!refersOutside) return usage;
  return { ...usage, promptTokens: Math.min(alias.contextLength * prompts, MOST_TOKENS) };
}

/** The most that a call can use by its alias: what its provider reports beyond that is not charged. */
export function mostTokens(
  { contextLength, maxOutputTokens }: Pick<Alias, 'contextLength' | 'maxOutputTokens'>,
  prompts: number,
  choices: number,
): TokenBounds {
  const [ofPrompts, ofChoices] = [Math.max(1, prompts), Math.max(1, choices)];
  return {
    promptTokens: Math.min(contextLength * ofPrompts, MOST_TOKENS),
    completionTokens: Math.min(maxOutputTokens * ofPrompts * ofChoices, MOST_TOKENS),
  };
}

export function totalTokens({ promptTokens, completionTokens }: EstimatedUsage): number {
  return promptTokens + completionTokens;
}

/** What the embedded engine did in a failing provider's place is that provider's failure, and free (G-28). */
export function endingOf(
  { tokens, targetId, reason, answeredAtMs, prompts = 1, served }: CallUsage,
  startedAtMs: number,
): CallEnding {
  return {
    outcome: tokens === null ? 'FAILED' : 'SUCCEEDED',
    reason,
    httpStatus: 200,
    targetId,
    tokens,
    firstByteMs: answeredAtMs === null ? null : elapsedMs(startedAtMs, answeredAtMs),
    prompts,
    served,
  };
}

export function recordOf(
  { id, payer, alias, estimatedTokens, tiers }: Omit<PaidCall, 'reservation'>,
  {
    requestId,
    endpoint,
    streamed,
    nowMs,
    prompts,
    choices,
    attribution,
    served: known,
    overMcp,
    response,
  }: RecordedFacts,
  ending: CallEnding,
): FinishedCall {
  const { companyId, keyId, monthlyLimitMicro, startedAtMs, userId } = payer;
  const served = ending.served ?? known;
  const priced = served?.by ?? alias;
  const tokenBounds = ending.tokens === null ? null : mostTokens(priced, ending.prompts ?? prompts, choices);
  const used = ending.cacheHit === true ? undefined : tierUse(priced, tiers, ending.reportedTiers);
  return {
    id,
    companyId,
    keyId,
    requestId,
    endpoint,
    alias: alias.alias,
    streamed,
    estimatedTokens: ending.estimatedTokens ?? estimatedTokens,
    startedAtMs,
    durationMs: elapsedMs(startedAtMs, nowMs),
    monthlyLimitMicro,
    payerId: userId ?? undefined,
    // One by one: copying an object whole costs several times as much.
    outcome: ending.outcome,
    reason: ending.reason,
    httpStatus: ending.httpStatus,
    targetId: ending.targetId,
    tokens: ending.tokens,
    tokenBounds,
    surchargeMicro: boundedSurcharge(ending.surchargeMicro),
    toolUses: ending.toolUses === undefined ? undefined : boundedToolUses(ending.toolUses),
    firstByteMs: ending.firstByteMs,
    endUser: attribution?.endUser,
    tags: attribution?.tags,
    project: attribution?.project,
    budgets: payer.budgets,
    tries: served !== undefined && served.tries > 1 ? served.tries : undefined,
    servedBy: served?.by?.alias,
    chargeShareMillionths: shareOf(priced, ending.chargeShareMillionths),
    priceFactorMillionths: used?.priceFactorMillionths,
    tier: used?.tier,
    costMicro: ending.costMicro ?? costOf(priced, ending, tokenBounds, used?.priceFactorMillionths),
    ownKey: priced.ownKey === undefined || ending.cacheHit === true ? undefined : true,
    cacheHit: ending.cacheHit,
    overMcp,
    response,
  };
}

/** Of an answer from the cache, with an own key: the cache's share of the fee. */
function shareOf({ ownKey }: Pick<Alias, 'ownKey'>, given: number | undefined): number | undefined {
  if (ownKey === undefined) return given;
  return Math.ceil(((given ?? WHOLE_SHARE) * ownKey.chargeShareMillionths) / WHOLE_SHARE);
}

/**
 * What the answer costs at its provider, in micro-credits, of as many tokens as it is charged for. Undefined where that is not
 * known: the target that answered has no cost. A tier costs as much more or less as it is charged. With a company's own key, or from the cache, it costs the operator nothing.
 */
export function costOf(
  { targets, ownKey }: Pick<Alias, 'targets' | 'ownKey'>,
  { targetId, tokens, cacheHit }: Pick<CallEnding, 'targetId' | 'tokens' | 'cacheHit'>,
  tokenBounds: TokenBounds | null,
  factorMillionths = WHOLE_PRICE,
): number | undefined {
  if (tokens === null) return undefined;
  if (ownKey !== undefined) return 0;
  if (cacheHit === true) return targets.some(({ cost }) => cost != null) ? 0 : undefined;
  for (const { id, cost } of targets) {
    if (id !== targetId || cost == null) continue;
    const micro = priceOf(cost, chargedTokens({ tokens, tokenBounds }) ?? tokens);
    const whole = BigInt(WHOLE_PRICE);
    const due = (micro * BigInt(factorMillionths) + whole - 1n) / whole;
    return Math.min(Number(due), Number.MAX_SAFE_INTEGER);
  }
  return undefined;
}

/**
 * The tokens that a call counts against its key's limit in the place of the estimate: those it used, as far as a call can
 * use them; where it reached a model that reported none, or the client left before it answered, the estimate stays (null, G-31); where no model ran,
 * none.
 */
export function tokensToCount(call: FinishedCall): number | null {
  if (call.cacheHit === true) return 0;
  const tokens = chargedTokens(call);
  if (tokens !== null) return totalTokens(tokens);
  return call.firstByteMs === null && call.reason !== CLIENT_LEFT ? 0 : null;
}

/**
 * After the commit. `charged` is null where nothing was written. Where the commit is still to come, the credits stay
 * held until then, and this does not wait for it.
 */
export function releaseCall(
  holds: Pick<CreditHolds, 'levelsAfter'>,
  { payer, reservation }: Pick<PaidCall, 'payer' | 'reservation'>,
  countedTokens: number | null,
  charged: OwnCharge | Promise<OwnCharge> | null,
): Promise<void> {
  if (charged === null) return reservation.end(countedTokens, []);
  if (charged instanceof Promise) {
    return reservation.end(
      countedTokens,
      charged.then((charge) => holds.levelsAfter(payer, charge)),
    );
  }
  return reservation.end(countedTokens, holds.levelsAfter(payer, charged));
}
