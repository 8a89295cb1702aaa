import type { Server, ServerWebSocket, WebSocketHandler } from 'bun';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Secrets } from '../ports/secrets.ts';
import { type ErrorEnvelope, errorEnvelope } from './error-envelope.ts';
import { releasePort } from './release-port.ts';
import { createRequestIds, REQUEST_ID_HEADER } from './request-id.ts';

export interface ListenOptions {
  readonly name: string;
  readonly fetch: (request: Request, connection: Connection) => Response | Promise<Response>;
  readonly hostname: string;
  readonly port: number;
  /** For several processes on one port: the kernel distributes the connections. */
  readonly reusePort: boolean;
  /** The code of a 503 while the process shuts down. */
  readonly unavailableCode?: string | undefined;
  /** Returns the body of an error on a path that does not use the envelope; null on other paths. */
  readonly errorBody?: ErrorBody | undefined;
  /** A client that reads nothing of its answer for this long is disconnected. The runtime counts in steps of 4 seconds. */
  readonly unreadSeconds?: number | undefined;
  /** Omitted if the service has no WebSockets. */
  readonly sockets?: SocketService | undefined;
  /** Whether the process lacks descriptors: connections then close with their answers, so that waiting ones are accepted. */
  readonly isShort?: () => boolean;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
  readonly log: Log;
}

export type ErrorBody = (
  url: string,
  status: number,
  envelope: ErrorEnvelope,
  requestId: string,
) => object | null;

/** The connection of a request, for its handler. */
export interface Connection {
  readonly peerAddress: string;
  /** Allows this answer to be silent indefinitely: its handler has its own time-outs. */
  mayBeSilent(): void;
  /**
   * Reverts `mayBeSilent`: data is ready for the client, which is disconnected if it does not read. A slow reader is not
   * disconnected: the time restarts with every write that the socket accepts.
   */
  mustBeRead(): void;
}

/** For an answer whose body another part of the program writes: it may be silent, but available data must be read in time. */
export function readInTime(response: Response, connection: Connection): Response {
  connection.mustBeRead();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (response.body === null || !isStream) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        connection.mayBeSilent();
        const next = await reader.read().finally(() => connection.mustBeRead());
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}

/** How a service handles requests for a WebSocket. */
export interface SocketService {
  /** Null if the service does not handle the request: it is then answered like any other. */
  answer(request: Request, connection: Connection): SocketAnswer | null;
}

type SocketAnswer =
  | {
      readonly outcome: 'refused';
      readonly status: 403 | 503;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly outcome: 'accepted';
      /** The agreed subprotocol; null for none. */
      readonly protocol: string | null;
      opened(socket: OpenSocket): SocketEvents;
    };

export interface OpenSocket {
  /**
   * Sends all messages in one write. Resolves once the client keeps up, so an awaiting sender buffers only what is in
   * transit. Data sent to a closed socket is lost.
   */
  send(messages: readonly string[]): Promise<void>;
  close(code: number, reason: string): void;
}

export interface SocketEvents {
  message(text: string): void;
  closed(code: number, reason: string): void;
}

export interface Listening {
  readonly url: string;
  /**
   * For one of several processes on a port, before `drain`: accepts no new connections. The next call on a kept connection is
   * answered, and the connection closes with that answer. Resolves when no call has arrived for a while.
   */
  retire(): Promise<void>;
  /** Accepts no new calls. Running ones may finish until the deadline and are then aborted. */
  drain(deadlineMs: number): Promise<void>;
}

/** A connection without traffic for this long is closed, unless a stream allows silence. */
const IDLE_SECONDS = 60;
/** Below 120, because the runtime counts in steps. */
const UNREAD_SECONDS = 112;
/**
 * Bodies are limited in read-body.ts, because the runtime's own limit responds with an empty body. A body that is not read is
 * not buffered: the runtime stops receiving it after about 6 MB, most of it in the kernel.
 */
const NO_RUNTIME_LIMIT = Number.MAX_SAFE_INTEGER;
const DRAIN_LOOK_MS = 20;
/** A kept connection without a call for this long is idle, and closing it fails no call. */
const QUIET_MS = 2_000;
/** For clients that open no new connections and never pause: their calls get 503 after this. */
const LONGEST_RETIREMENT_MS = 20_000;

export function listen(options: ListenOptions): Listening {
  const { name, hostname, port, clock, log, unreadSeconds = UNREAD_SECONDS } = options;
  const { isShort = never } = options;
  const webSockets = createWebSockets(clock);
  const isHost = createHostCheck();
  const ownAnswers = createOwnAnswers(options);
  let draining = false;
  let retiring = false;
  let lastCallAt = 0;

  /** The connection closes with this answer, and the client's next call reaches another process. */
  async function lastOnItsConnection(answering: Response | Promise<Response>): Promise<Response> {
    lastCallAt = clock.uptimeMs();
    const answer = await answering;
    answer.headers.set('connection', 'close');
    return answer;
  }

  const server = Bun.serve<SocketState>({
    hostname,
    port,
    reusePort: options.reusePort,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: NO_RUNTIME_LIMIT,
    development: false,
    fetch(arrived, self) {
      if (draining) return ownAnswers.goingDown(arrived);
      const host = arrived.headers.get('host');
      if (host !== null && !isHost(host)) return ownAnswers.wrongHost(arrived);
      // HTTP/1.0 does not require Host, and health checks of load balancers still use it.
      const request = host === null ? new Request(`http://localhost${arrived.url}`, arrived) : arrived;
      const connection = new ServedConnection(self, arrived, unreadSeconds);
      if (options.sockets !== undefined && request.headers.get('upgrade')?.toLowerCase() === 'websocket') {
        const answer = options.sockets.answer(request, connection);
        if (answer?.outcome === 'refused') return ownAnswers.refusedSocket(request, answer);
        if (answer !== null) {
          // The runtime expects undefined for a request that has become a socket.
          return webSockets.upgrade(self, request, answer) ? undefined : ownAnswers.notUpgraded(request);
        }
      }
      const answering = options.fetch(request, connection);
      return retiring || isShort() ? lastOnItsConnection(answering) : answering;
    },
    websocket: webSockets.handler,
    error(error) {
      // Only errors outside of the service's own error handler reach this.
      log.error('the server failed', { service: name, error });
      return ownAnswers.failed();
    },
  });

  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${server.port}`,
    async retire() {
      retiring = true;
      const released = await releasePort(server.port ?? port, clock);
      if (released.outcome === 'cannot') {
        log.warn('leaves its port as it can: a call may fail', { service: name, reason: released.reason });
        return;
      }
      webSockets.closeAll();
      const begunAt = clock.uptimeMs();
      lastCallAt = Math.max(lastCallAt, begunAt);
      const isQuiet = () => clock.uptimeMs() - lastCallAt >= QUIET_MS;
      while (!isQuiet() && clock.uptimeMs() - begunAt < LONGEST_RETIREMENT_MS) {
        await clock.sleep(DRAIN_LOOK_MS);
      }
    },
    async drain(deadlineMs) {
      draining = true;
      server.stop(false);
      // Their clients reconnect to another process.
      webSockets.closeAll();
      const deadline = clock.uptimeMs() + deadlineMs;
      while (server.pendingRequests > 0 && clock.uptimeMs() < deadline) await clock.sleep(DRAIN_LOOK_MS);
      if (server.pendingRequests > 0) {
        log.warn('calls were cut at the deadline', { service: name, calls: server.pendingRequests });
      }
      await server.stop(true);
    },
  };
}

const never = () => false;

/** Created for every request: one object, and no closures. */
class ServedConnection implements Connection {
  readonly #server: Server<SocketState>;
  readonly #request: Request;
  readonly #unreadSeconds: number;

  constructor(server: Server<SocketState>, request: Request, unreadSeconds: number) {
    this.#server = server;
    this.#request = request;
    this.#unreadSeconds = unreadSeconds;
  }

  get peerAddress(): string {
    return this.#server.requestIP(this.#request)?.address ?? '';
  }

  mayBeSilent(): void {
    this.#server.timeout(this.#request, 0);
  }

  mustBeRead(): void {
    this.#server.timeout(this.#request, this.#unreadSeconds);
  }
}

const GOING_DOWN = 'This process is shutting down. Retry: another one will answer.';
const WRONG_HOST = 'The Host header is empty, repeated or not a host name. Send exactly one.';

const HALF_HANDSHAKE =
  'The WebSocket handshake is incomplete. Send Connection: Upgrade, Sec-WebSocket-Key and Sec-WebSocket-Version: 13.';

type RefusedSocket = Extract<SocketAnswer, { outcome: 'refused' }>;
type AcceptedSocket = Extract<SocketAnswer, { outcome: 'accepted' }>;

/** Answers of the server itself, with a request id like all others. */
function createOwnAnswers({ secrets, unavailableCode = 'SHUTTING_DOWN', errorBody }: ListenOptions) {
  const requestIdOf = createRequestIds(secrets);
  const answer = (request: Request | null, status: number, envelope: ErrorEnvelope, headers = {}) => {
    const requestId = requestIdOf(request);
    const body = request === null ? null : errorBody?.(request.url, status, envelope, requestId);
    return Response.json(body ?? envelope, {
      status,
      headers: { ...headers, [REQUEST_ID_HEADER]: requestId },
    });
  };
  return {
    /** For calls on existing connections. */
    goingDown(request: Request): Response {
      const envelope = errorEnvelope('api_error', GOING_DOWN, unavailableCode);
      return answer(request, 503, envelope, { connection: 'close', 'retry-after': '1' });
    },
    wrongHost(request: Request): Response {
      const envelope = errorEnvelope('invalid_request_error', WRONG_HOST);
      return answer(request, 400, envelope, { connection: 'close' });
    },
    refusedSocket(request: Request, { status, message, headers }: RefusedSocket): Response {
      const type = status === 403 ? 'permission_error' : 'api_error';
      return answer(request, status, errorEnvelope(type, message), headers);
    },
    notUpgraded: (request: Request) => {
      return answer(request, 400, errorEnvelope('invalid_request_error', HALF_HANDSHAKE));
    },
    failed: () => answer(null, 500, errorEnvelope('api_error', 'Something went wrong on our side.')),
  };
}

/**
 * A name, an IPv4 address or an IPv6 address in brackets, and optionally a port. The runtime joins repeated headers with
 * commas.
 */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;
const HOSTS_REMEMBERED = 100;

/** With any other Host, the request has no valid URL, and all code that parses it fails. */
function createHostCheck(): (host: string) => boolean {
  const known = new Set<string>();
  return (host) => {
    if (known.has(host)) return true;
    if (!HOST.test(host) || !URL.canParse(`http://${host}/`)) return false;
    if (known.size >= HOSTS_REMEMBERED) known.clear();
    known.add(host);
    return true;
  };
}

interface WebSockets {
  readonly handler: WebSocketHandler<SocketState>;
  /** Returns false if the request is no complete handshake. */
  upgrade(server: Server<SocketState>, request: Request, answer: AcceptedSocket): boolean;
  closeAll(): void;
}

interface SocketState {
  readonly opened: (socket: OpenSocket) => SocketEvents;
  events: SocketEvents | null;
  /** Resolved when the client has caught up. */
  waiting: PromiseWithResolvers<void> | null;
  hasAnswered: boolean;
}

type Socket = ServerWebSocket<SocketState>;

/** Clients send queries: the longest has 20,000 characters, with its variables. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/** A client that sends requests and never reads is disconnected at this size. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** Senders wait while more data than this is unread. */
const ENOUGH_UNREAD_BYTES = 64 * 1024;
/**
 * A client that has not answered a ping when the next one is due is dead or does not read: this is detected after 20 to 40
 * seconds. Its own messages do not count as an answer, because they can be sent without reading.
 */
const PING_EVERY_MS = 20_000;
const GOING_AWAY = 1001;

function createWebSockets(clock: Clock): WebSockets {
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
      // We send our own pings, by our own clock.
      sendPings: false,
      idleTimeout: 0,
      perMessageDeflate: false,
      open(socket) {
        sockets.add(socket);
        pingSoon();
        socket.data.events = socket.data.opened(openSocket(socket));
      },
      message(socket, message) {
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
      const data = { opened: answer.opened, events: null, waiting: null, hasAnswered: true };
      const headers = answer.protocol === null ? {} : { 'sec-websocket-protocol': answer.protocol };
      return server.upgrade(request, { data, headers });
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
