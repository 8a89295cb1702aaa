import type { CallBudget } from '../../credits/budgets/call-budgets.ts';
import type { CallAttribution } from '../call-attribution.ts';
import type { ToolUses } from './call-surcharge.ts';

type CallOutcome = 'SUCCEEDED' | 'FAILED' | 'REFUSED';

export interface CallTokens {
  readonly promptTokens: number;
  /** A part of the prompt's. */
  readonly cachedTokens: number;
  /** Another part of the prompt's: what the provider has written to its cache. Left out where it reported none. */
  readonly cacheWriteTokens?: number | undefined;
  readonly completionTokens: number;
}

/** The most tokens that a call is charged for, whatever its provider reports; what is beyond is withheld. */
export interface TokenBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A count of tokens as a provider reports it; null for what is none: negative, fractional, past 2^53, not a number. */
export function reportedTokens(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** Of one call that asked a model several times. */
export function addedTokens(one: CallTokens, other: CallTokens): CallTokens {
  const sum = (a: number, b: number) => Math.min(a + b, Number.MAX_SAFE_INTEGER);
  return {
    promptTokens: sum(one.promptTokens, other.promptTokens),
    cachedTokens: sum(one.cachedTokens, other.cachedTokens),
    ...cacheWrites(sum(one.cacheWriteTokens ?? 0, other.cacheWriteTokens ?? 0)),
    completionTokens: sum(one.completionTokens, other.completionTokens),
  };
}

/** Of what serves few calls: left out where it is not used, which costs nothing. */
export interface ServedCall {
  /** How often a provider was called, where that was more than once. */
  readonly tries?: number | undefined;
  /** The alias that answered, where it is not the one that was requested: the price is its. */
  readonly servedBy?: string | undefined;
  /** What of price and surcharge is charged, from 0 to 1,000,000, rounded up once; all of it where left out. */
  readonly chargeShareMillionths?: number | undefined;
  /** What its tokens cost at the tier that served it, in millionths of their price; the price itself where left out. */
  readonly priceFactorMillionths?: number | undefined;
  /** The tier that this factor is for. */
  readonly tier?: string | undefined;
  /** What the provider charges for it, in micro-credits. */
  readonly costMicro?: number | undefined;
  /** The company's own key at the provider was used. */
  readonly ownKey?: boolean | undefined;
  readonly cacheHit?: boolean | undefined;
  /** It came by a tool of MCP, not by REST. */
  readonly overMcp?: boolean | undefined;
}

export interface FinishedCall extends ServedCall, CallAttribution {
  readonly id: string;
  readonly companyId: string;
  /** Null for calls that the platform makes for a company. */
  readonly keyId: string | null;
  readonly requestId: string;
  readonly endpoint: string;
  readonly alias: string | null;
  readonly targetId: string | null;
  readonly outcome: CallOutcome;
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly streamed: boolean;
  /** Null where the upstream did not tell. */
  readonly tokens: CallTokens | null;
  /** Absent where there are no tokens, and in journals of earlier versions: then the database's own bound applies. */
  readonly tokenBounds?: TokenBounds | null | undefined;
  /** What its hosted tools cost besides its tokens, in micro-credits; charged only with tokens. */
  readonly surchargeMicro?: number | undefined;
  /** How often it used each hosted tool. */
  readonly toolUses?: ToolUses | undefined;
  readonly estimatedTokens: number;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  /** The key's monthly spending limit as it was known; null without one. */
  readonly monthlyLimitMicro: bigint | null;
  /** The budgets that it was admitted under. */
  readonly budgets?: readonly CallBudget[] | undefined;
  /** The user whose balance pays; absent where the company's does. */
  readonly payerId?: string | undefined;
  /** How many refusals it is the record of, where that is more than one. */
  readonly count?: number | undefined;
  /** Only of a call with an idempotency key. */
  readonly idempotent?: IdempotentEnding;
  /** Only of a call that made a response of the Responses API that can be read or continued. */
  readonly response?: ResponseRecord | undefined;
}

/** As many of the reported tokens as the call is charged for; null where none were reported. */
export function chargedTokens({
  tokens,
  tokenBounds,
}: Pick<FinishedCall, 'tokens' | 'tokenBounds'>): CallTokens | null {
  if (tokens === null || tokenBounds == null) return tokens;
  const promptTokens = Math.min(tokens.promptTokens, tokenBounds.promptTokens);
  const completionTokens = Math.min(tokens.completionTokens, tokenBounds.completionTokens);
  if (promptTokens === tokens.promptTokens && completionTokens === tokens.completionTokens) return tokens;
  const cachedTokens = Math.min(tokens.cachedTokens, promptTokens);
  const written = Math.min(tokens.cacheWriteTokens ?? 0, promptTokens - cachedTokens);
  return { promptTokens, cachedTokens, ...cacheWrites(written), completionTokens };
}

function cacheWrites(cacheWriteTokens: number): Pick<CallTokens, 'cacheWriteTokens'> {
  return cacheWriteTokens === 0 ? {} : { cacheWriteTokens };
}

/** The largest that the column of a duration takes: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Between two readings of a clock that may have been set meanwhile: neither below zero nor beyond its column. */
export function elapsedMs(fromMs: number, toMs: number): number {
  return Math.min(Math.max(0, toMs - fromMs), LONGEST_MS);
}

/** What the commit of a call with an idempotency key does besides: the answer is kept, or where it failed the key freed. */
interface IdempotentEnding {
  readonly idempotencyKey: string;
  /** Of what was asked, in hex. */
  readonly sha256: string;
  readonly contentType: string;
  /** Encrypted, in base64. Null where the call failed, or where the answer is too large to be kept. */
  readonly sealedAnswer: string | null;
  /** How long the key's own row is stored; absent in journals of earlier versions. */
  readonly storedForMs?: number | undefined;
}

/** A response of the Responses API, which is recorded with its call. Every text in it is bounded. */
export interface ResponseRecord {
  readonly id: string;
  readonly itemIds: readonly string[];
  /** The call under which a later read charges it; null where it is charged. */
  readonly chargeCallId: string | null;
  readonly targetId: string;
  /** Encrypted, in base64. Null where its provider stores it. */
  readonly sealedContent: string | null;
  readonly contentBytes: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** What its company may have stored here. */
  readonly maxCompanyBytes: number;
}
