import { CloseCode } from 'graphql-ws';
import type { User } from '../domain/accounts/user.ts';
import type { OpenSocket } from '../http/web-socket.ts';
import type { Clock } from '../ports/clock.ts';
import type { RequestOrigin } from './graphql/request-context.ts';
import type { Rights } from './live-logs-rights.ts';

export type GuestOrigin = Omit<RequestOrigin, 'requestId'>;

/** All who have a socket open. */
export interface GuestRoom {
  readonly clock: Clock;
  readonly rights: Rights;
  readonly guests: Set<Guest>;
  /** Those of them who have not shown a token that is worth something. */
  readonly unknown: Set<Guest>;
}

/**
 * Who is behind a socket. A guest comes unknown and has ten seconds to say `connection_init`, and to be known by a token
 * in it or in the handshake's header; then the socket is closed (4408, or 4401). A known one stays until their token
 * expires, or is worth nothing any more, or they watch what they may not any more: then it is closed with 4403, and
 * the client may come again with a new token.
 */
export interface Guest {
  readonly socket: OpenSocket;
  /** With the token as it is known by then. */
  readonly origin: GuestOrigin;
  /** `connection_init` has come, with these parameters. */
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
      if (token === null || (await rights.find(token)) === null || isGone) return;
      patience.cancel();
      room.unknown.delete(guest);
      watch = rights.watch(token, look);
    },
    joined: (subscriptionId) => void joined.add(subscriptionId),
    left: (subscriptionId) => void joined.delete(subscriptionId),
    refused() {
      // Whoever nobody knows has had their answer, which is sent before this.
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
