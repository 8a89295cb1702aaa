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
  /** Live keys remembered; an entry takes about a kilobyte. */
  readonly maxEntries?: number;
  readonly maxUnknownEntries?: number;
  /** How old an answer of the store may be: the longest that a revocation whose message was lost can take. */
  readonly freshMs?: number;
  /** How long a key that was live stays usable while the store is unavailable. */
  readonly staleMs?: number;
}

export interface KeyDirectory {
  /** At once where the answer is fresh, which for a key in steady use it always is. It never rejects. */
  find(rawKey: string): KeyLookup | Promise<KeyLookup>;
  /** Says, in time, when the key was last used. */
  noteUse(keyId: string): void;
  close(): Promise<void>;
}

const MAX_ENTRIES = 100_000;
const MAX_UNKNOWN_ENTRIES = 10_000;
const FRESH_MS = 1_000;
const STALE_MS = 10 * 60_000;

/**
 * The gateway's look at keys. Resolves when it hears of revocations.
 *
 * A revocation reaches it in two ways (G-23): the message drops the key at once, and without the message no answer
 * of the store is used for longer than `freshMs`. While the store is unavailable there is no second way: a key that was
 * live stays usable for `staleMs`, never past its own expiry or a revocation that was received. That fails open, on
 * purpose: an outage of the database is not an outage of every customer. A key that was not known is then
 * `unavailable`, never `unknown`.
 */
export async function createKeyDirectory(parts: KeyDirectoryParts): Promise<KeyDirectory> {
  const { sharedState, clock, secrets, freshMs = FRESH_MS, staleMs = STALE_MS } = parts;
  /** From then on an entry in use is confirmed in the background, before anybody has to wait for it. */
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
    // From here on an expired key is a stranger like any other (G-25).
    const unknownAtMs = remembered.unknownAtMs(hash);
    if (unknownAtMs !== undefined && Math.abs(nowMs - unknownAtMs) < freshMs) return UNKNOWN;
    return lookUps.ask(hash, 'stranger');
  }

  function findAmongLive(hash: string, entry: RememberedKey, nowMs: number): KeyLookup | Promise<KeyLookup> {
    // A clock that was set back makes no entry younger than it is.
    const ageMs = Math.abs(nowMs - entry.confirmedAtMs);
    if (ageMs < confirmFromMs && !entry.isDoubted) return entry.lookup;
    if ((ageMs < freshMs && !entry.isDoubted) || (lookUps.isAway() && ageMs < staleMs)) {
      void lookUps.ask(hash, 'ahead');
      return entry.lookup;
    }
    return lookUps.ask(hash, 'known');
  }

  function settle(hash: string, key: KeyInUse | null, askedAtMs: number): KeyLookup {
    if (key !== null) {
      const entry = remembered.keepLive(hash, key, askedAtMs);
      // It may have expired while the answer was on its way.
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
  /** Writes what was noted; what is noted afterwards is dropped. */
  close(): Promise<void>;
}

/** With the write itself, `lastUsedAt` is right within five seconds. */
const WRITE_EVERY_MS = 4_000;
/** The keys noted between two writes. Those beyond it are left out until the next round, which is harmless. */
const MOST_USED_KEYS = 10_000;

/**
 * When a key was last used, gathered and written in one statement at most every four seconds, however many calls there
 * are. What cannot be written, because the database is unavailable or another process has the row locked, is written with
 * the next round. A crash loses at most one round.
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
  /** When the store was asked, not when it answered: what happened in between is not in the answer. */
  readonly confirmedAtMs: number;
  /** Messages about it may have been lost: it serves only while the store is unavailable. */
  isDoubted: boolean;
}

interface RememberedKeys {
  live(hash: string): RememberedKey | undefined;
  /** When the store was asked and had no live key of that hash. */
  unknownAtMs(hash: string): number | undefined;
  keepLive(hash: string, key: KeyInUse, confirmedAtMs: number): RememberedKey;
  keepUnknown(hash: string, confirmedAtMs: number): void;
  forget(hash: string): void;
  /** No answer is used before the store was asked again; where the store is unavailable, live keys still serve. */
  doubtAll(): void;
}

/**
 * What the store said, by the hash of the raw key, in two bounded places: keys drawn at random fill only the
 * second and push out no live one. When a place is full the entry goes that was confirmed longest ago. A key in
 * use is confirmed every second, so that is the one that was not used for longest, and reading an entry need not
 * move it.
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

/** A Map keeps the order in which its keys came. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}

/**
 * Returns the keys that were written. Rows that another process writes at this moment are skipped, not waited for: two
 * processes with the same keys in another order would otherwise wait for each other.
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
