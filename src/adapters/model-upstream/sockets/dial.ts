import type { Socket } from 'bun';
import type { Connection } from './connection.ts';

/** The destination: an address, never a name. */
export interface Place {
  readonly address: string;
  readonly port: number;
  /** The name that the certificate must have; null for HTTP without TLS. */
  readonly tlsName: string | null;
}

export type UpstreamSocket = Socket<Dialled>;

/** One of the two is called for each socket. `failed` may be called again. */
export interface Dialled {
  /** The connection is established and, with TLS, the certificate verified. Returns null if it is no longer needed. */
  opened(socket: UpstreamSocket): Connection | null;
  failed(error: Error): void;
  connection: Connection | null;
}

export type Dial = (place: Place, dialled: Dialled) => void;

/** TCP keep-alive, to detect a dead peer and to keep firewalls from dropping the connection. */
const PROBE_AFTER_MS = 30_000;

const common = {
  binaryType: 'uint8array' as const,
  data(socket: UpstreamSocket, bytes: Uint8Array) {
    const { connection } = socket.data;
    // Nothing was requested before the connection was established.
    if (connection === null) socket.terminate();
    else connection.data(bytes);
  },
  drain: (socket: UpstreamSocket) => socket.data.connection?.drained(),
  end: (socket: UpstreamSocket) => socket.data.connection?.sawEnd(),
  close(socket: UpstreamSocket, error?: Error) {
    const { connection } = socket.data;
    if (connection === null) socket.data.failed(error ?? new Error('closed before it was open'));
    else connection.closed(error);
  },
  error(socket: UpstreamSocket, error: Error) {
    const { connection } = socket.data;
    if (connection === null) socket.data.failed(error);
    else connection.closed(error);
    socket.terminate();
  },
  connectError: (socket: UpstreamSocket, error: Error) => socket.data.failed(error),
};

function open(socket: UpstreamSocket): void {
  socket.setKeepAlive(true, PROBE_AFTER_MS);
  socket.data.connection = socket.data.opened(socket);
  if (socket.data.connection === null) socket.terminate();
}

const plainHandlers = { ...common, open };

const tlsHandlers = {
  ...common,
  /** An error always closes the connection, whatever the runtime's settings: an unverified certificate is never accepted. */
  handshake(socket: UpstreamSocket, isAuthorized: boolean, error: Error | null) {
    const isVerified = isAuthorized && error === null;
    // Called again on a connection in use when its keys are renewed.
    if (isVerified && socket.data.connection !== null) return;
    if (isVerified) {
      open(socket);
      return;
    }
    socket.data.failed(error ?? new Error('the certificate of the provider is not trusted'));
    socket.terminate();
  },
};

/** Uses the runtime's sockets and certificate authorities, and those of NODE_EXTRA_CA_CERTS. */
export const dialSocket: Dial = ({ address, port, tlsName }, dialled) => {
  const options =
    tlsName === null
      ? { socket: plainHandlers }
      : { socket: tlsHandlers, tls: { serverName: tlsName, rejectUnauthorized: true } };
  // Usually the second call, after connectError; `failed` has an effect only once.
  Bun.connect<Dialled>({ hostname: address, port, data: dialled, ...options }).catch((error: Error) =>
    dialled.failed(error),
  );
};
