import type { ApiKey } from './api-key.ts';
import type { LiveKey } from './key-lookup.ts';

export interface RememberedKey {
  readonly lookup: LiveKey;
  readonly expiresAtMs: number;
  /** When the store was asked, not when it answered: what happened in between is not in the answer. */
  readonly confirmedAtMs: number;
  /** Messages about it may have been lost: it serves only while the store is away. */
  isDoubted: boolean;
}

export interface RememberedKeys {
  live(hash: string): RememberedKey | undefined;
  /** When the store was asked and had no live key of that hash. */
  unknownAtMs(hash: string): number | undefined;
  keepLive(hash: string, key: ApiKey, confirmedAtMs: number): RememberedKey;
  keepUnknown(hash: string, confirmedAtMs: number): void;
  forget(hash: string): void;
  /** No answer is used before the store was asked again; where the store is away, live keys still serve. */
  doubtAll(): void;
}

/**
 * What the store said, by the hash of the raw key, in two bounded places: keys drawn at random fill only the
 * second and push out no live one. When a place is full the entry goes that was confirmed longest ago. A key in
 * use is confirmed every second, so that is the one that was not used for longest, and reading an entry need not
 * move it.
 */
export function createRememberedKeys(mostLive: number, mostUnknown: number): RememberedKeys {
  const live = new Map<string, RememberedKey>();
  const unknown = new Map<string, number>();
  return {
    live: (hash) => live.get(hash),
    unknownAtMs: (hash) => unknown.get(hash),
    keepLive(hash, key, confirmedAtMs) {
      const models = key.models === null ? null : new Set(key.models);
      const lookup: LiveKey = { outcome: 'live', key, scopes: new Set(key.scopes), models };
      const expiresAtMs = key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY;
      const remembered = { lookup, expiresAtMs, confirmedAtMs, isDoubted: false };
      unknown.delete(hash);
      putLast(live, hash, remembered, mostLive);
      return remembered;
    },
    keepUnknown(hash, confirmedAtMs) {
      live.delete(hash);
      putLast(unknown, hash, confirmedAtMs, mostUnknown);
    },
    forget(hash) {
      live.delete(hash);
      unknown.delete(hash);
    },
    doubtAll() {
      for (const remembered of live.values()) remembered.isDoubted = true;
      unknown.clear();
    },
  };
}

/** A Map keeps the order in which its keys came. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}
