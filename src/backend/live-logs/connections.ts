import { CloseCode } from 'graphql-ws';
import type { AccessTokens, VerifiedToken } from '../../domain/accounts/tokens.ts';
import { findSignedInUser, findSignedInUsers, type User } from '../../domain/accounts/user.ts';
import type { OpenSocket } from '../../http/listen.ts';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { RequestOrigin } from '../graphql/request-context.ts';

export type ClientOrigin = Omit<RequestOrigin, 'requestId'>;

/** All open sockets. */
export interface ClientRegistry {
  readonly clock: Clock;
  readonly rights: Rights;
  readonly clients: Set<SocketClient>;
  /** Those without a valid token yet. */
  readonly unauthenticated: Set<SocketClient>;
}

/**
 * The client behind a socket. A new client is unauthenticated and has ten seconds to send `connection_init` with a valid
 * token, in its parameters or in the handshake's header; otherwise the socket is closed (4408, or 4401). An authenticated
 * one stays until its token expires or is revoked, or until it watches something that it may no longer see: then it is
 * closed with 4403, and the client may reconnect with a new token.
 */
export interface SocketClient {
  readonly socket: OpenSocket;
  /** With the token known so far. */
  readonly origin: ClientOrigin;
  readonly hasLeft: boolean;
  /** `connection_init` was received, with these parameters. */
  authenticate(connectionParams: Readonly<Record<string, unknown>>): Promise<void>;
  subscribed(subscriptionId: string): void;
  unsubscribed(subscriptionId: string): void;
  /** A subscription was refused. */
  refused(): void;
  closed(): void;
}

const INIT_TIMEOUT_MS = 10_000;

export function createSocketClient(
  registry: ClientRegistry,
  socket: OpenSocket,
  handshake: ClientOrigin,
): SocketClient {
  const { clock, rights } = registry;
  const subscriptions = new Set<string>();
  let { token } = handshake;
  let isInitialised = false;
  let isClosed = false;
  let watch: { stop(): void } | null = null;

  const initTimeout = clock.after(INIT_TIMEOUT_MS, () => {
    if (!isInitialised) {
      socket.close(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout');
    } else socket.close(CloseCode.Unauthorized, 'Unauthorized');
  });

  function check(viewer: User | null): void {
    const mayStay = viewer !== null && (subscriptions.size === 0 || viewer.isSuperAdmin);
    if (!mayStay) socket.close(CloseCode.Forbidden, 'Forbidden');
  }

  const client: SocketClient = {
    socket,
    get origin() {
      return { ...handshake, token };
    },
    get hasLeft() {
      return isClosed;
    },
    async authenticate(connectionParams) {
      isInitialised = true;
      token = tokenIn(connectionParams.Authorization ?? connectionParams.authorization) ?? token;
      const known = token === null ? null : await rights.find(token);
      if (known === null || isClosed) return;
      initTimeout.cancel();
      registry.unauthenticated.delete(client);
      watch = rights.watch(known, check);
    },
    subscribed: (subscriptionId) => void subscriptions.add(subscriptionId),
    unsubscribed: (subscriptionId) => void subscriptions.delete(subscriptionId),
    refused() {
      // The error message for an unauthenticated client is sent first.
      if (registry.unauthenticated.has(client))
        clock.after(0, () => socket.close(CloseCode.Unauthorized, 'Unauthorized'));
    },
    closed() {
      isClosed = true;
      initTimeout.cancel();
      watch?.stop();
      registry.clients.delete(client);
      registry.unauthenticated.delete(client);
    },
  };
  registry.clients.add(client);
  registry.unauthenticated.add(client);
  return client;
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
  /** Calls `check` with the token's user periodically, and with null once the token is no longer valid. */
  watch(token: VerifiedToken, check: (viewer: User | null) => void): { stop(): void };
}

/** An ended session, an expired token or a withdrawn right closes its sockets within a second; this is half of it. */
const CHECK_EVERY_MS = 500;

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
  let isChecking = false;

  async function checkAll(): Promise<void> {
    isChecking = true;
    const checks = [...watched];
    const viewers = await findAll(checks.map(([, token]) => token));
    for (const [place, [check, { expiresAt }]] of checks.entries()) {
      const viewer = expiresAt.getTime() <= clock.now() ? null : viewers?.[place];
      if (viewer !== undefined && watched.has(check)) check(viewer);
    }
    isChecking = false;
    scheduleCheck();
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

  function scheduleCheck(): void {
    if (isChecking || watched.size === 0) return;
    timer ??= clock.after(CHECK_EVERY_MS, () => {
      timer = null;
      void checkAll();
    });
  }

  return {
    async find(token) {
      const subject = await accessTokens.verify(token);
      return subject !== null && (await findSignedInUser(database, subject, parts)) !== null ? subject : null;
    },
    watch(token, check) {
      watched.set(check, token);
      scheduleCheck();
      return {
        stop() {
          watched.delete(check);
          if (watched.size > 0) return;
          timer?.cancel();
          timer = null;
        },
      };
    },
  };
}
