/**
 * Many watchers of the live log in one process, and how long lines took to reach them. They read frames off the bare
 * connection: a client library costs more for a line than the server does, and would measure itself.
 */
import type { Socket } from 'bun';

const [url = '', token = '', count = '1000'] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const wanted = Number(count);
const MARK = Buffer.from('"sentAt":');
const delays: number[] = [];
let received = 0;
let lost = 0;

interface Watcher {
  left: Buffer<ArrayBufferLike>;
  readonly ready: () => void;
  isOpen: boolean;
}

const handshake = [
  'GET /graphql HTTP/1.1',
  `Host: ${hostname}:${port}`,
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: graphql-transport-ws',
  '\r\n',
].join('\r\n');

/** A whole message of a client, masked with zeros. */
function frame(opcode: number, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const head = [0x80 | opcode, 0x80 | 126, bytes.length >> 8, bytes.length & 255, 0, 0, 0, 0];
  return new Uint8Array([...head, ...bytes]);
}

const init = frame(
  1,
  JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } }),
);
const query = 'subscription { logStream { timestamp level message context } }';
const subscribe = frame(1, JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));

function take(socket: Socket<Watcher>, message: Buffer<ArrayBufferLike>, opcode: number): void {
  if (opcode === 9) socket.write(frame(10, ''));
  if (opcode !== 1) return;
  const at = message.indexOf(MARK);
  if (at >= 0) {
    received += 1;
    const sentAt = Number.parseInt(message.toString('latin1', at + MARK.length, at + MARK.length + 13), 10);
    if (received % 50 === 0) delays.push(Date.now() - sentAt);
    return;
  }
  const text = message.toString();
  if (text.includes('"connection_ack"')) {
    socket.write(subscribe);
    socket.data.ready();
  }
  lost += Number(/"lostLines":(\d+)/.exec(text)?.[1] ?? 0);
}

function read(socket: Socket<Watcher>, chunk: Buffer<ArrayBufferLike>): void {
  const { data } = socket;
  let bytes = data.left.length === 0 ? chunk : Buffer.concat([data.left, chunk]);
  if (!data.isOpen) {
    const end = bytes.indexOf('\r\n\r\n');
    if (end >= 0) {
      data.isOpen = true;
      bytes = bytes.subarray(end + 4);
      socket.write(init);
    }
  }
  let at = 0;
  while (data.isOpen && bytes.length - at >= 4) {
    const short = (bytes[at + 1] ?? 0) & 127;
    const head = short === 126 ? 4 : 2;
    const length = short === 126 ? bytes.readUInt16BE(at + 2) : short;
    if (bytes.length - at < head + length) break;
    take(socket, bytes.subarray(at + head, at + head + length), (bytes[at] ?? 0) & 15);
    at += head + length;
  }
  data.left = Buffer.from(bytes.subarray(at));
}

async function open(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = await Bun.connect<Watcher>({
    hostname,
    port: Number(port),
    data: { left: Buffer.alloc(0), ready: resolve, isOpen: false },
    socket: { data: read, close: () => void process.stderr.write('a watcher was closed\n') },
  });
  socket.write(handshake);
  await promise;
}

for (let n = 0; n < wanted; n += 50)
  await Promise.all(Array.from({ length: Math.min(50, wanted - n) }, open));
process.stdout.write('ready\n');
// Until the parent process reports that everything was sent.
for await (const _ of Bun.stdin.stream()) break;
for (let before = -1; received !== before; ) {
  before = received;
  await Bun.sleep(2_000);
}
delays.sort((one, other) => one - other);
const at = (share: number) => delays[Math.floor((delays.length - 1) * share)] ?? null;
process.stdout.write(
  `${JSON.stringify({ received, lost, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) })}\n`,
);
process.exit(0);
