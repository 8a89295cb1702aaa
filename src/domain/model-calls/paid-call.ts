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
import { type Alias, priceAt, priceOf, type TokenFactors } from '../models/aliases.ts';
import { type HourWrites, hourWriteFactor, hourWritesOf } from '../models/tiers/hour-writes.ts';
import {
  mostFactor,
  type RequestedTiers,
  splitsLongPrompts,
  type Tiers,
  tierUse,
} from '../models/tiers/tiers.ts';
import { boundedUnpriced } from '../models/tiers/unpriced-fields.ts';

/**
 * A model call that costs credits, by a key or by the platform for a company (G-28):
 *
 *   holdsFor      holds its estimated cost against the balance, in one step with the key's limits (limits.reserve)
 *   ...           targets are tried (try-targets.ts)
 *   recordOf      the record that is written; the charge follows from the tokens
 *   ...           the commit: the gateway's through the call book, a platform call's in the transaction of its effect
 *   releaseCall   releases what it held, in one step with the levels after the commit
 *
 * Always in this order: the hold is never released before the charge exists. All of this runs for every call of the
 * gateway, so none of it is async and no object is copied whole.
 */
export interface PaidCall {
  readonly id: string;
  readonly payer: Payer;
  readonly alias: Alias;
  readonly estimatedTokens: number;
  readonly reservation: CallReservation;
  /** What affects its price besides the tokens; null or omitted if nothing does. */
  readonly tiers?: RequestedTiers | null;
  /** Set if the client has listed the fallbacks itself: each of them costs its own price. */
  readonly listsFallbacks?: boolean | undefined;
}

/** How a call was answered, if not by the first attempt of its own alias. */
export interface Served {
  /** The alias that answered; null if it is the requested one. */
  readonly by: Alias | null;
  readonly tries: number;
}

/** Undefined for nearly every call. */
export function servedOf(requested: Alias, by: Alias, tries: number): Served | undefined {
  const isOther = by.alias !== requested.alias;
  return isOther || tries > 1 ? { by: isOther ? by : null, tries } : undefined;
}

/** What is recorded of a call besides how it ended. */
interface RecordedFacts {
  readonly requestId: string;
  readonly endpoint: string;
  readonly streamed: boolean;
  readonly nowMs: number;
  /** Each of them may be as long as the alias's context. */
  readonly prompts: number;
  /** For each prompt. */
  readonly choices: number;
  /** The maximum of the body; null or omitted if it sets none. */
  readonly maxTokens?: number | null | undefined;
  /** Null or omitted if unknown. */
  readonly attribution?: CallAttribution | null | undefined;
  readonly served?: Served | undefined;
  readonly overMcp?: boolean | undefined;
  readonly response?: FinishedCall['response'];
}

type SetByRecord =
  | (
      | 'tries'
      | 'servedBy'
      | 'pricedAs'
      | 'overMcp'
      | 'priceFactorMillionths'
      | 'completionFactorMillionths'
      | 'tier'
    )
  | ('hourWriteTokens' | 'hourWriteFactorMillionths');

export interface CallEnding extends Omit<ServedCall, SetByRecord> {
  readonly outcome: FinishedCall['outcome'];
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly targetId: string | null;
  /** Null if nothing is to be paid. */
  readonly tokens: CallTokens | null;
  readonly firstByteMs: number | null;
  /** The price of hosted tools in addition to the tokens, in micro-credits; omitted if the call is not charged. */
  readonly surchargeMicro?: number;
  readonly toolUses?: ToolUses;
  /** Replaces the estimate with which it was admitted. */
  readonly estimatedTokens?: number;
  /** How many prompts the tokens are for, if this is only known at the end of the call. */
  readonly prompts?: number;
  readonly served?: Served | undefined;
  /** The tiers that the provider reports. */
  readonly reportedTiers?: Tiers | undefined;
}

/** The reason of a call whose client left before its end. */
export const CLIENT_LEFT = 'client-left';

/** The result of a call whose answer was read whole. */
export interface CallUsage {
  /** Null if nothing is to be paid. */
  readonly tokens: CallTokens | null;
  readonly targetId: string | null;
  readonly reason: string | null;
  readonly answeredAtMs: number | null;
  /** How many prompts the tokens are for: a model that was asked twice, or a list of texts. Default: one. */
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
  /** The most that all of them may cost; held in addition to the tokens. */
  readonly mostMicro: number;
}

function mostSurcharge({ mostMicro }: HostedPlan): number {
  return Math.min(mostMicro, MOST_SURCHARGE_MICRO);
}

/**
 * The price of the uses that the provider reported. Uses beyond the limit are recorded but not charged, like tokens
 * beyond what a call can use. The model reads its prompt again after each use.
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
 * What a call holds against its payer's credits: its estimated cost, at the price in force when it begins. With hosted
 * tools it also holds the cost of all uses that it may make, and the credits must cover it completely: a provider
 * charges for tools immediately, and a company with few credits left could run a thousand of them. If other aliases may
 * answer, the most that the call may cost by any of them is held.
 */
export function holdsFor(
  holds: Pick<CreditHolds, 'of'>,
  payer: Payer,
  { alias, size, hosted = null, fallbacks = NO_FALLBACKS, tiers, listsFallbacks }: CallToHold,
): ReturnType<CreditHolds['of']> {
  const atMs = payer.startedAtMs;
  let due = dueFor({ alias, size, hosted, tiers }, atMs);
  for (const other of fallbacks) {
    const own = dueFor({ alias: other, size, tiers }, atMs);
    const most = costsAtMost({ alias, listsFallbacks })
      ? Math.min(own, dueFor({ alias, by: other, size, tiers }, atMs))
      : own;
    due = Math.max(due, most);
  }
  // A call that costs nothing is never refused for its balance.
  if (due === 0 && alias.ownKey?.chargeShareMillionths === 0) return [];
  if (hosted === null) return holds.of(payer, due);
  return holds.of(payer, due).map((hold) => ({ ...hold, rule: 'fits' }));
}

/** What determines the most that a call may cost. */
interface CallToHold {
  readonly alias: Alias;
  readonly size: CallSize;
  readonly hosted?: HostedPlan | null;
  /** The aliases that answer if the first cannot. */
  readonly fallbacks?: readonly Alias[] | undefined;
  readonly tiers?: RequestedTiers | null | undefined;
  readonly listsFallbacks?: boolean | undefined;
}

/** Whether a call that a fallback serves costs at most what the requested alias would have cost for the same usage. */
function costsAtMost({ alias, listsFallbacks }: Pick<PaidCall, 'alias' | 'listsFallbacks'>): boolean {
  return listsFallbacks !== true && alias.routing?.fallbackPrice !== 'served';
}

const NO_FALLBACKS: readonly Alias[] = [];
/** In millionths. */
const WHOLE_SHARE = 1_000_000;

interface CallToEstimate extends Pick<CallToHold, 'alias' | 'size' | 'hosted' | 'tiers'> {
  /** The alias that answers, if it is not the one whose price this is. */
  readonly by?: Alias;
}

function dueFor({ alias, by = alias, size, hosted = null, tiers }: CallToEstimate, atMs: number): number {
  const { ownKey } = alias;
  const usage = usageToHold(by, size);
  // A token has at least one byte, so a body with fewer bytes cannot be a longer prompt.
  const longest = Math.max(usage.promptTokens, size.bytes) / Math.max(1, size.prompts);
  const factor = mostFactor(alias, tiers, longest);
  const ofHour = tiers?.writesForHour === true ? hourWriteFactor(alias) : undefined;
  const ofAnswer = splitsLongPrompts(alias) ? mostFactor(alias, tiers, longest, 'completion') : factor;
  const ofTokens = estimateCost(priceAt(alias, atMs), usage, factor, ofHour, ofAnswer);
  const all = ofTokens + (hosted === null ? 0 : mostSurcharge(hosted));
  return ownKey === undefined ? all : Math.ceil((all * ownKey.chargeShareMillionths) / WHOLE_SHARE);
}

/** What is known of a call's size before it runs. */
export interface CallSize {
  readonly bytes: number;
  /** From the body; null if it sets none. */
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
 * The usage that is held for a call. Nothing that the client omits makes it smaller: without a maximum the alias's own
 * is used, and if the bytes do not show what the model will read, all that it can read.
 */
function usageToHold(alias: Alias, size: CallSize): EstimatedUsage {
  const { bytes, maxTokens, choices, prompts, refersOutside, isAnswered } = size;
  const answers = choices * prompts;
  const usage = estimateUsage(bytes, isAnswered ? (maxTokens ?? alias.maxOutputTokens) : 0, answers);
  if (!refersOutside) return usage;
  return { ...usage, promptTokens: Math.min(alias.contextLength * prompts, MOST_TOKENS) };
}

/** Above what models write in one answer, reasoning included. */
const PLAUSIBLE_COMPLETION_TOKENS = 262_144;

/**
 * The most that a call can plausibly use: tokens that the provider reports beyond that are not charged. Much more than is
 * held, because a model may write more than its alias says, and may not even be asked to keep to it.
 */
function mostTokens(
  { kind, plausiblePromptTokens, maxOutputTokens }: Alias,
  prompts: number,
  { choices, maxTokens }: Pick<RecordedFacts, 'choices' | 'maxTokens'>,
): TokenBounds {
  const [ofPrompts, ofChoices] = [Math.max(1, prompts), Math.max(1, choices)];
  const ofAnswer = kind === 'embed' ? 0 : Math.max(maxTokens ?? 0, PLAUSIBLE_COMPLETION_TOKENS);
  return {
    promptTokens: Math.min(plausiblePromptTokens * ofPrompts, MOST_TOKENS),
    completionTokens: Math.min(Math.max(ofAnswer, maxOutputTokens) * ofPrompts * ofChoices, MOST_TOKENS),
  };
}

export function totalTokens({ promptTokens, completionTokens }: EstimatedUsage): number {
  return promptTokens + completionTokens;
}

/** Work of the embedded engine in place of a failing provider counts as that provider's failure, and is free (G-28). */
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
  call: Omit<PaidCall, 'reservation'>,
  {
    requestId,
    endpoint,
    streamed,
    nowMs,
    prompts,
    choices,
    maxTokens,
    attribution,
    served: known,
    overMcp,
    response,
  }: RecordedFacts,
  ending: CallEnding,
): FinishedCall {
  const { id, payer, alias, estimatedTokens } = call;
  const { companyId, keyId, monthlyLimitMicro, startedAtMs, userId } = payer;
  const served = ending.served ?? known;
  const by = served?.by ?? alias;
  const tokenBounds =
    ending.tokens === null ? null : mostTokens(by, ending.prompts ?? prompts, { choices, maxTokens });
  const { own, rates } = chargedRates(call, by, { ending, tokenBounds, prompts });
  const { used, hourWrites } = rates;
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
    pricedAs: rates === own ? undefined : alias.alias,
    chargeShareMillionths: rates.shareMillionths,
    priceFactorMillionths: used?.priceFactorMillionths,
    completionFactorMillionths: used?.completionFactorMillionths,
    tier: used?.tier,
    hourWriteTokens: hourWrites?.tokens,
    hourWriteFactorMillionths: hourWrites?.factorMillionths,
    costMicro: ending.costMicro ?? costOf(by, ending, tokenBounds, own.used, own.hourWrites),
    ownKey: by.ownKey === undefined || ending.cacheHit === true ? undefined : true,
    cacheHit: ending.cacheHit,
    overMcp,
    unpriced: ending.unpriced === undefined ? undefined : boundedUnpriced(ending.unpriced),
    response,
  };
}

/** What the tokens of a call cost by the price of an alias, besides that price. */
interface Rates {
  readonly used: ReturnType<typeof tierUse>;
  readonly hourWrites: HourWrites | undefined;
  readonly shareMillionths: number | undefined;
}

function ratesOf(
  alias: Alias,
  { tiers }: Pick<PaidCall, 'tiers'>,
  ending: CallEnding,
  longest: number,
): Rates {
  const isFromProvider = ending.cacheHit !== true;
  return {
    used: isFromProvider ? tierUse(alias, tiers, ending.reportedTiers, longest) : undefined,
    hourWrites: isFromProvider ? hourWritesOf(alias, tiers, ending.tokens) : undefined,
    shareMillionths: shareOf(alias, ending.chargeShareMillionths),
  };
}

interface UsedTokens {
  readonly ending: CallEnding;
  readonly tokenBounds: TokenBounds | null;
  readonly prompts: number;
}

/**
 * `own` are those of the alias that served the call, `rates` those that it is charged by. G-28: those of the requested alias, if
 * the call costs less by its price. By the prices that this process knows.
 */
function chargedRates(
  call: Omit<PaidCall, 'reservation'>,
  by: Alias,
  { ending, tokenBounds, prompts }: UsedTokens,
): { readonly own: Rates; readonly rates: Rates } {
  const { alias, payer } = call;
  const longest = promptTokensOf(ending, prompts);
  const own = ratesOf(by, call, ending, longest);
  const tokens = ending.tokens === null ? null : chargedTokens({ tokens: ending.tokens, tokenBounds });
  if (by === alias || tokens === null || !costsAtMost(call)) return { own, rates: own };
  const requested = ratesOf(alias, call, ending, longest);
  const due = (one: Alias, { used, hourWrites, shareMillionths = WHOLE_SHARE }: Rates) => {
    const price = priceAt(one, payer.startedAtMs);
    return price === null ? 0n : priceOf(price, tokens, hourWrites, used) * BigInt(shareMillionths);
  };
  return { own, rates: due(alias, requested) < due(by, own) ? requested : own };
}

/** Of one prompt, if the body has several. A model that uses hosted tools reads its only prompt again and again. */
function promptTokensOf({ tokens, toolUses, prompts }: CallEnding, ofBody: number): number {
  if (tokens === null) return 0;
  return tokens.promptTokens / Math.max(1, toolUses === undefined ? (prompts ?? ofBody) : ofBody);
}

/** For an answer from the cache with an own key: the cache's share of the fee. */
function shareOf({ ownKey }: Pick<Alias, 'ownKey'>, given: number | undefined): number | undefined {
  if (ownKey === undefined) return given;
  return Math.ceil(((given ?? WHOLE_SHARE) * ownKey.chargeShareMillionths) / WHOLE_SHARE);
}

/**
 * The provider's price of the answer in micro-credits, for as many tokens as are charged. Undefined if unknown because
 * the target that answered has no cost. A tier changes it by the same factor as the charge. With a company's own key,
 * or from the cache, the operator pays nothing.
 */
export function costOf(
  { targets, ownKey }: Pick<Alias, 'targets' | 'ownKey'>,
  { targetId, tokens, cacheHit }: Pick<CallEnding, 'targetId' | 'tokens' | 'cacheHit'>,
  tokenBounds: TokenBounds | null,
  used?: TokenFactors,
  hourWrites?: HourWrites,
): number | undefined {
  if (tokens === null) return undefined;
  if (ownKey !== undefined) return 0;
  if (cacheHit === true) return targets.some(({ cost }) => cost != null) ? 0 : undefined;
  for (const { id, cost } of targets) {
    if (id !== targetId || cost == null) continue;
    const due = priceOf(cost, chargedTokens({ tokens, tokenBounds }) ?? tokens, hourWrites, used);
    return Math.min(Number(due), Number.MAX_SAFE_INTEGER);
  }
  return undefined;
}

/**
 * The tokens that a call counts against the limits of its key and company instead of the estimate: those it used, as far as a
 * call can use them, without those that the provider read from its cache, or 0 if no model ran. Null keeps the estimate (G-31): a model was reached but reported none, or the client
 * left before it answered.
 */
export function tokensToCount(call: FinishedCall): number | null {
  if (call.cacheHit === true) return 0;
  const tokens = chargedTokens(call);
  if (tokens !== null) return totalTokens(tokens) - tokens.cachedTokens;
  return call.firstByteMs === null && call.reason !== CLIENT_LEFT ? 0 : null;
}

/**
 * Releases what a call holds after its commit. `charged` is null if nothing was written. If it is a promise, the commit
 * is still to come: the credits stay held until then, and this does not wait for it.
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
