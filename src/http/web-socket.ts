import type { Server, ServerWebSocket, WebSocketHandler } from 'bun';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Connection } from './listen.ts';

/** What a service does with requests that ask for a WebSocket. */
export interface SocketService {
  /** Null where such a request is none of its own: it is then answered like any other. */
  answer(request: Request, connection: Connection): SocketAnswer | null;
}

export type SocketAnswer =
  | { readonly outcome: 'refused'; readonly response: Response }
  | {
      readonly outcome: 'accepted';
      /** The subprotocol that was agreed on; null for none. */
      readonly protocol: string | null;
      opened(socket: OpenSocket): SocketEvents;
    };

export interface OpenSocket {
  /**
   * In one write. Resolves once the client keeps up: whoever waits for it holds only what is on its way. What is sent to
   * a closed socket is gone.
   */
  send(messages: readonly string[]): Promise<void>;
  close(code: number, reason: string): void;
}

export interface SocketEvents {
  message(text: string): void;
  closed(code: number, reason: string): void;
}

export interface WebSockets {
  readonly handler: WebSocketHandler<SocketState>;
  /** Undefined is what the runtime wants for a request that has become a socket. */
  upgrade(server: Server<SocketState>, request: Request, answer: SocketAnswer): Response | undefined;
  closeAll(): void;
}

export interface SocketState {
  readonly opened: (socket: OpenSocket) => SocketEvents;
  events: SocketEvents | null;
  /** Whoever waits until the client has read on. */
  waiting: PromiseWithResolvers<void> | null;
  hasAnswered: boolean;
}

type Socket = ServerWebSocket<SocketState>;

/** What clients send are queries: the longest is 20,000 characters, with its variables. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/** A client that asks and never reads is cut off here. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** Beyond so much that was not taken yet, whoever sends waits. */
const ENOUGH_UNREAD_BYTES = 64 * 1024;
/** Who has not answered a ping when the next is due is dead: found after 20 to 40 seconds. */
const PING_EVERY_MS = 20_000;
const GOING_AWAY = 1001;

export function createWebSockets(clock: Clock): WebSockets {
  const sockets = new Set<Socket>();
  let timer: Timer | null = null;

  function pingSoon(): void {
    timer ??= clock.after(PING_EVERY_MS, () => {
      timer = null;
      for (const socket of sockets) {
        if (socket.data.hasAnswered) {
          socket.data.hasAnswered = false;
          socket.ping();
        } else socket.terminate();
      }
      if (sockets.size > 0) pingSoon();
    });
  }

  return {
    handler: {
      maxPayloadLength: MAX_MESSAGE_BYTES,
      backpressureLimit: MAX_UNREAD_BYTES,
      closeOnBackpressureLimit: true,
      // Pings are our own, by our clock.
      sendPings: false,
      idleTimeout: 0,
      perMessageDeflate: false,
      open(socket) {
        sockets.add(socket);
        pingSoon();
        socket.data.events = socket.data.opened(openSocket(socket));
      },
      message(socket, message) {
        socket.data.hasAnswered = true;
        socket.data.events?.message(String(message));
      },
      pong(socket) {
        socket.data.hasAnswered = true;
      },
      drain(socket) {
        if (socket.getBufferedAmount() > ENOUGH_UNREAD_BYTES) return;
        socket.data.waiting?.resolve();
        socket.data.waiting = null;
      },
      close(socket, code, reason) {
        sockets.delete(socket);
        if (sockets.size === 0) {
          timer?.cancel();
          timer = null;
        }
        socket.data.waiting?.resolve();
        socket.data.waiting = null;
        socket.data.events?.closed(code, reason);
      },
    },
    upgrade(server, request, answer) {
      if (answer.outcome === 'refused') return answer.response;
      const data = { opened: answer.opened, events: null, waiting: null, hasAnswered: true };
      const headers = answer.protocol === null ? {} : { 'sec-websocket-protocol': answer.protocol };
      if (server.upgrade(request, { data, headers })) return undefined;
      return new Response('This is no whole WebSocket handshake.', { status: 400 });
    },
    closeAll() {
      for (const socket of sockets) socket.close(GOING_AWAY, 'Going away');
    },
  };
}

function openSocket(socket: Socket): OpenSocket {
  return {
    async send(messages) {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.cork(() => {
        for (const message of messages) socket.sendText(message);
      });
      if (socket.getBufferedAmount() <= ENOUGH_UNREAD_BYTES) return;
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.data.waiting ??= Promise.withResolvers<void>();
      await socket.data.waiting.promise;
    },
    close(code, reason) {
      if (socket.readyState === WebSocket.OPEN) socket.close(code, reason);
    },
  };
}
