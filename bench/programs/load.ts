/**
 * Sends one request over and over on kept connections, as fast as it is answered, and says how it went. It speaks
 * HTTP by hand: a client that costs more than the server would measure itself.
 */
const [url = '', key = '', connections = '32', seconds = '5', bodyBytes = '0', ...headers] =
  process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const filler = 'x'.repeat(Number(bodyBytes));
const CHAT =
  '{"model":"svc/chat-default","messages":[{"role":"user","content":"Hello FILLER"}],"max_tokens":5}';
const body = (process.env.LOAD_BODY ?? CHAT).replace('FILLER', filler);
const lines = [
  `POST ${pathname} HTTP/1.1`,
  `host: ${hostname}:${port}`,
  `authorization: Bearer ${key}`,
  'content-type: application/json',
  ...headers,
  `content-length: ${Buffer.byteLength(body)}`,
  '',
  body,
];
const request = Buffer.from(lines.join('\r\n'));
const end = performance.now() + Number(seconds) * 1000;
const times: number[] = [];
let failed = 0;

async function one(): Promise<void> {
  const closed = Promise.withResolvers<void>();
  let begun = 0;
  let buffer = '';
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open(socket) {
        begun = performance.now();
        socket.write(request);
      },
      data(socket, data) {
        buffer += data.toString('latin1');
        if (!isWhole(buffer)) return;
        if (!buffer.startsWith('HTTP/1.1 200')) failed += 1;
        const now = performance.now();
        times.push(now - begun);
        buffer = '';
        begun = now;
        if (now < end) socket.write(request);
        else socket.end();
      },
      close: () => closed.resolve(),
      error: () => closed.resolve(),
    },
  });
  await closed.promise;
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head + 2))?.[1];
  if (length !== undefined) return text.length >= head + 4 + Number(length);
  return text.endsWith('0\r\n\r\n');
}

await Promise.all(Array.from({ length: Number(connections) }, one));
times.sort((a, b) => a - b);
const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
process.stdout.write(
  `${JSON.stringify({ requests: times.length, failed, p50Ms: at(0.5), p99Ms: at(0.99) })}\n`,
);

export {};
