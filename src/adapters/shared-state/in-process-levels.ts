import { createExpiringMap } from './expiring-map.ts';

interface Level {
  readonly value: number;
  readonly version: number;
  readonly setAt: number;
  readonly expiresAt: number;
}

export interface Levels {
  /** Null where nobody has set it, or too long ago. */
  value(key: string, maxAgeMs: number): number | null;
  set(key: string, level: { value: number; version: number; ttlMs: number }): void;
}

export function createLevels({ now }: { now: () => number }): Levels {
  const levels = createExpiringMap<Level>({ now, expiresAt: (level) => level.expiresAt });
  return {
    value(key, maxAgeMs) {
      const known = levels.get(key);
      return known && now() - known.setAt <= maxAgeMs ? known.value : null;
    },

    set(key, { value, version, ttlMs }) {
      const known = levels.get(key);
      if (known && known.version > version) return;
      // One version has one value: the value known under it stays.
      const kept = known?.version === version ? known.value : value;
      levels.set(key, { value: kept, version, setAt: now(), expiresAt: now() + ttlMs });
    },
  };
}
