import type { ApiKey } from './api-key.ts';
import type { Scope } from './scopes.ts';

/** What the gateway hears of a raw key. */
export type KeyLookup =
  | LiveKey
  /** Malformed, never minted, revoked or expired: nobody outside can tell which (G-25). */
  | { readonly outcome: 'unknown' }
  /** The store is away and the key was not known before: it may be a good one, so it is not called unknown. */
  | { readonly outcome: 'unavailable' };

/** A key that opens something, with sets beside its lists for quick tests. */
export interface LiveKey {
  readonly outcome: 'live';
  readonly key: ApiKey;
  readonly scopes: ReadonlySet<Scope>;
  /** Null is every alias. */
  readonly models: ReadonlySet<string> | null;
}

export const UNKNOWN: KeyLookup = { outcome: 'unknown' };
export const UNAVAILABLE: KeyLookup = { outcome: 'unavailable' };
