import type { Socket } from 'bun';

export interface RawUpstream {
  readonly port: number;
  readonly baseUrl: string;
  /** Connections that received data, not those that only probe whether the port is open. */
  connections(): number;
  /** All that arrived, as text. */
  received(): string;
  /** Settles when the first of these connections is closed. */
  readonly closed: Promise<void>;
  stop(): void;
}

/** A provider down to its bytes: `answer` runs for each piece that arrives, with how many have come before. */
export function startRawUpstream(answer: (socket: Socket<undefined>, nth: number) => void): RawUpstream {
  const closed = Promise.withResolvers<void>();
  const talking = new Set<Socket<undefined>>();
  let pieces = 0;
  let received = '';
  const listener = Bun.listen<undefined>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        talking.add(socket);
        received += new TextDecoder().decode(bytes);
        answer(socket, pieces);
        pieces += 1;
      },
      close(socket) {
        if (talking.has(socket)) closed.resolve();
      },
      error() {},
    },
  });
  return {
    port: listener.port,
    baseUrl: `http://127.0.0.1:${listener.port}/v1`,
    connections: () => talking.size,
    received: () => received,
    closed: closed.promise,
    stop: () => listener.stop(true),
  };
}

/** The beginning of a stream: its head, and one chunk. */
export const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n';
