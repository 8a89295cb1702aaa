/** How many entries each write looks at: more than one, so that the dead leave faster than new ones come. */
const LOOKED_AT_PER_WRITE = 2;

export interface ExpiringMap<Value> {
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
