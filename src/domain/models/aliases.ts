import type { UpstreamTarget } from '../../ports/model-upstream.ts';
import type { PriceVersion } from './price-of.ts';

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
  /** Its share of the calls is its weight in that of all targets of the alias. */
  readonly weight: number;
}

export interface Alias {
  /** With its prefix, as clients write it. */
  readonly alias: string;
  readonly kind: AliasKind;
  /** Empty: nobody can answer, and the gateway says 503. */
  readonly targets: readonly AliasTarget[];
  /** The one in force and those to come, in their order: for estimates, by `priceAt`. */
  readonly prices: readonly PriceVersion[];
}

export const DEFAULT_ALIAS_PREFIX = 'svc';

export function aliasOf(prefix: string, name: AliasName): string {
  return `${prefix}/${name}`;
}

/** Null for whatever is not exactly one of the six. */
export function nameOfAlias(prefix: string, alias: string): AliasName | null {
  return ALIAS_NAMES.find(({ name }) => aliasOf(prefix, name) === alias)?.name ?? null;
}

/** One sentence for whoever named an alias that does not exist. */
export function unknownAlias(prefix: string, alias: string): string {
  const names = ALIAS_NAMES.map(({ name }) => aliasOf(prefix, name)).join(', ');
  return `there is no alias ${JSON.stringify(alias.slice(0, 100))}; the aliases are ${names}`;
}
