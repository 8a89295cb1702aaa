import type { Socket } from 'bun';
import type { Connection } from './connection.ts';

/** Where to connect: an address, never a name. */
export interface Place {
  readonly address: string;
  readonly port: number;
  /** The name that the certificate must have; null for HTTP without TLS. */
  readonly tlsName: string | null;
}

export type UpstreamSocket = Socket<Dialled>;

/** What happens to a socket that is being opened: one of the two. `failed` may be called again. */
export interface Dialled {
  /** Made, and with TLS the certificate is verified. Null where it is not wanted any more. */
  opened(socket: UpstreamSocket): Connection | null;
  failed(error: Error): void;
  connection: Connection | null;
}

export type Dial = (place: Place, dialled: Dialled) => void;

/** Probes on a silent connection, so that one whose other end is gone is noticed, and a firewall does not forget it. */
const PROBE_AFTER_MS = 30_000;

const common = {
  binaryType: 'uint8array' as const,
  data(socket: UpstreamSocket, bytes: Uint8Array) {
    const { connection } = socket.data;
    // Before it is a connection nothing was asked.
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
  /** An error counts whatever the runtime is set to: a certificate that is not verified ends the connection. */
  handshake(socket: UpstreamSocket, isAuthorized: boolean, error: Error | null) {
    const isVerified = isAuthorized && error === null;
    // Again on a connection that is in use: keys are renewed.
    if (isVerified && socket.data.connection !== null) return;
    if (isVerified) {
      open(socket);
      return;
    }
    socket.data.failed(error ?? new Error('the certificate of the provider is not trusted'));
    socket.terminate();
  },
};

/** On the runtime's sockets. Certificate authorities are the runtime's, with those of NODE_EXTRA_CA_CERTS. */
export const dialSocket: Dial = ({ address, port, tlsName }, dialled) => {
  const options =
    tlsName === null
      ? { socket: plainHandlers }
      : { socket: tlsHandlers, tls: { serverName: tlsName, rejectUnauthorized: true } };
  // Mostly the second time, after connectError: `failed` counts once.
  Bun.connect<Dialled>({ hostname: address, port, data: dialled, ...options }).catch((error: Error) =>
    dialled.failed(error),
  );
};
