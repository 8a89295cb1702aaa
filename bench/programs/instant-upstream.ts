/** A provider that answers at once: what is measured in front of it is not its time. */
const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
const base = { id: 'chatcmpl-1', created: 1, model: 'instant' };
const message = { role: 'assistant', content: 'Hello there, how can I help?' };
const whole = JSON.stringify({
  ...base,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: 'stop' }],
  usage,
});
const json = { 'content-type': 'application/json' };
const sse = { 'content-type': 'text/event-stream' };
const CHUNKS = 50;
const event = (more: object) =>
  `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...more })}\n\n`;
const part = event({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] });
const last = `${event({ choices: [], usage })}data: [DONE]\n\n`;
const stream = part.repeat(CHUNKS) + last;

/** One chunk every 100 ms, so that many streams are open at once. */
const SLOW_CHUNKS = 30;
const SLOW_MS = 100;

function slowStream(): ReadableStream<string> {
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(SLOW_MS);
      sent += 1;
      controller.enqueue(sent <= SLOW_CHUNKS ? part : last);
      if (sent > SLOW_CHUNKS) controller.close();
    },
  });
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: 64 * 1024 * 1024,
  async fetch(request) {
    const body = await request.text();
    if (body.includes('"slow":true')) return new Response(slowStream(), { headers: sse });
    const isStream = body.includes('"stream":true');
    return isStream ? new Response(stream, { headers: sse }) : new Response(whole, { headers: json });
  },
});
process.stdout.write(`ready: http://127.0.0.1:${server.port}/v1\n`);

export {};
