import type { Clock } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { ApiKey } from './api-key.ts';
import { createBatchedLookUps } from './batched-look-ups.ts';
import { type KeyLookup, UNAVAILABLE, UNKNOWN } from './key-lookup.ts';
import { createLastUses } from './last-uses.ts';
import { isWellFormed } from './raw-key.ts';
import { createRememberedKeys, type RememberedKey } from './remembered-keys.ts';
import { REVOKED_KEYS_TOPIC } from './revoke-key.ts';

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
  /** How long a key that was live stays usable while the store is away. */
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
 * of the store is used for longer than `freshMs`. While the store is away there is no second way: a key that was
 * live stays usable for `staleMs`, never past its own expiry or a revocation that was heard of. That fails open, on
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

  function settle(hash: string, key: ApiKey | null, askedAtMs: number): KeyLookup {
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
