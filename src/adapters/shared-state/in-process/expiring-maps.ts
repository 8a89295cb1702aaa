import { type Claim, WINDOW_BUCKETS } from '../../../ports/shared-state.ts';

/** How many entries each write checks: more than one, so that expired ones are removed faster than new ones are added. */
const LOOKED_AT_PER_WRITE = 2;

interface ExpiringMap<Value> {
  /** The value of this key, unless it has expired. */
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** Includes expired entries that have not been removed yet. */
  readonly size: number;
}

/**
 * A map that removes expired entries while it is used. Each write checks the next two entries in a circle, so there is
 * neither a timer nor a pause: a million addresses that called once are gone after the next half million writes.
 */
export function createExpiringMap<Value>({
  now,
  expiresAt,
}: {
  now: () => number;
  expiresAt: (value: Value) => number;
}): ExpiringMap<Value> {
  const entries = new Map<string, Value>();
  // A Map's iterator reflects additions and deletions, so it can be kept between writes.
  let cursor = entries.entries();

  function sweep(): void {
    for (let looked = 0; looked < LOOKED_AT_PER_WRITE; looked += 1) {
      const next = cursor.next();
      if (next.done) {
        cursor = entries.entries();
        return;
      }
      const [key, value] = next.value;
      if (expiresAt(value) <= now()) entries.delete(key);
    }
  }

  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      if (expiresAt(value) > now()) return value;
      entries.delete(key);
      return undefined;
    },

    set(key, value) {
      entries.set(key, value);
      sweep();
    },

    delete(key) {
      entries.delete(key);
    },

    get size() {
      return entries.size;
    },
  };
}

/** What was counted in a sixtieth of the window. It leaves the window as a whole. */
interface Bucket {
  readonly start: number;
  /** When the last of its units was used, or may be used at the latest. It leaves `windowMs` after that. */
  last: number;
  used: number;
}

export interface Window {
  /** The oldest comes first, and leaves first: none has a `last` before that of an earlier one. */
  readonly buckets: Bucket[];
  /** The sum of the buckets. */
  used: number;
  windowMs: number;
}

type WindowClaim = Extract<Claim, { kind: 'window' }>;

export interface Windows {
  /** Without the buckets that have left; undefined if none is left. */
  current(key: string): Window | undefined;
  count(key: string, claim: WindowClaim): void;
  /** Changes only the bucket that began then, if it has not left. */
  correct(key: string, start: number, delta: number): void;
  clear(key: string): void;
}

export function createWindows({ now }: { now: () => number }): Windows {
  const windows = createExpiringMap<Window>({
    now,
    expiresAt: ({ buckets, windowMs }) => (buckets.at(-1)?.last ?? 0) + windowMs,
  });

  function current(key: string): Window | undefined {
    const window = windows.get(key);
    if (!window) return undefined;
    const { buckets, windowMs } = window;
    for (let oldest = buckets[0]; oldest && oldest.last + windowMs <= now(); oldest = buckets[0]) {
      window.used -= oldest.used;
      buckets.shift();
    }
    return window;
  }

  /**
   * A bucket takes what comes within a sixtieth of the window. What is claimed ahead has buckets of its own, which leave at
   * a time that is fixed when they begin: so it delays nothing that was claimed before, whether it is used or returned.
   * What is used while such a bucket is the newest one is counted in it. There are at most two per sixtieth.
   */
  function count(key: string, { amount, windowMs, aheadMs = 0 }: WindowClaim): void {
    if (amount === 0) return;
    const bucketMs = Math.max(1, Math.floor(windowMs / WINDOW_BUCKETS));
    const until = now() + aheadMs;
    const window = current(key) ?? { buckets: [], used: 0, windowMs };
    const newest = window.buckets.at(-1);
    window.used += amount;
    window.windowMs = windowMs;
    if (newest && (until <= newest.last || (aheadMs === 0 && now() < newest.start + bucketMs))) {
      newest.used += amount;
      newest.last = Math.max(newest.last, until);
      return;
    }
    const start = newest ? Math.max(now(), newest.start + 1) : now();
    window.buckets.push({ start, last: aheadMs === 0 ? until : until + bucketMs, used: amount });
    windows.set(key, window);
  }

  return {
    current,
    count,

    correct(key, start, delta) {
      const window = current(key);
      const bucket = window?.buckets.findLast((one) => one.start === start);
      if (!window || !bucket) return;
      const change = Math.min(Math.max(delta, -bucket.used), Number.MAX_SAFE_INTEGER - window.used);
      bucket.used += change;
      window.used += change;
    },

    clear: (key) => windows.delete(key),
  };
}

interface Level {
  readonly value: number;
  readonly version: number;
  readonly setAt: number;
  readonly expiresAt: number;
}

interface NewLevel {
  readonly value: number;
  readonly version: number;
  readonly ttlMs: number;
  readonly replaces?: number | null;
}

export interface Levels {
  /** Null if it was never set, or is older than `maxAgeMs`. */
  value(key: string, maxAgeMs: number): number | null;
  /** The version of the stored level, regardless of its age. */
  version(key: string): number | null;
  set(key: string, level: NewLevel): void;
}

export function createLevels({ now }: { now: () => number }): Levels {
  const levels = createExpiringMap<Level>({ now, expiresAt: (level) => level.expiresAt });
  return {
    value(key, maxAgeMs) {
      const known = levels.get(key);
      return known && now() - known.setAt <= maxAgeMs ? known.value : null;
    },

    version: (key) => levels.get(key)?.version ?? null,

    set(key, { value, version, ttlMs, replaces }) {
      const stored = levels.get(key);
      if (!stored && replaces === undefined) return;
      const known = stored?.version === replaces ? undefined : stored;
      if (known && known.version > version) return;
      // A version has only one value, so the stored one stays.
      const kept = known?.version === version ? known.value : value;
      levels.set(key, { value: kept, version, setAt: now(), expiresAt: now() + ttlMs });
    },
  };
}

interface StoredValue {
  readonly text: string;
  readonly expiresAt: number;
}

interface InProcessValues {
  get(key: string): string | null;
  set(key: string, text: string, ttlMs: number): void;
  setIfAbsent(key: string, text: string, ttlMs: number): boolean;
  delete(key: string): void;
}

export function createInProcessValues({ now }: { now: () => number }): InProcessValues {
  const values = createExpiringMap<StoredValue>({ now, expiresAt: (value) => value.expiresAt });

  function set(key: string, text: string, ttlMs: number): void {
    values.set(key, { text, expiresAt: now() + ttlMs });
  }

  return {
    get: (key) => values.get(key)?.text ?? null,
    set,
    setIfAbsent(key, text, ttlMs) {
      if (values.get(key)) return false;
      set(key, text, ttlMs);
      return true;
    },
    delete: (key) => values.delete(key),
  };
}
