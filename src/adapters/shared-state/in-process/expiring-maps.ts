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

interface Window {
  readonly start: number;
  /** Fixed when the window begins: a changed `windowMs` applies from the next window on. */
  readonly end: number;
  used: number;
}

export interface Windows {
  /** The current window, if there is one. */
  running(key: string): Readonly<Window> | undefined;
  /** Counts in the current window, or starts one. */
  count(key: string, amount: number, windowMs: number): void;
  /** Changes only the window that began then, if it is still current. */
  correct(key: string, start: number, delta: number): void;
}

export function createWindows({ now }: { now: () => number }): Windows {
  const windows = createExpiringMap<Window>({ now, expiresAt: (window) => window.end });
  return {
    running: (key) => windows.get(key),

    count(key, amount, windowMs) {
      const running = windows.get(key);
      if (running) running.used += amount;
      else windows.set(key, { start: now(), end: now() + windowMs, used: amount });
    },

    correct(key, start, delta) {
      const running = windows.get(key);
      if (running?.start !== start) return;
      running.used = Math.min(Math.max(running.used + delta, 0), Number.MAX_SAFE_INTEGER);
    },
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
