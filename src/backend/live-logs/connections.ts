import { CloseCode } from 'graphql-ws';
import type { AccessTokens, VerifiedToken } from '../../domain/accounts/tokens.ts';
import { findSignedInUser, findSignedInUsers, type User } from '../../domain/accounts/user.ts';
import type { OpenSocket } from '../../http/listen.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { RequestOrigin } from '../graphql/request-context.ts';

export type GuestOrigin = Omit<RequestOrigin, 'requestId'>;

/** All open sockets. */
export interface GuestRoom {
  readonly clock: Clock;
  readonly rights: Rights;
  readonly guests: Set<Guest>;
  /** Those without a valid token yet. */
  readonly unknown: Set<Guest>;
}

/**
 * The client behind a socket. A new client is unknown and has ten seconds to send `connection_init` with a valid token,
 * in its parameters or in the handshake's header; otherwise the socket is closed (4408, or 4401). A known one stays
 * until its token expires or is revoked, or until it watches something that it may no longer see: then it is closed
 * with 4403, and the client may reconnect with a new token.
 */
export interface Guest {
  readonly socket: OpenSocket;
  /** With the token known so far. */
  readonly origin: GuestOrigin;
  /** `connection_init` was received, with these parameters. */
  introduce(connectionParams: Readonly<Record<string, unknown>>): Promise<void>;
  joined(subscriptionId: string): void;
  left(subscriptionId: string): void;
  /** A subscription was refused. */
  refused(): void;
  gone(): void;
}

const UNKNOWN_MS = 10_000;

export function createGuest(room: GuestRoom, socket: OpenSocket, handshake: GuestOrigin): Guest {
  const { clock, rights } = room;
  const joined = new Set<string>();
  let { token } = handshake;
  let isIntroduced = false;
  let isGone = false;
  let watch: { stop(): void } | null = null;

  const patience = clock.after(UNKNOWN_MS, () => {
    if (!isIntroduced) {
      socket.close(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout');
    } else socket.close(CloseCode.Unauthorized, 'Unauthorized');
  });

  function look(viewer: User | null): void {
    const mayStay = viewer !== null && (joined.size === 0 || viewer.isSuperAdmin);
    if (!mayStay) socket.close(CloseCode.Forbidden, 'Forbidden');
  }

  const guest: Guest = {
    socket,
    get origin() {
      return { ...handshake, token };
    },
    async introduce(connectionParams) {
      isIntroduced = true;
      token = tokenIn(connectionParams.Authorization ?? connectionParams.authorization) ?? token;
      const known = token === null ? null : await rights.find(token);
      if (known === null || isGone) return;
      patience.cancel();
      room.unknown.delete(guest);
      watch = rights.watch(known, look);
    },
    joined: (subscriptionId) => void joined.add(subscriptionId),
    left: (subscriptionId) => void joined.delete(subscriptionId),
    refused() {
      // The error message for an unauthenticated client is sent first.
      if (room.unknown.has(guest)) clock.after(0, () => socket.close(CloseCode.Unauthorized, 'Unauthorized'));
    },
    gone() {
      isGone = true;
      patience.cancel();
      watch?.stop();
      room.guests.delete(guest);
      room.unknown.delete(guest);
    },
  };
  room.guests.add(guest);
  room.unknown.add(guest);
  return guest;
}

function tokenIn(authorization: unknown): string | null {
  const match = typeof authorization === 'string' ? /^Bearer +(\S+) *$/i.exec(authorization) : null;
  return match?.[1] ?? null;
}

interface RightsParts {
  readonly accessTokens: AccessTokens;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly requireSuperAdminTotp: boolean;
}

interface Rights {
  /** The verified token and its current user; null where there is none. */
  find(token: string): Promise<VerifiedToken | null>;
  /** Calls `look` with the token's user periodically, and with null once the token is no longer valid. */
  watch(token: VerifiedToken, look: (viewer: User | null) => void): { stop(): void };
}

/** An ended session, an expired token or a withdrawn right closes its sockets within a second; this is half of it. */
const LOOK_EVERY_MS = 500;

/**
 * Periodically checks the users with an open socket again, because a socket outlives the request that opened it: one
 * statement for all of them. It reads the database instead of waiting for a message, so it works across processes, with
 * Redis and without. While the database is unavailable access stays as it was until the token expires: fails open,
 * because the log is needed most then, and no session can be ended without the database.
 */
export function createRights(parts: RightsParts): Rights {
  const { accessTokens, database, clock, log } = parts;
  const watched = new Map<(viewer: User | null) => void, VerifiedToken>();
  let timer: Timer | null = null;
  let isLooking = false;

  async function lookAtAll(): Promise<void> {
    isLooking = true;
    const looks = [...watched];
    const viewers = await findAll(looks.map(([, token]) => token));
    for (const [place, [look, { expiresAt }]] of looks.entries()) {
      const viewer = expiresAt.getTime() <= clock.now() ? null : viewers?.[place];
      if (viewer !== undefined && watched.has(look)) look(viewer);
    }
    isLooking = false;
    lookSoon();
  }

  /** Null if the database does not answer. */
  async function findAll(tokens: readonly VerifiedToken[]): Promise<readonly (User | null)[] | null> {
    try {
      return await findSignedInUsers(database, tokens, parts);
    } catch (error) {
      log.warn('whether a watcher of the log still has the right to cannot be read', { error });
      return null;
    }
  }

  function lookSoon(): void {
    if (isLooking || watched.size === 0) return;
    timer ??= clock.after(LOOK_EVERY_MS, () => {
      timer = null;
      void lookAtAll();
    });
  }

  return {
    async find(token) {
      const subject = await accessTokens.verify(token);
      return subject !== null && (await findSignedInUser(database, subject, parts)) !== null ? subject : null;
    },
    watch(token, look) {
      watched.set(look, token);
      lookSoon();
      return {
        stop() {
          watched.delete(look);
          if (watched.size > 0) return;
          timer?.cancel();
          timer = null;
        },
      };
    },
  };
}
