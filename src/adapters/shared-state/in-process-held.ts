import { createExpiringMap } from './expiring-map.ts';

interface Entry {
  readonly amount: number;
  expiresAt: number;
}

/** All entries under one name, with their sum. */
interface Account {
  readonly entries: Map<string, Entry>;
  sum: number;
  /** No entry ends before this; looked at again when it has come. Renewing may leave it too early. */
  nextExpiry: number;
  /** No entry ends after this. */
  lastExpiry: number;
}

export interface HeldEntries {
  /** The sum of the living entries, and what this entry holds (null: it does not live). */
  standing(key: string, entry: string): { sum: number; ofEntry: number | null };
  /** Adds the entry, or puts the new amount and expiry in place of its old ones. */
  hold(key: string, entry: string, amount: number, ttlMs: number): void;
  renew(key: string, entry: string, ttlMs: number): void;
  release(key: string, entry: string): void;
}

export function createHeldEntries({ now }: { now: () => number }): HeldEntries {
  const accounts = createExpiringMap<Account>({ now, expiresAt: (account) => account.lastExpiry });

  /**
   * Entries that have ended leave before anybody looks. The whole account is read only once its earliest expiry
   * has come: released and renewed entries make that rare, about once in the time an entry lives.
   */
  function living(key: string): Account | undefined {
    const account = accounts.get(key);
    if (!account || now() < account.nextExpiry) return account;
    account.nextExpiry = Number.POSITIVE_INFINITY;
    for (const [name, entry] of account.entries) {
      if (entry.expiresAt <= now()) {
        account.entries.delete(name);
        account.sum -= entry.amount;
      } else {
        account.nextExpiry = Math.min(account.nextExpiry, entry.expiresAt);
      }
    }
    return account;
  }

  function expectExpiry(account: Account, expiresAt: number): void {
    account.nextExpiry = Math.min(account.nextExpiry, expiresAt);
    account.lastExpiry = Math.max(account.lastExpiry, expiresAt);
  }

  return {
    standing(key, entry) {
      const account = living(key);
      return { sum: account?.sum ?? 0, ofEntry: account?.entries.get(entry)?.amount ?? null };
    },

    hold(key, entry, amount, ttlMs) {
      const expiresAt = now() + ttlMs;
      const account = living(key) ?? {
        entries: new Map<string, Entry>(),
        sum: 0,
        nextExpiry: expiresAt,
        lastExpiry: expiresAt,
      };
      account.sum += amount - (account.entries.get(entry)?.amount ?? 0);
      account.entries.set(entry, { amount, expiresAt });
      expectExpiry(account, expiresAt);
      accounts.set(key, account);
    },

    renew(key, entry, ttlMs) {
      const account = living(key);
      const known = account?.entries.get(entry);
      if (!account || !known) return;
      known.expiresAt = now() + ttlMs;
      expectExpiry(account, known.expiresAt);
    },

    release(key, entry) {
      const account = living(key);
      const known = account?.entries.get(entry);
      if (!account || !known) return;
      account.entries.delete(entry);
      account.sum -= known.amount;
      if (account.entries.size === 0) accounts.delete(key);
    },
  };
}
