import type { Socket, TCPSocketListener } from 'bun';

export interface Forwarder {
  readonly port: number;
  /** Bytes stay where they are, in both directions; connections stay open: a paused server, a broken network. */
  hold(): void;
  release(): void;
  /** Every connection is cut and new ones are refused: a server that is away. */
  cut(): void;
  restore(): void;
  /** Where connections go from now on: a fail-over. */
  aim(targetPort: number): void;
  close(): void;
}

interface Side {
  peer: Socket<Side> | null;
  held: Uint8Array[];
}

/** A TCP connection to somewhere else that a test can break. */
export function startForwarder(firstTargetPort: number): Forwarder {
  let targetPort = firstTargetPort;
  const sides = new Set<Socket<Side>>();
  let isHolding = false;
  let port = 0;
  let listener: TCPSocketListener<Side> | null = null;

  const pass = (socket: Socket<Side>) => {
    const { peer, held } = socket.data;
    if (isHolding || peer === null) return;
    for (const bytes of held.splice(0)) peer.write(bytes);
  };
  const handlers = {
    open: (socket: Socket<Side>) => void sides.add(socket),
    data(socket: Socket<Side>, bytes: Uint8Array) {
      socket.data.held.push(bytes.slice());
      pass(socket);
    },
    close(socket: Socket<Side>) {
      sides.delete(socket);
      socket.data.peer?.end();
    },
    error() {},
  };
  function listen(): void {
    listener = Bun.listen<Side>({
      hostname: '127.0.0.1',
      port,
      socket: {
        ...handlers,
        async open(socket) {
          socket.data = { peer: null, held: [] };
          sides.add(socket);
          const data: Side = { peer: socket, held: [] };
          const target = { hostname: '127.0.0.1', port: targetPort, data, socket: handlers };
          // Refused while the server starts or stops: the client is refused, too.
          const peer = await Bun.connect<Side>(target).catch(() => null);
          if (peer === null) return void socket.terminate();
          // The client has left meanwhile, or was cut.
          if (!sides.has(socket)) return void peer.terminate();
          socket.data.peer = peer;
          pass(socket);
        },
      },
    });
    port = listener.port;
  }
  function cut(): void {
    listener?.stop(true);
    for (const socket of sides) socket.terminate();
    sides.clear();
  }
  listen();
  return {
    port,
    hold: () => {
      isHolding = true;
    },
    release() {
      isHolding = false;
      for (const socket of sides) pass(socket);
    },
    cut,
    restore: listen,
    aim(nextPort) {
      targetPort = nextPort;
    },
    close: cut,
  };
}

/** The address of the same server by way of the forwarder. */
export function through(url: string, forwarder: Forwarder): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(forwarder.port);
  return changed.href;
}
