import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { type Connection, type ConnectionEvents, createConnection } from './connection.ts';
import type { Deadlines, Watched } from './deadlines.ts';
import type { Dial, Dialled, UpstreamSocket } from './dial.ts';
import type { Carrier, Exchange } from './exchange.ts';

/**
 * Idle connections are kept for a minute. Load balancers silently drop them after about four minutes, and a call on such a
 * connection would wait for its whole time-out.
 */
const KEEP_IDLE_MS = 60_000;
/** The margin before the upstream's own idle time-out: it may already be closing the connection then. */
const KEEP_ALIVE_MARGIN_MS = 1_000;
/** After this time an upstream's name is resolved again, even if its connections are always in use. */
const MOST_AGE_MS = 15 * 60_000;
const MOST_IDLE = 512;
/** The limit of abandoned connection attempts. The runtime cannot abort them; the kernel does so after two minutes. */
const MOST_GIVEN_UP = 128;

interface PoolParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly dial: Dial;
  readonly connectTimeoutMs: number;
}

/** The connections to one origin. */
export interface Pool {
  /** Uses an idle connection, or a new one to the first address that accepts it. */
  run(exchange: Exchange, addresses: readonly string[]): void;
  /** Closes idle connections, and those in use when they become idle. */
  close(): void;
  isEmpty(): boolean;
}

export interface Origin {
  readonly hostname: string;
  readonly port: number;
  readonly tlsName: string | null;
}

export function createPool(parts: PoolParts, origin: Origin): Pool {
  const { clock, log, deadlines, dial, connectTimeoutMs } = parts;
  const uptimeMs = () => clock.uptimeMs();
  /** Most recently used last, so surplus connections reach their idle limit. */
  const idle: Connection[] = [];
  const waiting: Exchange[] = [];
  let connections = 0;
  let dialling = 0;
  let givenUp = 0;
  let isLost = false;
  let isShut = false;
  let preferred = '';
  let known: readonly string[] = [];

  const line: Carrier = {
    awaitBytes() {},
    stopAwaiting() {},
    resume() {},
    drop(exchange) {
      const at = waiting.indexOf(exchange);
      if (at >= 0) waiting.splice(at, 1);
    },
  };

  const events: ConnectionEvents = {
    free(connection, keepAliveSeconds) {
      if (isShut || uptimeMs() - connection.openedMs > MOST_AGE_MS) connection.close();
      else serve(connection, keepAliveSeconds);
    },
    gone(connection, unsent) {
      connections -= 1;
      const at = idle.indexOf(connection);
      if (at >= 0) idle.splice(at, 1);
      if (unsent !== null) run(unsent, known);
    },
  };

  /** Gives a free connection to the first waiting call, or keeps it idle. */
  function serve(connection: Connection, keepAliveSeconds: number | null): void {
    const next = waiting.shift();
    if (next === undefined) keep(connection, keepAliveSeconds);
    else if (!connection.begin(next)) {
      waiting.unshift(next);
      dialAll();
    }
  }

  function keep(connection: Connection, keepAliveSeconds: number | null): void {
    const saidMs = (keepAliveSeconds ?? Number.POSITIVE_INFINITY) * 1_000 - KEEP_ALIVE_MARGIN_MS;
    if (saidMs <= 0) {
      connection.close();
      return;
    }
    idle.push(connection);
    connection.rest(Math.min(KEEP_IDLE_MS, saidMs));
    if (idle.length > MOST_IDLE) idle[0]?.close();
  }

  function run(exchange: Exchange, addresses: readonly string[]): void {
    known = addresses;
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.begin(exchange)) return;
    }
    exchange.carrier = line;
    waiting.push(exchange);
    dialAll();
  }

  /** Opens connections until there is an attempt for each waiting call. */
  function dialAll(): void {
    while (dialling < waiting.length && givenUp < MOST_GIVEN_UP) {
      dialling += 1;
      dialNext(inOrder(known, preferred), 0, clock.uptimeMs() + connectTimeoutMs, []);
    }
    if (waiting.length > dialling) failWaiting(new Error('too many connections do not come about'));
  }

  /** Tries one address after the other, each with its share of the remaining time. */
  function dialNext(
    addresses: readonly string[],
    at: number,
    dueMs: number,
    earlier: readonly Error[],
  ): void {
    const address = addresses[at];
    if (address === undefined) {
      fail(new Error(`${origin.hostname} has no address`));
      return;
    }
    let isOver = false;
    let isGivenUp = false;

    function next(error: Error): void {
      isOver = true;
      deadlines.leave(timing);
      const all = [...earlier, error];
      if (at + 1 < addresses.length && clock.uptimeMs() < dueMs) dialNext(addresses, at + 1, dueMs, all);
      else fail(all.length === 1 ? error : ofAll(all));
    }

    const timing: Watched = {
      dueMs: Number.POSITIVE_INFINITY,
      late() {
        isGivenUp = true;
        givenUp += 1;
        noteSilence();
        next(new Error(`no connection within ${connectTimeoutMs} ms`));
      },
    };

    const dialled: Dialled = {
      connection: null,
      opened(socket) {
        if (isGivenUp) {
          isGivenUp = false;
          givenUp -= 1;
        }
        if (isOver) return null;
        isOver = true;
        deadlines.leave(timing);
        preferred = address;
        return adopt(socket, dialled);
      },
      failed(error) {
        if (isGivenUp) {
          isGivenUp = false;
          givenUp -= 1;
        } else if (!isOver) next(error);
      },
    };

    deadlines.setAt(timing, shareOf(dueMs, clock.uptimeMs(), addresses.length - at));
    dial({ address, port: origin.port, tlsName: origin.tlsName }, dialled);
  }

  function adopt(socket: UpstreamSocket, dialled: Dialled): Connection {
    dialling -= 1;
    isLost = false;
    connections += 1;
    const connection = createConnection({ socket, deadlines, events, uptimeMs });
    // Before it is used: a request may be answered or refused while it is being written.
    dialled.connection = connection;
    if (isShut && waiting.length === 0) connection.close();
    else serve(connection, null);
    return connection;
  }

  function noteSilence(): void {
    const { hostname, port } = origin;
    if (!isLost) log.warn('a provider does not accept connections', { hostname, port, connectTimeoutMs });
    isLost = true;
  }

  /** A connection attempt failed. Calls for which no attempt is left fail, the longest waiting first. */
  function fail(cause: Error): void {
    dialling -= 1;
    failWaiting(cause);
  }

  function failWaiting(cause: Error): void {
    while (waiting.length > dialling) waiting.shift()?.failed({ reason: 'connect', cause });
  }

  return {
    run,
    close() {
      isShut = true;
      for (const connection of idle.splice(0)) connection.close();
    },
    isEmpty: () => connections === 0 && dialling === 0,
  };
}

/** Of each address: an expired certificate at one would be hidden by another that cannot be reached. */
function ofAll(errors: readonly Error[]): AggregateError {
  const problems = new Set(errors.map(({ message }) => message));
  return new AggregateError(errors, [...problems].join('; '));
}

/** The address that worked last is tried first, if the name still has it. */
function inOrder(addresses: readonly string[], preferred: string): readonly string[] {
  if (addresses[0] === preferred || !addresses.includes(preferred)) return addresses;
  return [preferred, ...addresses.filter((address) => address !== preferred)];
}

function shareOf(dueMs: number, nowMs: number, tries: number): number {
  return nowMs + (dueMs - nowMs) / tries;
}
