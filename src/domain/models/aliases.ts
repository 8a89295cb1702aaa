import type { UpstreamTarget } from '../../ports/model-upstream.ts';

export type AliasKind = 'chat' | 'extract' | 'embed';

/** The only names by which a client addresses a model (G-14), without the configured prefix. */
export const ALIAS_NAMES = [
  { name: 'chat-premium', kind: 'chat' },
  { name: 'chat-default', kind: 'chat' },
  { name: 'chat-cheap', kind: 'chat' },
  { name: 'extract-default', kind: 'extract' },
  { name: 'extract-fast', kind: 'extract' },
  { name: 'embed-default', kind: 'embed' },
] as const satisfies readonly { name: string; kind: AliasKind }[];

export type AliasName = (typeof ALIAS_NAMES)[number]['name'];

export interface AliasTarget extends UpstreamTarget {
  /** Of its provider, by which its circuit breaker is named. Parsed once, when the catalogue is opened. */
  readonly host?: string;
  /** Its share of the calls is its weight in that of all targets of the alias. */
  readonly weight: number;
}

/** How much one call may read and write: what is held for it, and the most that it can be charged for. */
export interface AliasBounds {
  /** Tokens that the model can read for one answer. */
  readonly contextLength: number;
  /** Tokens that the model can write for one answer; held where the body names no maximum. */
  readonly maxOutputTokens: number;
  /** Whether `maxOutputTokens` is added to bodies that name no maximum. Otherwise bodies are sent as received. */
  readonly enforceMaxOutput: boolean;
}

/** What an alias lets its clients use at the provider; null on the alias where that is nothing. */
export interface AliasTools {
  /** In micro-credits a use, of each tool that is enabled. */
  readonly prices: ReadonlyMap<string, number>;
  /** How often one call may use hosted tools where its body does not say so. */
  readonly maxUses: number;
  /** Ids of what is stored at the provider that every company may name; `*` is all of them. */
  readonly providerIds: ReadonlySet<string>;
}

export interface Alias extends AliasBounds {
  /** With its prefix, as clients write it. */
  readonly alias: string;
  readonly kind: AliasKind;
  /** Empty: calls are refused with 503. */
  readonly targets: readonly AliasTarget[];
  /** The one in force and those to come, in their order: for estimates, by `priceAt`. */
  readonly prices: readonly PriceVersion[];
  /** Null, or left out: no hosted tool is enabled. */
  readonly tools?: AliasTools | null;
}

/**
 * Where nothing is configured: above what most models read and write in one call, and at the first prices no more than
 * 0.27 credits a call. Set `context_length` and `max_output_tokens` to what the model documents.
 */
export const DEFAULT_BOUNDS = {
  chat: { contextLength: 200_000, maxOutputTokens: 16_384, enforceMaxOutput: false },
  extract: { contextLength: 200_000, maxOutputTokens: 16_384, enforceMaxOutput: false },
  embed: { contextLength: 8_192, maxOutputTokens: 1, enforceMaxOutput: false },
} as const satisfies Record<AliasKind, AliasBounds>;

export function aliasOf(prefix: string, name: AliasName): string {
  return `${prefix}/${name}`;
}

/** Null for whatever is not exactly one of the six. */
export function nameOfAlias(prefix: string, alias: string): AliasName | null {
  return ALIAS_NAMES.find(({ name }) => aliasOf(prefix, name) === alias)?.name ?? null;
}

/** The message for an alias that does not exist. */
export function unknownAlias(prefix: string, alias: string): string {
  const names = ALIAS_NAMES.map(({ name }) => aliasOf(prefix, name)).join(', ');
  return `there is no alias ${JSON.stringify(alias.slice(0, 100))}; the aliases are ${names}`;
}

/** What a million tokens cost, in micro-credits. */
export interface TokenPrice {
  readonly promptMicro: bigint;
  readonly cachedMicro: bigint;
  readonly completionMicro: bigint;
  /** Of tokens that the provider writes to its cache. Null is the price of the prompt. */
  readonly cacheWriteMicro?: bigint | null | undefined;
}

/** One of an alias's prices. It is in force from its moment until that of the next one. */
export interface PriceVersion extends TokenPrice {
  readonly id: string;
  readonly inForceFromMs: number;
}

interface PricedTokens {
  readonly promptTokens: number;
  /** A part of the prompt's: what is beyond them is not counted. */
  readonly cachedTokens: number;
  /** Another part of it. */
  readonly cacheWriteTokens?: number | undefined;
  readonly completionTokens: number;
}

const TOKENS_PER_PRICE = 1_000_000n;

/**
 * What tokens cost in micro-credits: the parts are summed exactly and rounded up once, so that a call costs at
 * most one micro-credit more than its tokens, and never less. The statement that charges (domain/calls) computes
 * the same.
 */
export function priceOf(price: TokenPrice, tokens: PricedTokens): bigint {
  const prompt = BigInt(tokens.promptTokens);
  const given = BigInt(tokens.cachedTokens);
  const cached = given > prompt ? prompt : given;
  const reported = BigInt(tokens.cacheWriteTokens ?? 0);
  const written = reported > prompt - cached ? prompt - cached : reported;
  const sum =
    (prompt - cached - written) * price.promptMicro +
    cached * price.cachedMicro +
    written * (price.cacheWriteMicro ?? price.promptMicro) +
    BigInt(tokens.completionTokens) * price.completionMicro;
  return (sum + TOKENS_PER_PRICE - 1n) / TOKENS_PER_PRICE;
}

/**
 * The price in force at a moment; before the first one, the first. Null only for an alias without any, which the
 * database does not have. For estimates: what is charged is looked up by the statement that charges.
 */
export function priceAt(
  { prices }: { readonly prices: readonly PriceVersion[] },
  atMs: number,
): PriceVersion | null {
  return prices.findLast(({ inForceFromMs }) => inForceFromMs <= atMs) ?? prices[0] ?? null;
}
