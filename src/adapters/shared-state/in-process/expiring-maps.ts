/** How many entries each write looks at: more than one, so that the dead leave faster than new ones come. */
const LOOKED_AT_PER_WRITE = 2;

interface ExpiringMap<Value> {
  /** What is alive under this key. */
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** Living entries and those dead ones that no write has come across yet. */
  readonly size: number;
}

/**
 * A map whose dead entries leave while it is used. A cursor goes round it and each write moves it on by two, so
 * there is neither a timer nor a pause, and the dead never outnumber the writes of one round: a million
 * addresses that called once are gone after the next half million writes.
 */
export function createExpiringMap<Value>({
  now,
  expiresAt,
}: {
  now: () => number;
  expiresAt: (value: Value) => number;
}): ExpiringMap<Value> {
  const entries = new Map<string, Value>();
  // A Map's iterator sees what is added and deleted while it runs, so it can be kept between writes.
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
  /** Fixed when the window begins: a changed `windowMs` counts from the next window on. */
  readonly end: number;
  used: number;
}

export interface Windows {
  /** The running window, if one runs. */
  running(key: string): Readonly<Window> | undefined;
  /** Counts in the running window, or begins one. */
  count(key: string, amount: number, windowMs: number): void;
  /** Leaves every window alone but the one that began then, if it still runs. */
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
  /** Null where it was never set, or where it is older than `maxAgeMs`. */
  value(key: string, maxAgeMs: number): number | null;
  /** Of the level that is stored, however old. */
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
      // One version has one value: the value known under it stays.
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
