import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { envelopeResponse, errorEnvelope } from './error-envelope.ts';
import { leavePort } from './leave-port.ts';
import { createWebSockets, type SocketService, type SocketState } from './web-socket.ts';

export interface ListenOptions {
  readonly name: string;
  readonly fetch: (request: Request, connection: Connection) => Response | Promise<Response>;
  readonly hostname: string;
  readonly port: number;
  /** Several processes on one port: the kernel spreads the connections. */
  readonly reusePort: boolean;
  readonly maxBodyBytes: number;
  /** Left out where a service has no WebSockets. */
  readonly sockets?: SocketService | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a handler may know and do about the connection its request came on. */
export interface Connection {
  readonly peerAddress: string;
  /** This answer may be silent for as long as it likes: its handler has time-outs of its own. */
  mayBeSilent(): void;
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
/** So that our own limit answers, in the envelope, before the runtime's, which answers with nothing. */
const BODY_MARGIN_BYTES = 1024 * 1024;
const DRAIN_LOOK_MS = 20;
/** A kept connection on which nothing has come for this long is idle, and closing it fails no call. */
const QUIET_MS = 2_000;
/** Clients that open no new connections and never pause: their calls get 503 after this. */
const LONGEST_RETIREMENT_MS = 20_000;

export function listen(options: ListenOptions): Listening {
  const { name, hostname, port, clock, log } = options;
  const webSockets = createWebSockets(clock);
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
    maxRequestBodySize: options.maxBodyBytes + BODY_MARGIN_BYTES,
    development: false,
    fetch(request, self) {
      if (draining) return goingDown();
      const connection = {
        get peerAddress() {
          return self.requestIP(request)?.address ?? '';
        },
        mayBeSilent: () => self.timeout(request, 0),
      };
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
      return envelopeResponse(500, errorEnvelope('api_error', 'Something went wrong on our side.'));
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

/** For calls that come on a connection from before: this process takes none any more, another one will. */
function goingDown(): Response {
  const message = 'This process is going down. Try again: another one will answer.';
  return envelopeResponse(503, errorEnvelope('api_error', message), {
    connection: 'close',
    'retry-after': '1',
  });
}
