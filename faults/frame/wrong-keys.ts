import { KEY_BYTES, rawKeyFrom } from '../../src/domain/keys/api-key.ts';

interface Attack {
  readonly done: number;
  readonly statuses: Map<string, number>;
  readonly seconds: number;
}

const CONNECTIONS = 50;

/** Calls with keys that are well formed and do not exist, each another one, as fast as they are answered. */
export async function attackWithWrongKeys(url: string, most: number, forMs: number): Promise<Attack> {
  const { hostname, port, pathname, host } = new URL(url);
  const body = '{"model":"svc/chat-default","messages":[]}';
  const statuses = new Map<string, number>();
  const begun = performance.now();
  let done = 0;
  let asked = 0;
  const request = () => {
    asked += 1;
    return [
      `POST ${pathname}/chat/completions HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${rawKeyFrom(crypto.getRandomValues(new Uint8Array(KEY_BYTES)))}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      '',
      body,
    ].join('\r\n');
  };
  const isOver = () => asked >= most || performance.now() - begun > forMs;

  async function lane(): Promise<void> {
    const ended = Promise.withResolvers<void>();
    let received = '';
    await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open: (socket) => void socket.write(request()),
        data(socket, bytes) {
          received += bytes.toString();
          const head = received.indexOf('\r\n\r\n');
          const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1] ?? 0);
          if (head === -1 || received.length < head + 4 + length) return;
          const status = received.slice(9, 12);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          done += 1;
          received = '';
          if (isOver()) socket.end();
          else socket.write(request());
        },
        close: () => ended.resolve(),
        error: () => ended.resolve(),
      },
    });
    await ended.promise;
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  return { done, statuses, seconds: (performance.now() - begun) / 1_000 };
}
