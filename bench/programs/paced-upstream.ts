/**
 * A provider whose streams all send a chunk at the same pace: each for as many chunks as its path says, then the usage
 * and [DONE]. It speaks HTTP by hand, so that thousands of streams leave the machine to whom they pass through.
 * The first argument is the time between two chunks in milliseconds.
 */
const gapMs = Number(process.argv[2] ?? process.env.CHUNK_GAP_MS ?? '200');
const CHUNKS = Number(process.env.CHUNKS ?? '40');
const base = { id: 'chatcmpl-1', created: 1, model: 'paced', object: 'chat.completion.chunk' };
const usage = { prompt_tokens: 9, completion_tokens: CHUNKS, total_tokens: 9 + CHUNKS };
const event = (more: object) => `data: ${JSON.stringify({ ...base, ...more })}\n\n`;
const framed = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const part = Buffer.from(
  framed(event({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] })),
);
const last = Buffer.from(`${framed(`${event({ choices: [], usage })}data: [DONE]\n\n`)}0\r\n\r\n`);
const head = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
);

interface Stream {
  received: string;
  timer: Timer | null;
}

/** A body that is whole: the length is always given here. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  return text.length >= end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? '0');
}

const server = Bun.listen<Stream>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { received: '', timer: null };
      socket.setNoDelay(true);
    },
    data(socket, data) {
      const stream = socket.data;
      stream.received += data.toString('latin1');
      if (!isWhole(stream.received)) return;
      stream.received = '';
      let sent = 0;
      socket.write(head);
      stream.timer = setInterval(() => {
        sent += 1;
        socket.write(sent <= CHUNKS ? part : last);
        if (sent > CHUNKS && stream.timer !== null) clearInterval(stream.timer);
      }, gapMs);
    },
    close(socket) {
      if (socket.data.timer !== null) clearInterval(socket.data.timer);
    },
  },
});
process.stdout.write(`ready: http://127.0.0.1:${server.port}/v1\n`);

export {};
