import type { AccessTokens } from '../domain/accounts/access-token.ts';
import { findSignedInUser, type User } from '../domain/accounts/user.ts';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { Log } from '../ports/log.ts';

export interface RightsParts {
  readonly accessTokens: AccessTokens;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Rights {
  /** Who a token stands for at this moment; null for nobody. */
  find(token: string): Promise<User | null>;
  /** From now on `look` hears who the token stands for, again and again; null once it is nobody. */
  watch(token: string, look: (viewer: User | null) => void): { stop(): void };
}

/** How long a token that has expired, or a right that was withdrawn, still serves at most. */
const LOOK_EVERY_MS = 5_000;

/**
 * Looks again at those who have a socket open, for a socket outlives the request that opened it. One look for each
 * token, however many sockets it opened. While the database is away a right stays as it was, until the token expires:
 * fails open, since that is when the log is needed most.
 */
export function createRights({ accessTokens, database, clock, log }: RightsParts): Rights {
  const watched = new Map<string, Set<(viewer: User | null) => void>>();
  let timer: Timer | null = null;
  let isLooking = false;

  async function find(token: string): Promise<User | null> {
    const subject = await accessTokens.verify(token);
    return subject === null ? null : await findSignedInUser(database, subject);
  }

  /** Undefined where it cannot be known. */
  async function findAgain(token: string): Promise<User | null | undefined> {
    const subject = await accessTokens.verify(token);
    if (subject === null) return null;
    try {
      return await findSignedInUser(database, subject);
    } catch (error) {
      log.warn('whether a watcher of the log still has the right to cannot be read', { error });
      return undefined;
    }
  }

  async function lookAtAll(): Promise<void> {
    isLooking = true;
    for (const [token, looks] of [...watched]) {
      const viewer = await findAgain(token);
      if (viewer === undefined) continue;
      for (const look of [...looks]) look(viewer);
    }
    isLooking = false;
    lookSoon();
  }

  function lookSoon(): void {
    if (isLooking || watched.size === 0) return;
    timer ??= clock.after(LOOK_EVERY_MS, () => {
      timer = null;
      void lookAtAll();
    });
  }

  return {
    find,
    watch(token, look) {
      const looks = watched.get(token) ?? new Set();
      watched.set(token, looks.add(look));
      lookSoon();
      return {
        stop() {
          looks.delete(look);
          if (looks.size === 0 && watched.get(token) === looks) watched.delete(token);
          if (watched.size > 0) return;
          timer?.cancel();
          timer = null;
        },
      };
    },
  };
}
