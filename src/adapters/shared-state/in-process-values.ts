import { createExpiringMap } from './expiring-map.ts';

interface Value {
  readonly text: string;
  readonly expiresAt: number;
}

export interface InProcessValues {
  get(key: string): string | null;
  set(key: string, text: string, ttlMs: number): void;
  setIfAbsent(key: string, text: string, ttlMs: number): boolean;
  delete(key: string): void;
}

export function createInProcessValues({ now }: { now: () => number }): InProcessValues {
  const values = createExpiringMap<Value>({ now, expiresAt: (value) => value.expiresAt });

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
