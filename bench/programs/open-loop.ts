/**
 * Sends calls at their time, whether or not the ones before were answered. A delay counts from the time at which the
 * call was due, so that a call which waits for a connection, or behind others, counts with its wait. It speaks HTTP by
 * hand: a client that costs more than the server would measure itself. `url key perSecond seconds`, the body in LOAD_BODY; prints
 * `{failed, delaysMs}`.
 */
const [url = '', key = '', perSecond = '500', seconds = '5'] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const body =
  process.env.LOAD_BODY ??
  '{"model":"svc/chat-default","messages":[{"role":"user","content":"Hello"}],"max_tokens":5}';
const request = Buffer.from(
  [
    `POST ${pathname} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n'),
);
/** More are opened where these are all busy. */
const CONNECTIONS = 32;
const LAST_ANSWER_MS = 30_000;

interface Connection {
  socket: Bun.Socket | null;
  dueAt: number;
  received: string;
}

const idle: Connection[] = [];
const delaysMs: number[] = [];
let failed = 0;
let running = 0;

async function open(): Promise<Connection> {
  const own: Connection = { socket: null, dueAt: 0, received: '' };
  const lost = () => {
    own.socket = null;
    const at = idle.indexOf(own);
    if (at === -1) ended(own, false);
    else idle.splice(at, 1);
  };
  own.socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_socket, data) {
        own.received += data.toString('latin1');
        if (!isWhole(own.received)) return;
        const isGood = own.received.startsWith('HTTP/1.1 200');
        own.received = '';
        ended(own, isGood);
        idle.push(own);
      },
      close: lost,
      error: lost,
    },
  });
  own.socket.setNoDelay(true);
  return own;
}

function ended(own: Connection, isGood: boolean): void {
  if (own.dueAt === 0) return;
  running -= 1;
  if (isGood) delaysMs.push(performance.now() - own.dueAt);
  else failed += 1;
  own.dueAt = 0;
}

function send(dueAt: number): void {
  running += 1;
  const write = (connection: Connection) => {
    connection.dueAt = dueAt;
    connection.socket?.write(request);
  };
  const free = idle.pop();
  if (free !== undefined) {
    write(free);
    return;
  }
  open().then(write, () => {
    running -= 1;
    failed += 1;
  });
}

function isWhole(text: string): boolean {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head + 2))?.[1];
  if (length !== undefined) return text.length >= head + 4 + Number(length);
  return text.endsWith('0\r\n\r\n');
}

idle.push(...(await Promise.all(Array.from({ length: CONNECTIONS }, open))));
const calls = Number(perSecond) * Number(seconds);
const gapMs = 1_000 / Number(perSecond);
const begun = performance.now() + gapMs;
for (let sent = 0; sent < calls; ) {
  for (; sent < calls && performance.now() >= begun + sent * gapMs; sent += 1) send(begun + sent * gapMs);
  // Timers fire up to a millisecond late: the last part of the wait looks at the clock on every turn of the loop.
  const leftMs = begun + sent * gapMs - performance.now();
  if (leftMs > 1.5) await Bun.sleep(leftMs - 1);
  else await new Promise((resolve) => setImmediate(resolve));
}
for (const until = performance.now() + LAST_ANSWER_MS; running > 0 && performance.now() < until; ) {
  await Bun.sleep(10);
}
process.stdout.write(`${JSON.stringify({ failed: failed + running, delaysMs })}\n`);
process.exit(0);

export {};
