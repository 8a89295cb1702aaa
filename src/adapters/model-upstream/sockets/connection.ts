import type { Socket } from 'bun';
import type { AnswerHead } from './answer-head.ts';
import { type AnswerParser, createAnswerParser } from './answer-parser.ts';
import type { Deadlines, Watched } from './deadlines.ts';
import type { Carrier, Exchange } from './exchange.ts';
import { writeRequest } from './request-bytes.ts';

/** With this many unread bytes, reading from the upstream is paused. One read of the runtime has up to 512 kB. */
const MOST_UNREAD_BYTES = 256 * 1024;

/** A connection to an upstream. It carries one exchange after the other, or is idle in its pool. */
export interface Connection extends Carrier, Watched {
  readonly openedMs: number;
  /** False if nothing was written because the connection was closed: the call may use another one. */
  begin(exchange: Exchange): boolean;
  /** Closes the idle connection after this time. */
  rest(idleMs: number): void;
  close(): void;
  isClosed(): boolean;
  data(bytes: Uint8Array): void;
  /** The upstream has sent its last byte. */
  sawEnd(): void;
  drained(): void;
  closed(error: Error | undefined): void;
}

/** Events of a connection, for its pool. */
export interface ConnectionEvents {
  /** The connection can be reused and stays idle for at most `keepAliveSeconds`. */
  free(connection: Connection, keepAliveSeconds: number | null): void;
  /** The connection is closed. `unsent` is a call of which nothing was written. */
  gone(connection: Connection, unsent: Exchange | null): void;
}

interface ConnectionParts {
  readonly socket: Pick<Socket, 'write' | 'terminate' | 'pause' | 'resume' | 'ref' | 'unref'>;
  readonly deadlines: Deadlines;
  readonly events: ConnectionEvents;
  readonly uptimeMs: () => number;
}

export function createConnection({ socket, deadlines, events, uptimeMs }: ConnectionParts): Connection {
  let exchange: Exchange | null = null;
  let head: AnswerHead | null = null;
  let unwritten: readonly Uint8Array[] = [];
  let writtenBytes = 0;
  let isPaused = false;
  let isClosed = false;
  let hasEnded = false;
  const parser: AnswerParser = createAnswerParser({
    head(given) {
      head = given;
      deadlines.clear(connection);
      exchange?.answered(given);
    },
    body(bytes) {
      if (exchange === null || exchange.push(bytes) <= MOST_UNREAD_BYTES || isPaused) return;
      isPaused = true;
      socket.pause();
    },
  });

  function shut(): void {
    if (isClosed) return;
    isClosed = true;
    deadlines.leave(connection);
    socket.terminate();
    events.gone(connection, null);
  }

  /** The connection is done with the exchange; its unread bytes are in memory. */
  function detach(): Exchange | null {
    const over = exchange;
    exchange = null;
    if (over !== null) over.carrier = null;
    return over;
  }

  function breakOff(cause: Error): void {
    const over = detach();
    const isAnswered = head !== null;
    shut();
    if (over === null) return;
    if (isAnswered) over.ended('broken');
    else over.failed({ reason: 'broken', cause });
  }

  function endWhole(mayKeep: boolean): void {
    const { keepsAlive, keepAliveSeconds } = head as AnswerHead;
    const over = detach();
    // A request that is still being sent would mix with the next one.
    const isFree = mayKeep && keepsAlive && unwritten.length === 0 && !hasEnded;
    if (isPaused) connection.resume();
    if (isFree) events.free(connection, keepAliveSeconds);
    else shut();
    over?.ended('whole');
  }

  function writeOn(): void {
    for (let [next] = unwritten; next !== undefined && !isClosed; [next] = unwritten) {
      const written = Math.max(0, socket.write(next, 0, next.length));
      writtenBytes += written;
      const isAll = written === next.length;
      unwritten = isAll ? unwritten.slice(1) : [next.subarray(written), ...unwritten.slice(1)];
      if (!isAll) return;
    }
  }

  const connection: Connection = {
    openedMs: uptimeMs(),
    dueMs: Number.POSITIVE_INFINITY,
    isClosed: () => isClosed,
    begin(given) {
      exchange = given;
      given.carrier = connection;
      head = null;
      writtenBytes = 0;
      parser.begin();
      socket.ref();
      if (given.request === null) throw new Error('a request that was written is not written again');
      const sent = writeRequest(socket, given.request);
      if (sent.written < 0) {
        exchange = null;
        given.carrier = null;
        shut();
        return false;
      }
      writtenBytes = sent.written;
      if (writtenBytes > 0) given.request = null;
      unwritten = sent.rest;
      deadlines.setAt(connection, given.begunMs + given.timeoutMs);
      return true;
    },
    rest(idleMs) {
      socket.unref();
      deadlines.set(connection, idleMs);
    },
    close: shut,
    data(bytes) {
      if (isClosed) return;
      // No callback ran: the answer had already ended, or the error came before a request.
      if (exchange === null) return shut();
      const outcome = parser.push(bytes);
      if (outcome === 'whole' || outcome === 'excess') endWhole(outcome === 'whole');
      else if (outcome === 'broken') breakOff(new Error(parser.problem()));
    },
    sawEnd() {
      hasEnded = true;
    },
    drained() {
      if (unwritten.length > 0) writeOn();
    },
    closed(error) {
      if (isClosed) return;
      isClosed = true;
      deadlines.leave(connection);
      const over = detach();
      const isUnsent = over !== null && writtenBytes === 0;
      events.gone(connection, isUnsent ? over : null);
      if (over === null || isUnsent) return;
      const end = hasEnded && error === undefined ? parser.close() : 'broken';
      if (head !== null) over.ended(end);
      else
        over.failed({
          reason: 'broken',
          cause: error ?? new Error(parser.problem() || 'the connection was lost'),
        });
    },
    late() {
      if (exchange === null) return shut();
      if (head !== null) return exchange.idle();
      const over = detach();
      shut();
      over?.failed({ reason: 'first-byte-time-out', cause: null, limitMs: over.timeoutMs });
    },
    awaitBytes(idleMs) {
      deadlines.set(connection, idleMs);
    },
    stopAwaiting() {
      deadlines.clear(connection);
    },
    resume() {
      if (!isPaused) return;
      isPaused = false;
      if (!isClosed) socket.resume();
    },
    drop() {
      detach();
      shut();
    },
  };
  return connection;
}
