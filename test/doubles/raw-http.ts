import { connect, type Socket } from 'node:net';

/** What a server answers to these bytes, until it closes, or `until` is in the answer. */
export function exchange(url: string, sent: string | Uint8Array, until?: string): Promise<string> {
  const { port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    let received = '';
    const end = () => {
      socket.destroy();
      resolve(received);
    };
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      if (until !== undefined && received.includes(until)) end();
    });
    socket.on('error', end);
    socket.on('close', end);
    socket.write(sent);
  });
}

/** A client that sends a request and then reads nothing. */
export function neverReading(url: string, request: string): Promise<Socket> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.pause();
      socket.write(request, () => resolve(socket));
    });
    socket.on('error', reject);
  });
}
