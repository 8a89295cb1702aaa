import type { Socket } from 'bun';

export interface Link {
  readonly port: number;
  /** From now on every piece of the way back comes this much later. */
  delay(ms: number): void;
  close(): void;
}

interface Side {
  peer: Socket<Side> | null;
  readonly waiting: Uint8Array[];
  /** Those that are delayed. Whichever timer runs takes the first of them: so what passes keeps its order, also where the delay changes. */
  readonly delayed: Uint8Array[];
  readonly isBack: boolean;
}

/** A TCP connection to a server of this machine that can be made slow. It keeps the order of what passes. */
export function startLink(targetPort: number, hostname = '127.0.0.1'): Link {
  const sides = new Set<Socket<Side>>();
  let delayMs = 0;

  function pass(socket: Socket<Side>): void {
    const { peer, waiting } = socket.data;
    if (peer === null) return;
    for (let bytes = waiting[0]; bytes !== undefined; bytes = waiting[0]) {
      const written = peer.write(bytes);
      if (written < bytes.byteLength) {
        waiting[0] = bytes.subarray(Math.max(0, written));
        return;
      }
      waiting.shift();
    }
  }
  const handlers = {
    data(socket: Socket<Side>, bytes: Uint8Array) {
      const { waiting, delayed, isBack } = socket.data;
      const copy = bytes.slice();
      if (!isBack || (delayMs === 0 && delayed.length === 0)) {
        waiting.push(copy);
        return pass(socket);
      }
      delayed.push(copy);
      setTimeout(() => {
        waiting.push(delayed.shift() as Uint8Array);
        pass(socket);
      }, delayMs);
    },
    drain(socket: Socket<Side>) {
      if (socket.data.peer !== null) pass(socket.data.peer);
    },
    close(socket: Socket<Side>) {
      sides.delete(socket);
      socket.data.peer?.end();
    },
    error() {},
  };
  const listener = Bun.listen<Side>({
    hostname,
    port: 0,
    socket: {
      ...handlers,
      async open(socket) {
        socket.data = { peer: null, waiting: [], delayed: [], isBack: false };
        sides.add(socket);
        const data: Side = { peer: socket, waiting: [], delayed: [], isBack: true };
        const target = { hostname: '127.0.0.1', port: targetPort, data, socket: handlers };
        // Refused while the server starts or stops: the client is refused, too.
        const peer = await Bun.connect<Side>(target).catch(() => null);
        if (peer === null) return void socket.terminate();
        // The client has left meanwhile, or the link is closed.
        if (!sides.has(socket)) return void peer.terminate();
        socket.data.peer = peer;
        sides.add(peer);
        pass(socket);
      },
    },
  });
  return {
    port: listener.port,
    delay(ms) {
      delayMs = ms;
    },
    close() {
      listener.stop(true);
      for (const socket of sides) socket.terminate();
      sides.clear();
    },
  };
}
