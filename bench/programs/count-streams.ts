/**
 * Opens many streams over half a second and counts their events: a lost one would show. It speaks HTTP by hand. `url
 * key streams`; prints `{whole, events}`.
 */
const [url = '', key = '', streams = '2000'] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const body = '{"model":"svc/chat-default","messages":[{"role":"user","content":"Hello"}],"stream":true}';
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
const SPREAD_MS = 1_000;
const END = 'data: [DONE]\n\n';
const TAIL = 64;

let events = 0;
let whole = 0;

async function one(at: number): Promise<void> {
  await Bun.sleep((at * SPREAD_MS) / Number(streams));
  const ended = Promise.withResolvers<void>();
  let tail = '';
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(own, data) {
        const text = data.toString('latin1');
        for (let from = text.indexOf('data: '); from !== -1; from = text.indexOf('data: ', from + 6))
          events += 1;
        tail = (tail + text).slice(-TAIL);
        if (!tail.endsWith('0\r\n\r\n')) return;
        if (tail.includes(END)) whole += 1;
        own.end();
        ended.resolve();
      },
      close: () => ended.resolve(),
      error: () => ended.resolve(),
    },
  });
  socket.write(request);
  await ended.promise;
}

await Promise.all(Array.from({ length: Number(streams) }, (_, at) => one(at)));
process.stdout.write(`${JSON.stringify({ whole, events })}\n`);
process.exit(0);

export {};
