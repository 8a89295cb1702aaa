/**
 * Sends one given request over and over on kept connections, as fast as it is answered, for so many requests, and says
 * how it went. It speaks HTTP by hand: a client that costs more than the server would measure itself.
 */
interface Options {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly connections: number;
  readonly requests: number;
}

const options = JSON.parse(process.argv[2] ?? '{}') as Options;
const { hostname, port, pathname } = new URL(options.url);
const lines = [
  `${options.method} ${pathname} HTTP/1.1`,
  `host: ${hostname}:${port}`,
  ...Object.entries(options.headers).map(([name, value]) => `${name}: ${value}`),
  `content-length: ${Buffer.byteLength(options.body)}`,
  '',
  options.body,
];
const request = Buffer.from(lines.join('\r\n'));
const times: number[] = [];
let sent = 0;
let failed = 0;

async function one(): Promise<void> {
  const closed = Promise.withResolvers<void>();
  let begun = 0;
  let buffer = '';
  const send = (socket: Bun.Socket) => {
    if (sent >= options.requests) return void socket.end();
    sent += 1;
    begun = performance.now();
    socket.write(request);
  };
  await connected({
    hostname,
    port: Number(port),
    socket: {
      open: send,
      data(socket, data) {
        buffer += data.toString('latin1');
        if (!isWhole(buffer)) return;
        // A failed tool call is a 200 that says so.
        if (!buffer.startsWith('HTTP/1.1 200') || buffer.includes('"isError":true')) failed += 1;
        times.push(performance.now() - begun);
        buffer = '';
        send(socket);
      },
      close: () => closed.resolve(),
      error: () => closed.resolve(),
    },
  });
  await closed.promise;
}

/** Where many connect at once some are refused until the others have been taken. */
async function connected(options: Bun.TCPSocketConnectOptions<undefined>, tries = 40): Promise<void> {
  try {
    await Bun.connect(options);
  } catch (error) {
    if (tries === 0) throw error;
    await Bun.sleep(50);
    await connected(options, tries - 1);
  }
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head + 2))?.[1];
  if (length !== undefined) return text.length >= head + 4 + Number(length);
  return text.endsWith('0\r\n\r\n');
}

await Promise.all(Array.from({ length: options.connections }, one));
times.sort((a, b) => a - b);
const p50Ms = times[Math.floor(times.length / 2)] ?? 0;
const p99Ms = times[Math.floor(times.length * 0.99)] ?? 0;
process.stdout.write(`${JSON.stringify({ requests: times.length, failed, p50Ms, p99Ms })}\n`);

export {};
