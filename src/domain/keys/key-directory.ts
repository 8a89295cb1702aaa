import type { Clock, Timer } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { isWellFormed } from './api-key.ts';
import { REVOKED_KEYS_TOPIC } from './key-lifecycle.ts';
import {
  createBatchedLookUps,
  type KeyInUse,
  type KeyLookup,
  type LiveKey,
  UNAVAILABLE,
  UNKNOWN,
} from './key-lookup.ts';

export interface KeyDirectoryParts {
  readonly database: Statements;
  readonly sharedState: SharedState;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  /** The number of cached live keys; an entry takes about a kilobyte. */
  readonly maxEntries?: number;
  readonly maxUnknownEntries?: number;
  /** How old a cached answer may be. A revocation whose message was lost takes effect after this time. */
  readonly freshMs?: number;
  /** How long a live key stays usable while the store is unavailable. */
  readonly staleMs?: number;
}

export interface KeyDirectory {
  /** Synchronous if the cached answer is fresh, which is always so for a key in steady use. Never rejects. */
  find(rawKey: string): KeyLookup | Promise<KeyLookup>;
  /**
   * For statistics, never for admission: the key if this process has it cached, however old the entry is. Asks nothing of the
   * store.
   */
  known(rawKey: string): KeyInUse | null;
  /** Records, with a delay, when the key was last used. */
  noteUse(keyId: string): void;
  close(): Promise<void>;
}

const MAX_ENTRIES = 100_000;
const MAX_UNKNOWN_ENTRIES = 10_000;
const FRESH_MS = 1_000;
const STALE_MS = 10 * 60_000;

/**
 * The gateway's cache of keys. Resolves when it receives revocations.
 *
 * A revocation takes effect in two ways (G-23): a message removes the key at once, and without it no answer of the store is
 * used for longer than `freshMs`. While the store is unavailable, a live key stays usable for `staleMs`, but never past its
 * expiry or a received revocation. That fails open on purpose: an outage of the database must not be an outage for every
 * customer. A key that is not cached is then `unavailable`, never `unknown`.
 */
export async function createKeyDirectory(parts: KeyDirectoryParts): Promise<KeyDirectory> {
  const { sharedState, clock, secrets, freshMs = FRESH_MS, staleMs = STALE_MS } = parts;
  /** After this age an entry in use is refreshed in the background, before a call has to wait. */
  const confirmFromMs = freshMs / 2;
  const remembered = createRememberedKeys(
    parts.maxEntries ?? MAX_ENTRIES,
    parts.maxUnknownEntries ?? MAX_UNKNOWN_ENTRIES,
  );
  const lookUps = createBatchedLookUps({ ...parts, freshMs, settle, settleWithoutStore });
  const lastUses = createLastUses(parts);
  let closed = false;

  function find(rawKey: string): KeyLookup | Promise<KeyLookup> {
    if (closed) return UNAVAILABLE;
    if (!isWellFormed(rawKey)) return UNKNOWN;
    const hash = secrets.sha256(rawKey).toHex();
    const nowMs = clock.now();
    const entry = remembered.live(hash);
    if (entry !== undefined && nowMs < entry.expiresAtMs) return findAmongLive(hash, entry, nowMs);
    // An expired key is treated like an unknown one from here on (G-25).
    const unknownAtMs = remembered.unknownAtMs(hash);
    if (unknownAtMs !== undefined && Math.abs(nowMs - unknownAtMs) < freshMs) return UNKNOWN;
    return lookUps.ask(hash, 'stranger');
  }

  function findAmongLive(hash: string, entry: RememberedKey, nowMs: number): KeyLookup | Promise<KeyLookup> {
    // A clock that was set back must not make an entry younger.
    const ageMs = Math.abs(nowMs - entry.confirmedAtMs);
    if (ageMs < confirmFromMs && !entry.isDoubted) return entry.lookup;
    if ((ageMs < freshMs && !entry.isDoubted) || (lookUps.isUnavailable() && ageMs < staleMs)) {
      void lookUps.ask(hash, 'ahead');
      return entry.lookup;
    }
    return lookUps.ask(hash, 'known');
  }

  function settle(hash: string, key: KeyInUse | null, askedAtMs: number): KeyLookup {
    if (key !== null) {
      const entry = remembered.keepLive(hash, key, askedAtMs);
      // It may have expired meanwhile.
      return clock.now() < entry.expiresAtMs ? entry.lookup : UNKNOWN;
    }
    remembered.keepUnknown(hash, askedAtMs);
    return UNKNOWN;
  }

  function settleWithoutStore(hash: string): KeyLookup | null {
    const entry = remembered.live(hash);
    if (entry === undefined) return null;
    const nowMs = clock.now();
    if (nowMs >= entry.expiresAtMs) return null;
    return Math.abs(nowMs - entry.confirmedAtMs) < staleMs ? entry.lookup : null;
  }

  const subscription = await sharedState.subscribe(
    REVOKED_KEYS_TOPIC,
    (hash) => {
      remembered.forget(hash);
      lookUps.discard(hash);
    },
    () => {
      remembered.doubtAll();
      lookUps.discardAll();
    },
  );

  return {
    find,
    known(rawKey) {
      if (!isWellFormed(rawKey)) return null;
      const entry = remembered.live(secrets.sha256(rawKey).toHex());
      return entry !== undefined && clock.now() < entry.expiresAtMs ? entry.lookup.key : null;
    },
    noteUse: lastUses.note,
    async close() {
      closed = true;
      lookUps.close();
      await Promise.all([subscription.close(), lastUses.close()]);
    },
  };
}

interface LastUses {
  note(keyId: string): void;
  /** Writes the pending uses. Later ones are dropped. */
  close(): Promise<void>;
}

/** With the time of the write, `lastUsedAt` is accurate within five seconds. */
const WRITE_EVERY_MS = 4_000;
/** The limit of keys between two writes. Others are recorded with a later use. */
const MOST_USED_KEYS = 10_000;

/**
 * Collects the times of last use and writes them in one statement, at most every four seconds. What cannot be written,
 * because the database is unavailable or another process has locked the row, is written the next time. A crash loses at most
 * one write.
 */
export function createLastUses({
  database,
  clock,
  log,
}: {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
}): LastUses {
  let usedAtMs = new Map<string, number>();
  let timer: Timer | null = null;
  let writing: Promise<void> = Promise.resolve();
  let isFailing = false;
  let closed = false;

  async function write(): Promise<void> {
    timer = null;
    if (usedAtMs.size === 0) return;
    const uses = usedAtMs;
    usedAtMs = new Map();
    try {
      for (const keyId of await writeLastUses(database, uses)) uses.delete(keyId);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn('when keys were last used could not be written', { keys: uses.size, error });
      isFailing = true;
    }
    for (const [keyId, atMs] of uses) if (!usedAtMs.has(keyId)) noteAt(keyId, atMs);
  }

  function noteAt(keyId: string, atMs: number): void {
    if (closed || (usedAtMs.size >= MOST_USED_KEYS && !usedAtMs.has(keyId))) return;
    usedAtMs.set(keyId, atMs);
    timer ??= clock.after(WRITE_EVERY_MS, () => {
      writing = write();
    });
  }

  return {
    note: (keyId) => noteAt(keyId, clock.now()),
    async close() {
      closed = true;
      timer?.cancel();
      await writing;
      await write();
    },
  };
}

interface RememberedKey {
  readonly lookup: LiveKey;
  readonly expiresAtMs: number;
  /** When the store was queried, not when it answered: later changes may be missing in the answer. */
  readonly confirmedAtMs: number;
  /** Messages about it may have been lost: it is used only while the store is unavailable. */
  isDoubted: boolean;
}

interface RememberedKeys {
  live(hash: string): RememberedKey | undefined;
  /** When the store was queried and had no live key with that hash. */
  unknownAtMs(hash: string): number | undefined;
  keepLive(hash: string, key: KeyInUse, confirmedAtMs: number): RememberedKey;
  keepUnknown(hash: string, confirmedAtMs: number): void;
  forget(hash: string): void;
  /** Cached answers are not used before the store is queried again, unless the store is unavailable. */
  doubtAll(): void;
}

/**
 * The store's answers by the hash of the raw key, in two limited caches: random keys fill only the second and evict no live
 * key. A full cache evicts the entry that was confirmed longest ago. Keys in use are confirmed every second, so this is the
 * least recently used one, and reading an entry does not have to move it.
 */
function createRememberedKeys(mostLive: number, mostUnknown: number): RememberedKeys {
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

/** A Map keeps the insertion order. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}

/**
 * Returns the keys that were written. Rows that another process has locked are skipped: two processes with the same keys in
 * a different order would otherwise deadlock.
 */
async function writeLastUses(
  statements: Statements,
  usedAtMs: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const rows = await statements.query<{ id: string }>(
    `update api_keys set last_used_at = greatest(api_keys.last_used_at, used.at::timestamptz)
     from unnest($1::uuid[], $2::text[]) as used (id, at)
     where api_keys.id = used.id and api_keys.id in (
       select free.id from api_keys free where free.id = any($1::uuid[]) for no key update skip locked
     ) returning api_keys.id`,
    [[...usedAtMs.keys()], Array.from(usedAtMs.values(), (ms) => new Date(ms).toISOString())],
  );
  return rows.map(({ id }) => id);
}
