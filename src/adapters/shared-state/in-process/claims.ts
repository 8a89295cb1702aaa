import type { Claim, LimitState, Reservation, Settlement } from '../../../ports/shared-state.ts';
import {
  createExpiringMap,
  createLevels,
  createWindows,
  type Levels,
  type Windows,
} from './expiring-maps.ts';

/**
 * The rules of reserve-script.ts and settle-script.ts for one process. Each call runs synchronously, so it is atomic like a
 * script of Redis. Both implementations pass the same contract tests and are compared on random sequences.
 */

interface Stores {
  readonly now: () => number;
  readonly windows: Windows;
  readonly held: HeldEntries;
  readonly levels: Levels;
}

interface Claims {
  reserve(tag: string, claims: readonly Claim[]): Reservation;
  settle(tag: string, settlements: readonly Settlement[]): void;
}

export function createInProcessClaims({
  now,
  readValue,
}: {
  now: () => number;
  readValue: (key: string) => string | null;
}): Claims {
  const stores: Stores = {
    now,
    windows: createWindows({ now }),
    held: createHeldEntries({ now }),
    levels: createLevels({ now }),
  };
  return {
    reserve: (tag, claims) => reserve(stores, tag, claims),
    settle(tag, settlements) {
      for (const settlement of settlements) {
        if (settlement.kind !== 'while') settle(stores, tag, settlement);
        else if (readValue(settlement.name) !== settlement.value) return;
      }
    },
  };
}

/** A claim with its looked-up state. */
interface Placed {
  readonly claim: Claim;
  readonly key: string;
  readonly limit: number;
}

/** Runs for every call, so it uses plain loops and builds each key once. */
function reserve(stores: Stores, tag: string, claims: readonly Claim[]): Reservation {
  const placed: Placed[] = [];
  for (const claim of claims) {
    const limit = limitOf(stores, tag, claim);
    if (limit === null) {
      const level = typeof claim.limit === 'number' ? '' : claim.limit.level;
      return { outcome: 'level-unknown', level, version: stores.levels.version(keyOf(tag, level)) };
    }
    placed.push({ claim, key: keyOf(tag, claim.name), limit });
  }
  const refusedBy = firstRefused(stores, placed);
  if (refusedBy < 0) for (const one of placed) take(stores, one);
  const limitStates: LimitState[] = [];
  for (const one of placed) limitStates.push(limitState(stores, one));
  const refusing = placed[refusedBy];
  if (!refusing) return { outcome: 'reserved', limitStates };
  return { outcome: 'refused', refusedBy, retryAfterMs: retryAfterMs(stores, placed, refusing), limitStates };
}

/** Null if its level is unknown. */
function limitOf({ levels }: Stores, tag: string, { limit }: Claim): number | null {
  if (typeof limit === 'number') return limit;
  const value = levels.value(keyOf(tag, limit.level), limit.maxAgeMs);
  return value === null ? null : value + (limit.plus ?? 0);
}

function firstRefused(stores: Stores, placed: readonly Placed[]): number {
  for (let place = 0; place < placed.length; place += 1) {
    if (!fits(stores, placed[place] as Placed)) return place;
  }
  return -1;
}

function fits({ windows, held }: Stores, { claim, key, limit }: Placed): boolean {
  if (claim.kind === 'window') return (windows.current(key)?.used ?? 0) + claim.amount <= limit;
  if (claim.kind === 'held-many') {
    const all = held.sum(key) + claim.amount * claim.count;
    return all <= Math.min(limit, Number.MAX_SAFE_INTEGER);
  }
  const ofEntry = held.amountOf(key, claim.entry);
  // The current amount of the entry was admitted before, so the same or less always fits.
  if (ofEntry !== null && claim.amount <= ofEntry) return true;
  const others = held.sum(key) - (ofEntry ?? 0);
  // Past 2^53 the sum would no longer be exact, whatever the rule admits.
  if (others + claim.amount > Number.MAX_SAFE_INTEGER) return false;
  return claim.rule === 'fits' ? others + claim.amount <= limit : others < limit;
}

function take({ windows, held }: Stores, { claim, key }: Placed): void {
  if (claim.kind === 'window') {
    windows.count(key, claim);
  } else if (claim.kind === 'held') {
    held.hold(key, claim.entry, claim.amount, claim.ttlMs);
  } else {
    for (let at = 0; at < claim.count; at += 1) {
      held.hold(key, `${claim.entry}-${at}`, claim.amount, claim.ttlMs);
    }
  }
}

function limitState({ now, windows, held }: Stores, { claim, key, limit }: Placed): LimitState {
  if (claim.kind !== 'window') return { limit, used: held.sum(key), bucket: 0, resetMs: 0 };
  const window = windows.current(key);
  if (!window) return { limit, used: 0, bucket: 0, resetMs: 0 };
  const last = window.buckets.findLast(({ used }) => used > 0)?.last ?? now() - window.windowMs;
  const resetMs = last + window.windowMs - now();
  return { limit, used: window.used, bucket: window.buckets.at(-1)?.start ?? 0, resetMs };
}

/**
 * Until every window of the call has room. Null if waiting does not help: held entries end when released, and more than
 * the limit never fits.
 */
function retryAfterMs(stores: Stores, placed: readonly Placed[], refusing: Placed): number | null {
  const first = waitMs(stores, refusing);
  if (first === null) return null;
  return placed.reduce((longest, one) => Math.max(longest, waitMs(stores, one) ?? 0), first);
}

function waitMs({ now, windows }: Stores, { claim, key, limit }: Placed): number | null {
  if (claim.kind !== 'window' || claim.amount > limit) return null;
  const window = windows.current(key);
  let tooMuch = (window?.used ?? 0) + claim.amount - limit;
  for (const { last, used } of tooMuch > 0 ? (window?.buckets ?? []) : []) {
    tooMuch -= used;
    if (tooMuch <= 0) return last + claim.windowMs - now();
  }
  return 0;
}

function settle(
  { windows, held, levels }: Stores,
  tag: string,
  settlement: Exclude<Settlement, { kind: 'while' }>,
): void {
  const key = keyOf(tag, settlement.name);
  switch (settlement.kind) {
    case 'window':
      windows.correct(key, settlement.bucket, settlement.delta);
      return;
    case 'clear':
      windows.clear(key);
      return;
    case 'renew':
      held.renew(key, settlement.entry, settlement.amount, settlement.ttlMs);
      return;
    case 'release':
      held.release(key, settlement.entry);
      return;
    case 'level':
      levels.set(key, settlement);
      return;
  }
}

/** Tags contain no braces, so different pairs have different keys. */
function keyOf(tag: string, name: string): string {
  return `${tag}}${name}`;
}

interface Entry {
  readonly amount: number;
  expiresAt: number;
}

/** All entries under one name, with their sum. */
interface Account {
  readonly entries: Map<string, Entry>;
  sum: number;
  /** No entry expires before this. After a renewal it may be too early. */
  nextExpiry: number;
  /** No entry expires after this. */
  lastExpiry: number;
}

interface HeldEntries {
  /** The sum of the entries that have not expired. */
  sum(key: string): number;
  /** The amount of the entry; null if it does not exist. */
  amountOf(key: string, entry: string): number | null;
  /** Adds the entry, or replaces its amount and expiry. */
  hold(key: string, entry: string, amount: number, ttlMs: number): void;
  /** Adds the entry if it does not exist. */
  renew(key: string, entry: string, amount: number, ttlMs: number): void;
  release(key: string, entry: string): void;
}

function createHeldEntries({ now }: { now: () => number }): HeldEntries {
  const accounts = createExpiringMap<Account>({ now, expiresAt: (account) => account.lastExpiry });

  /**
   * Removes expired entries before each read. All entries are checked only after the earliest expiry, which is rare: about
   * once per lifetime of an entry.
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

  function hold(key: string, entry: string, amount: number, ttlMs: number): void {
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
  }

  return {
    sum: (key) => living(key)?.sum ?? 0,
    amountOf: (key, entry) => living(key)?.entries.get(entry)?.amount ?? null,

    hold,

    renew(key, entry, amount, ttlMs) {
      const account = living(key);
      const known = account?.entries.get(entry);
      if (!account || !known) {
        if ((account?.sum ?? 0) + amount <= Number.MAX_SAFE_INTEGER) hold(key, entry, amount, ttlMs);
        return;
      }
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
