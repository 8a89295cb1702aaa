import type { CallBudget } from '../../credits/budgets/call-budgets.ts';
import type { CallAttribution } from '../call-attribution.ts';
import type { ToolUses } from './call-surcharge.ts';

type CallOutcome = 'SUCCEEDED' | 'FAILED' | 'REFUSED';

export interface CallTokens {
  readonly promptTokens: number;
  /** Included in `promptTokens`. */
  readonly cachedTokens: number;
  /** Tokens that the provider wrote to its cache, also included in `promptTokens`. Omitted if it reported none. */
  readonly cacheWriteTokens?: number | undefined;
  /** Those of them that stay in the cache for an hour. Omitted if it did not report how long they stay. */
  readonly hourWriteTokens?: number | undefined;
  readonly completionTokens: number;
}

/** The most tokens that a call is charged for, whatever its provider reports; the excess is withheld. */
export interface TokenBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** The sum for a call that used a model several times. */
export function addedTokens(one: CallTokens, other: CallTokens): CallTokens {
  const sum = (a: number, b: number) => Math.min(a + b, Number.MAX_SAFE_INTEGER);
  return {
    promptTokens: sum(one.promptTokens, other.promptTokens),
    cachedTokens: sum(one.cachedTokens, other.cachedTokens),
    ...cacheWrites(sum(one.cacheWriteTokens ?? 0, other.cacheWriteTokens ?? 0)),
    ...hourWrites(one, other),
    completionTokens: sum(one.completionTokens, other.completionTokens),
  };
}

/** Facts that apply to few calls. They are omitted otherwise, which costs nothing. */
export interface ServedCall {
  /** How often a provider was called, if more than once. */
  readonly tries?: number | undefined;
  /** The alias that answered, if it is not the requested one. */
  readonly servedBy?: string | undefined;
  /** The requested alias, if a call that another one served is charged at its price. Omitted: the one that answered. */
  readonly pricedAs?: string | undefined;
  /** The share of price and surcharge that is charged, from 0 to 1,000,000 and rounded up once; all of it if omitted. */
  readonly chargeShareMillionths?: number | undefined;
  /** The price of its tokens at the tier that served it, in millionths of the regular price; the regular price if omitted. */
  readonly priceFactorMillionths?: number | undefined;
  /** The same for its completion alone, if that differs. */
  readonly completionFactorMillionths?: number | undefined;
  /** The tier that the factor belongs to. */
  readonly tier?: string | undefined;
  /** The tokens that it wrote to the provider's cache for an hour, if they cost more than other cache writes. */
  readonly hourWriteTokens?: number | undefined;
  /** Their price, in millionths of that of a cache write. */
  readonly hourWriteFactorMillionths?: number | undefined;
  /** What the provider charges for it, in micro-credits. */
  readonly costMicro?: number | undefined;
  /** The fields and tools for which the provider reported a cost that no price covers: see UNPRICED_FIELDS. */
  readonly unpriced?: readonly string[] | undefined;
  /** Whether the company's own key at the provider was used. */
  readonly ownKey?: boolean | undefined;
  readonly cacheHit?: boolean | undefined;
  /** Whether it was made through an MCP tool, not REST. */
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
  /** Null if the upstream reported none. */
  readonly tokens: CallTokens | null;
  /** Absent if there are no tokens, and in journals of earlier versions: then the database's own limit applies. */
  readonly tokenBounds?: TokenBounds | null | undefined;
  /** The price of its hosted tools in addition to its tokens, in micro-credits; charged only with tokens. */
  readonly surchargeMicro?: number | undefined;
  /** How often it used each hosted tool. */
  readonly toolUses?: ToolUses | undefined;
  readonly estimatedTokens: number;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  /** The key's monthly spending limit as last known; null if it has none. */
  readonly monthlyLimitMicro: bigint | null;
  /** The budgets that it was admitted under. */
  readonly budgets?: readonly CallBudget[] | undefined;
  /** The user whose balance pays; absent if the company pays. */
  readonly payerId?: string | undefined;
  /** The number of refusals that it represents, if more than one. */
  readonly count?: number | undefined;
  /** Only for a call with an idempotency key. */
  readonly idempotent?: IdempotentEnding;
  /** Only for a call that created a response of the Responses API that can be read or continued. */
  readonly response?: ResponseRecord | undefined;
}

/** The reported tokens that the call is charged for; null if none were reported. */
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

function hourWrites(one: CallTokens, other: CallTokens): Pick<CallTokens, 'hourWriteTokens'> {
  if (one.hourWriteTokens === undefined && other.hourWriteTokens === undefined) return {};
  const sum = (one.hourWriteTokens ?? 0) + (other.hourWriteTokens ?? 0);
  return { hourWriteTokens: Math.min(sum, Number.MAX_SAFE_INTEGER) };
}

function cacheWrites(cacheWriteTokens: number): Pick<CallTokens, 'cacheWriteTokens'> {
  return cacheWriteTokens === 0 ? {} : { cacheWriteTokens };
}

/** The maximum of the duration columns: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * The time between two readings of a clock that may have been set in between: not negative, and within its column's range.
 */
export function elapsedMs(fromMs: number, toMs: number): number {
  return Math.min(Math.max(0, toMs - fromMs), LONGEST_MS);
}

/**
 * What the commit of a call with an idempotency key does in addition: it stores the answer or, if the call failed, frees the
 * key.
 */
interface IdempotentEnding {
  readonly idempotencyKey: string;
  /** The hash of the request, in hex. */
  readonly sha256: string;
  readonly contentType: string;
  /** Encrypted, in base64. Null if the call failed or the answer is too large to store. */
  readonly sealedAnswer: string | null;
  /** How long the row of the idempotency key is stored; absent in journals of earlier versions. */
  readonly storedForMs?: number | undefined;
}

/** A response of the Responses API, recorded with its call. All its texts have a limited length. */
export interface ResponseRecord {
  readonly id: string;
  readonly itemIds: readonly string[];
  /** The call as which a later read charges it; null if it is already charged. */
  readonly chargeCallId: string | null;
  readonly targetId: string;
  /** Encrypted, in base64. Null if its provider stores it. */
  readonly sealedContent: string | null;
  readonly contentBytes: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** How many bytes its company may store here. */
  readonly maxCompanyBytes: number;
}
