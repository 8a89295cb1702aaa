import type { UpstreamTarget } from '../../ports/model-upstream.ts';
import type { PriceFactors } from './tiers/tiers.ts';

export type AliasKind = 'chat' | 'extract' | 'embed';

/** The documented names (G-14), without the configured prefix. Operators add names of their own. */
export const ALIAS_NAMES = [
  { name: 'chat-premium', kind: 'chat' },
  { name: 'chat-default', kind: 'chat' },
  { name: 'chat-cheap', kind: 'chat' },
  { name: 'extract-default', kind: 'extract' },
  { name: 'extract-fast', kind: 'extract' },
  { name: 'embed-default', kind: 'embed' },
] as const satisfies readonly { name: string; kind: AliasKind }[];

/**
 * As the database has it: one of the documented names without the prefix, so that another prefix finds the same targets
 * and prices, or a name of an operator's own exactly as clients write it.
 */
export type AliasName = string;

export interface AliasTarget extends UpstreamTarget {
  /** Of its provider, by which its circuit breaker is named. Parsed once, when the catalogue is opened. */
  readonly host?: string;
  /** Its share of the calls is its weight in that of all targets of the alias. */
  readonly weight: number;
  /** Calls that it serves at once, in one process; left out: any number. */
  readonly maxInFlight?: number;
  /** What a million tokens cost at its provider, in micro-credits. Null, or left out: not known. */
  readonly cost?: TokenPrice | null;
}

export const ROUTING_STRATEGIES = ['order', 'weight', 'latency'] as const;
export type RoutingStrategy = (typeof ROUTING_STRATEGIES)[number];

/** How the targets of an alias are tried. */
export interface AliasRouting {
  readonly strategy: RoutingStrategy;
  /** Tries beyond one per target. */
  readonly retries: number;
  /** Statuses that try the next target to the next target besides the table in failure-policy.ts. */
  readonly retryStatuses: readonly number[];
  /** The alias that serves the call where no target of this one does, as clients write it. */
  readonly fallback: string | null;
  /** After so long without a status a second target is called as well. Null: no hedge. */
  readonly hedgeMs: number | null;
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

/** What is known of targets: the order in which to try them, and what failed or cools. */
export interface TargetStates {
  /** The alias's targets in the order to try them; `draw` is a random number from 0 up to, not including, 1. */
  order(alias: Alias, draw: number, isStream?: boolean): readonly AliasTarget[];
  noteFailure(targetId: string): void;
  noteSuccess(targetId: string): void;
  /** A target was limited or refused by its provider, with this status: it is tried last for a while. */
  cool(targetId: string, reason: string, waitMs: number | null): void;
  /** How long targets take until their status, for aliases that are routed by it. */
  readonly latency: {
    note(targetId: string, isStream: boolean, ms: number): void;
    noteAtLeast(targetId: string, isStream: boolean, ms: number): void;
  };
  /** Calls in flight of targets with a limit. False where a target is at its limit. */
  readonly flights: { enter(target: AliasTarget): boolean; leave(target: AliasTarget): void };
}

/** Of an alias as a company calls it that has stored its own keys at the providers of the alias. */
export interface OwnKeyUse {
  /** What of the alias's price its calls are charged. */
  readonly chargeShareMillionths: number;
  /** Of the targets with this company's keys: one that is refused changes nothing for other companies. */
  readonly states: TargetStates;
  /** Why no target is left; null where there is one. */
  readonly problem: 'not-allowed' | 'no-key-for-provider' | 'unreadable' | null;
}

export interface Alias extends AliasBounds {
  /** With its prefix, as clients write it. */
  readonly alias: string;
  readonly kind: AliasKind;
  /** Empty: calls are refused with 503. */
  readonly targets: readonly AliasTarget[];
  /** The one in force and those to come, in their order: for estimates, by `priceAt`. */
  readonly prices: readonly PriceVersion[];
  /** Null, or left out: it is one of the documented ones. */
  readonly createdAtMs?: number | null;
  /** Null, or left out: no hosted tool is enabled. */
  readonly tools?: AliasTools | null;
  /** Null, or left out: the first target by weight, then the others in their order, each once. */
  readonly routing?: AliasRouting | null;
  /** What calls with a company's own key are charged of the price. Null, or left out: own keys are not allowed. */
  readonly byokFeeMillionths?: number | null;
  /** What tiers of its providers cost. Null, or left out: those that cost more are refused. */
  readonly priceFactors?: PriceFactors | null;
  /** Its targets have the company's own keys. Left out on every alias of the catalogue itself. */
  readonly ownKey?: OwnKeyUse;
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

const DOCUMENTED: ReadonlySet<string> = new Set(ALIAS_NAMES.map(({ name }) => name));

/** Whether this is one of the six. */
export function isDocumented(name: AliasName): boolean {
  return DOCUMENTED.has(name);
}

/** As clients write it. */
export function aliasOf(prefix: string, name: AliasName): string {
  return DOCUMENTED.has(name) ? `${prefix}/${name}` : name;
}

/**
 * The name by which an alias is priced, whatever the prefix was: no other name may end like one of the six. For aliases that are
 * known to exist; `nameOfAlias` is for names from outside.
 */
export function storedNameOf(alias: string): AliasName {
  const last = alias.slice(alias.lastIndexOf('/') + 1);
  return DOCUMENTED.has(last) ? last : alias;
}

/** In each part between slashes, so that no name is a path such as `../x`, and none is a property of every object. */
const PART = '[A-Za-z0-9][A-Za-z0-9._:-]*';
const OWN_NAME = new RegExp(`^(?=.{1,100}$)${PART}(?:/${PART})*$`);

/** What an operator may call an alias of their own; null where the name is fine. */
export function problemWithName(prefix: string, alias: string): string | null {
  const shown = JSON.stringify(alias.slice(0, 100));
  if (!OWN_NAME.test(alias)) {
    return `${shown} cannot be the name of an alias: use 1 to 100 letters, digits and . _ - / :, where each part between slashes begins with a letter or a digit`;
  }
  const name = storedNameOf(alias);
  if (!DOCUMENTED.has(name) || alias === aliasOf(prefix, name)) return null;
  return `${shown} cannot be the name of an alias: names that end in ${name} belong to ${aliasOf(prefix, name)}`;
}

/** Null for what no alias can be called. Whether there is one of the name, the database says (`alias-catalogue.ts`). */
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
