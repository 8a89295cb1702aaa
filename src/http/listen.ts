import type { Server, ServerWebSocket, WebSocketHandler } from 'bun';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Secrets } from '../ports/secrets.ts';
import { type ErrorEnvelope, errorEnvelope } from './error-envelope.ts';
import { leavePort } from './leave-port.ts';
import { createRequestIds, REQUEST_ID_HEADER } from './request-id.ts';

export interface ListenOptions {
  readonly name: string;
  readonly fetch: (request: Request, connection: Connection) => Response | Promise<Response>;
  readonly hostname: string;
  readonly port: number;
  /** Several processes on one port: the kernel spreads the connections. */
  readonly reusePort: boolean;
  /** The code of a 503 while the process shuts down. */
  readonly unavailableCode?: string | undefined;
  /** Of an error on a path where that is not the envelope itself; null where it is. */
  readonly errorBody?: ErrorBody | undefined;
  /** A client that reads nothing of its answer for so long is cut. The runtime counts in steps of 4 seconds. */
  readonly unreadSeconds?: number | undefined;
  /** Left out where a service has no WebSockets. */
  readonly sockets?: SocketService | undefined;
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

/** What a handler may know and do about the connection its request came on. */
export interface Connection {
  readonly peerAddress: string;
  /** This answer may be silent for as long as it likes: its handler has time-outs of its own. */
  mayBeSilent(): void;
  /**
   * Ends what `mayBeSilent` began: something is ready for the client, which is cut unless it reads on. A slow reader is
   * not cut: the time starts again with every write that the socket takes.
   */
  mustBeRead(): void;
}

/** An answer whose body another part of the program writes: it may be silent, and what has come has to be read. */
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

/** What a service does with requests that ask for a WebSocket. */
export interface SocketService {
  /** Null where such a request is none of its own: it is then answered like any other. */
  answer(request: Request, connection: Connection): SocketAnswer | null;
}

type SocketAnswer =
  | { readonly outcome: 'refused'; readonly response: Response }
  | {
      readonly outcome: 'accepted';
      /** The subprotocol that was agreed on; null for none. */
      readonly protocol: string | null;
      opened(socket: OpenSocket): SocketEvents;
    };

export interface OpenSocket {
  /**
   * In one write. Resolves once the client keeps up, so an awaiting sender buffers only what is in transit. Data sent
   * to a closed socket is lost.
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
   * For one of several processes on a port, before `drain`: no new connections from now on; the next call on a kept
   * connection is answered, and with it the connection closes. Resolves when none has come for a while.
   */
  retire(): Promise<void>;
  /** No new calls from now on; running ones may finish until the deadline, then they are cut. */
  drain(deadlineMs: number): Promise<void>;
}

/** A connection on which nothing moves for this long is closed; streams say otherwise for themselves. */
const IDLE_SECONDS = 60;
/** Below 120 by the step in which the runtime counts. */
const UNREAD_SECONDS = 112;
/**
 * Bodies are counted in read-body.ts: the runtime's own limit answers with an empty body. A body that is not read is not
 * buffered: the runtime stops taking it after about 6 MB, most of it in the kernel.
 */
const NO_RUNTIME_LIMIT = Number.MAX_SAFE_INTEGER;
const DRAIN_LOOK_MS = 20;
/** A kept connection on which nothing has come for this long is idle, and closing it fails no call. */
const QUIET_MS = 2_000;
/** Clients that open no new connections and never pause: their calls get 503 after this. */
const LONGEST_RETIREMENT_MS = 20_000;

export function listen(options: ListenOptions): Listening {
  const { name, hostname, port, clock, log, unreadSeconds = UNREAD_SECONDS } = options;
  const webSockets = createWebSockets(clock);
  const isHost = createHostCheck();
  const ownAnswers = createOwnAnswers(options);
  let draining = false;
  let retiring = false;
  let lastCallAt = 0;

  /** With this answer the connection closes, and the client's next call goes to another process. */
  async function lastOnItsConnection(answering: Response | Promise<Response>): Promise<Response> {
    lastCallAt = clock.now();
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
      // HTTP/1.0 needs no Host, and health checks of load balancers still use it.
      const request = host === null ? new Request(`http://localhost${arrived.url}`, arrived) : arrived;
      const connection = new ServedConnection(self, arrived, unreadSeconds);
      if (options.sockets !== undefined && request.headers.get('upgrade')?.toLowerCase() === 'websocket') {
        const answer = options.sockets.answer(request, connection);
        if (answer !== null) return webSockets.upgrade(self, request, answer);
      }
      const answering = options.fetch(request, connection);
      return retiring ? lastOnItsConnection(answering) : answering;
    },
    websocket: webSockets.handler,
    error(error) {
      // Only what fails outside of the service's own last resort comes here.
      log.error('the server failed', { service: name, error });
      return ownAnswers.failed();
    },
  });

  return {
    url: `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${server.port}`,
    async retire() {
      retiring = true;
      const left = await leavePort(server.port ?? port, clock);
      if (left.outcome === 'cannot') {
        log.warn('leaves its port as it can: a call may fail', { service: name, reason: left.reason });
        return;
      }
      webSockets.closeAll();
      const begunAt = clock.now();
      lastCallAt = Math.max(lastCallAt, begunAt);
      while (clock.now() - lastCallAt < QUIET_MS && clock.now() - begunAt < LONGEST_RETIREMENT_MS) {
        await clock.sleep(DRAIN_LOOK_MS);
      }
    },
    async drain(deadlineMs) {
      draining = true;
      server.stop(false);
      // Their clients connect again, to another process.
      webSockets.closeAll();
      const deadline = clock.now() + deadlineMs;
      while (server.pendingRequests > 0 && clock.now() < deadline) await clock.sleep(DRAIN_LOOK_MS);
      if (server.pendingRequests > 0) {
        log.warn('calls were cut at the deadline', { service: name, calls: server.pendingRequests });
      }
      await server.stop(true);
    },
  };
}

/** Made for every request: one object, and no closures. */
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

/** What is answered before any service sees the request, with a request id as every other answer. */
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
    /** For calls that come on a connection from before. */
    goingDown(request: Request): Response {
      const envelope = errorEnvelope('api_error', GOING_DOWN, unavailableCode);
      return answer(request, 503, envelope, { connection: 'close', 'retry-after': '1' });
    },
    wrongHost(request: Request): Response {
      const envelope = errorEnvelope('invalid_request_error', WRONG_HOST);
      return answer(request, 400, envelope, { connection: 'close' });
    },
    failed: () => answer(null, 500, errorEnvelope('api_error', 'Something went wrong on our side.')),
  };
}

/** A name, an IPv4 address or one of IPv6 in brackets, and a port. The runtime joins repeated headers with commas. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i;
const HOSTS_REMEMBERED = 100;

/** With any other Host the request's address is no URL, and whatever reads it fails. */
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
  /** Undefined is what the runtime wants for a request that has become a socket. */
  upgrade(server: Server<SocketState>, request: Request, answer: SocketAnswer): Response | undefined;
  closeAll(): void;
}

interface SocketState {
  readonly opened: (socket: OpenSocket) => SocketEvents;
  events: SocketEvents | null;
  /** Resolved when the client has read on. */
  waiting: PromiseWithResolvers<void> | null;
  hasAnswered: boolean;
}

type Socket = ServerWebSocket<SocketState>;

/** What clients send are queries: the longest is 20,000 characters, with its variables. */
const MAX_MESSAGE_BYTES = 64 * 1024;
/** A client that sends requests and never reads is disconnected at this size. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** With more unread data than this, senders wait. */
const ENOUGH_UNREAD_BYTES = 64 * 1024;
/**
 * A client that has not answered a ping when the next is due is dead, or reads nothing: found after 20 to 40 seconds.
 * Its own messages are no answer: they can be sent without reading.
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
