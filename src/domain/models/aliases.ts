import type { UpstreamTarget } from '../../ports/model-upstream.ts';
import type { HourWrites } from './tiers/hour-writes.ts';
import type { PriceFactors } from './tiers/tiers.ts';

export type AliasKind = 'chat' | 'extract' | 'embed';

/** The documented names (G-14), without the configured prefix. Operators add their own names. */
export const ALIAS_NAMES = [
  { name: 'chat-premium', kind: 'chat' },
  { name: 'chat-default', kind: 'chat' },
  { name: 'chat-cheap', kind: 'chat' },
  { name: 'extract-default', kind: 'extract' },
  { name: 'extract-fast', kind: 'extract' },
  { name: 'embed-default', kind: 'embed' },
] as const satisfies readonly { name: string; kind: AliasKind }[];

/**
 * As stored in the database: a documented name without the prefix, so that its targets and prices stay the same under
 * another prefix, or an operator's own name exactly as clients write it.
 */
export type AliasName = string;

export interface AliasTarget extends UpstreamTarget {
  /** The provider's host, which names its circuit breaker. Parsed once, when the catalogue is opened. */
  readonly host?: string;
  /** Its share of the calls, relative to the sum of all weights of the alias. */
  readonly weight: number;
  /** The maximum number of concurrent calls in one process; omitted: no limit. */
  readonly maxInFlight?: number;
  /** The provider's price per million tokens, in micro-credits. Null or omitted: unknown. */
  readonly cost?: TokenPrice | null;
}

export const ROUTING_STRATEGIES = ['order', 'weight', 'latency'] as const;
export type RoutingStrategy = (typeof ROUTING_STRATEGIES)[number];

export const FALLBACK_PRICES = ['requested', 'served'] as const;
/**
 * What a call that a fallback alias serves costs: at most what the requested alias would have cost for the same usage, or
 * the price of the alias that served it.
 */
export type FallbackPrice = (typeof FALLBACK_PRICES)[number];

/** How the targets of an alias are tried. */
export interface AliasRouting {
  readonly strategy: RoutingStrategy;
  /** Attempts beyond one per target. */
  readonly retries: number;
  /** Statuses after which the next target is tried, in addition to those in failure-policy.ts. */
  readonly retryStatuses: readonly number[];
  /** The alias, as clients write it, that serves the call if no target of this one does. */
  readonly fallback: string | null;
  /** Omitted: `requested`. */
  readonly fallbackPrice?: FallbackPrice;
  /** After this long without a status a second target is called as well. Null: no hedging. */
  readonly hedgeMs: number | null;
}

/** How much a call may read and write, which is held for it, and how its body is changed for the targets. */
export interface AliasBounds {
  /** Tokens that the model can read for one answer. */
  readonly contextLength: number;
  /** Prompt tokens of one answer that a provider can plausibly report: `contextLength` if that is configured. */
  readonly plausiblePromptTokens: number;
  /** Tokens that the model can write for one answer; held if the body sets no maximum. */
  readonly maxOutputTokens: number;
  /** Whether `maxOutputTokens` is added to bodies that set no maximum. Otherwise bodies are sent as received. */
  readonly enforceMaxOutput: boolean;
  /** Whether calls that are translated to Anthropic's Messages get cache breakpoints. */
  readonly cacheBreakpoints: boolean;
  /** Top-level fields that are removed from bodies, because the targets do not have them. */
  readonly drop: readonly string[];
}

/** What clients of an alias may use at the provider; the alias has null if that is nothing. */
export interface AliasTools {
  /** Micro-credits per use of each enabled tool. */
  readonly prices: ReadonlyMap<string, number>;
  /** How often a call may use hosted tools if its body sets no limit. */
  readonly maxUses: number;
  /** Ids of objects stored at the provider that every company may name; `*` allows all. */
  readonly providerIds: ReadonlySet<string>;
}

/** The state of targets: in which order to try them, and which ones failed or are cooling. */
export interface TargetStates {
  /** The alias's targets in the order to try them; `draw` is a random number from 0 up to, not including, 1. */
  order(alias: Alias, draw: number, isStream?: boolean): readonly AliasTarget[];
  noteFailure(targetId: string): void;
  noteSuccess(targetId: string): void;
  /** Notes that the provider limited or refused a target with this status. The target is tried last for a while. */
  cool(targetId: string, reason: string, waitMs: number | null): void;
  /** How long targets take until their status, for aliases that are routed by latency. */
  readonly latency: {
    note(targetId: string, isStream: boolean, ms: number): void;
    noteAtLeast(targetId: string, isStream: boolean, ms: number): void;
  };
  /** Calls in flight of targets with a limit. `enter` returns false if the target is at its limit. */
  readonly flights: { enter(target: AliasTarget): boolean; leave(target: AliasTarget): void };
}

/** An alias as called by a company that has stored its own provider keys. */
export interface OwnKeyUse {
  /** The share of the alias's price that is charged. */
  readonly chargeShareMillionths: number;
  /** States of the targets with this company's keys: a refused key does not affect other companies. */
  readonly states: TargetStates;
  /** Why no target is usable; null if one is. */
  readonly problem: 'not-allowed' | 'no-key-for-provider' | 'unreadable' | null;
}

export interface Alias extends AliasBounds {
  /** As clients write it, with the prefix if it is a documented one. */
  readonly alias: string;
  readonly kind: AliasKind;
  /** If empty, calls are refused with 503. */
  readonly targets: readonly AliasTarget[];
  /** The price in force and future ones, in order. For estimates, with `priceAt`. */
  readonly prices: readonly PriceVersion[];
  /** Null or omitted for the documented ones. */
  readonly createdAtMs?: number | null;
  /** Null or omitted: no hosted tool is enabled. */
  readonly tools?: AliasTools | null;
  /** Null or omitted: the first target by weight, then the others in order, each once. */
  readonly routing?: AliasRouting | null;
  /** The share of the price that calls with a company's own key are charged. Null or omitted: own keys are not allowed. */
  readonly byokFeeMillionths?: number | null;
  /** Prices of the providers' tiers. Null or omitted: tiers that cost more are refused. */
  readonly priceFactors?: PriceFactors | null;
  /** Set if the targets have the company's own keys. Omitted on all aliases of the catalogue itself. */
  readonly ownKey?: OwnKeyUse;
}

/** Above the context of every model. */
const PLAUSIBLE_PROMPT_TOKENS = 2_000_000;

const OF_TEXT = {
  contextLength: 200_000,
  plausiblePromptTokens: PLAUSIBLE_PROMPT_TOKENS,
  maxOutputTokens: 16_384,
  enforceMaxOutput: false,
  cacheBreakpoints: true,
  drop: [],
} as const;

/**
 * Used if nothing is configured: what most models read and write in one call, so that little is held, at the initial prices
 * at most 0.27 credits per call. Set `context_length` and `max_output_tokens` to the documented values of the model.
 */
export const DEFAULT_BOUNDS = {
  chat: OF_TEXT,
  extract: OF_TEXT,
  embed: { ...OF_TEXT, contextLength: 8_192, maxOutputTokens: 1 },
} as const satisfies Record<AliasKind, AliasBounds>;

const DOCUMENTED: ReadonlySet<string> = new Set(ALIAS_NAMES.map(({ name }) => name));

/** Whether this is one of the six documented names. */
export function isDocumented(name: AliasName): boolean {
  return DOCUMENTED.has(name);
}

/** As clients write it. */
export function aliasOf(prefix: string, name: AliasName): string {
  return DOCUMENTED.has(name) ? `${prefix}/${name}` : name;
}

/**
 * The name under which an alias is stored and priced, whatever the prefix: no other name may end in one of the six. For
 * aliases that are known to exist; use `nameOfAlias` for names from outside.
 */
export function storedNameOf(alias: string): AliasName {
  const last = alias.slice(alias.lastIndexOf('/') + 1);
  return DOCUMENTED.has(last) ? last : alias;
}

/** Each part between slashes begins with a letter or a digit, so that no name is a path such as `../x` or is `__proto__`. */
const PART = '[A-Za-z0-9][A-Za-z0-9._:-]*';
const OWN_NAME = new RegExp(`^(?=.{1,100}$)${PART}(?:/${PART})*$`);

/** Why an alias cannot have this name; null if it can. */
export function problemWithName(prefix: string, alias: string): string | null {
  const shown = JSON.stringify(alias.slice(0, 100));
  if (!OWN_NAME.test(alias)) {
    return `${shown} cannot be the name of an alias: use 1 to 100 letters, digits and . _ - / :, where each part between slashes begins with a letter or a digit`;
  }
  const name = storedNameOf(alias);
  if (!DOCUMENTED.has(name) || alias === aliasOf(prefix, name)) return null;
  return `${shown} cannot be the name of an alias: names that end in ${name} belong to ${aliasOf(prefix, name)}`;
}

/** Null if no alias can have this name. Whether there is one is looked up in the database (`alias-catalogue.ts`). */
export function nameOfAlias(prefix: string, alias: string): AliasName | null {
  return problemWithName(prefix, alias) === null ? storedNameOf(alias) : null;
}

const MOST_NAMED = 20;

/** The message for an alias that does not exist. */
export function unknownAlias(prefix: string, alias: string, own: readonly AliasName[] = []): string {
  const all = [...ALIAS_NAMES.map(({ name }) => aliasOf(prefix, name)), ...own];
  const names = all.slice(0, MOST_NAMED).join(', ');
  const more = all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '';
  return `there is no alias ${JSON.stringify(alias.slice(0, 100))}; the aliases are ${names}${more}`;
}

/** The price of a million tokens, in micro-credits. */
export interface TokenPrice {
  readonly promptMicro: bigint;
  readonly cachedMicro: bigint;
  readonly completionMicro: bigint;
  /** For tokens that the provider writes to its cache. Null: the price of the prompt. */
  readonly cacheWriteMicro?: bigint | null | undefined;
}

/** One of an alias's prices, in force from its start time until that of the next one. */
export interface PriceVersion extends TokenPrice {
  readonly id: string;
  readonly inForceFromMs: number;
}

interface PricedTokens {
  readonly promptTokens: number;
  /** A part of the prompt tokens; any beyond them are not counted. */
  readonly cachedTokens: number;
  /** Another part of the prompt tokens. */
  readonly cacheWriteTokens?: number | undefined;
  readonly completionTokens: number;
}

/** In millionths of the price. */
export interface TokenFactors {
  readonly priceFactorMillionths: number;
  /** That of the prompt if omitted. */
  readonly completionFactorMillionths?: number | undefined;
}

const TOKENS_PER_PRICE = 1_000_000n;

/**
 * The price of tokens in micro-credits. The parts are summed exactly and rounded up once, so that a call costs at most
 * one micro-credit more than its tokens, and never less. The statement that charges (domain/calls) computes the same.
 */
export function priceOf(
  price: TokenPrice,
  tokens: PricedTokens,
  hourWrites?: HourWrites,
  factors?: TokenFactors,
): bigint {
  const prompt = BigInt(tokens.promptTokens);
  const given = BigInt(tokens.cachedTokens);
  const cached = given > prompt ? prompt : given;
  const reported = BigInt(tokens.cacheWriteTokens ?? 0);
  const written = reported > prompt - cached ? prompt - cached : reported;
  const ofPrompt =
    (prompt - cached - written) * price.promptMicro +
    cached * price.cachedMicro +
    written * (price.cacheWriteMicro ?? price.promptMicro) +
    (hourWrites === undefined ? 0n : hourSurcharge(price, written, hourWrites));
  const ofCompletion = BigInt(tokens.completionTokens) * price.completionMicro;
  if (factors === undefined) return roundedUp(ofPrompt + ofCompletion, TOKENS_PER_PRICE);
  const { priceFactorMillionths: factor, completionFactorMillionths: own = factor } = factors;
  return roundedUp(ofPrompt * BigInt(factor) + ofCompletion * BigInt(own), TOKENS_PER_PRICE * 1_000_000n);
}

function roundedUp(sum: bigint, unit: bigint): bigint {
  return (sum + unit - 1n) / unit;
}

/** What these tokens cost beyond other cache writes. */
function hourSurcharge(price: TokenPrice, written: bigint, { tokens, factorMillionths }: HourWrites): bigint {
  const counted = BigInt(tokens) > written ? written : BigInt(tokens);
  const more = (price.cacheWriteMicro ?? price.promptMicro) * (BigInt(factorMillionths) - 1_000_000n);
  return counted * ((more + 999_999n) / 1_000_000n);
}

/**
 * The price in force at a time; before the first price, the first. Null only for an alias without prices, which the
 * database does not contain. For estimates: the statement that charges looks up the price itself.
 */
export function priceAt(
  { prices }: { readonly prices: readonly PriceVersion[] },
  atMs: number,
): PriceVersion | null {
  return prices.findLast(({ inForceFromMs }) => inForceFromMs <= atMs) ?? prices[0] ?? null;
}
