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

const RESPONSE_ID = 'resp_0';
let made = 0;

/** The same in the words of the other two wires: as many events, of the size that providers send. */
const named = (event: { readonly type: string }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const counts = { input_tokens: 9, output_tokens: 3 };
const item = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant' };
const output = [{ ...item, content: [{ type: 'output_text', annotations: [], text: message.content }] }];
const response = { id: RESPONSE_ID, object: 'response', created_at: 1, model: 'instant', error: null };
const completed = { ...response, status: 'completed', output, usage: { ...counts, total_tokens: 12 } };
const responsePart = (at: number) =>
  named({
    ...{ type: 'response.output_text.delta', sequence_number: at + 1, item_id: 'msg_1' },
    ...{ output_index: 0, content_index: 0, delta: 'word ', logprobs: [], obfuscation: 'x7Kq2p' },
  });
const responseStream = [
  named({
    type: 'response.created',
    ...{ sequence_number: 0, response: { ...response, output: [], usage: null } },
  }),
  ...Array.from({ length: CHUNKS }, (_, at) => responsePart(at)),
  named({ type: 'response.completed', ...{ sequence_number: CHUNKS + 1, response: completed } }),
].join('');
const answered = { id: 'msg_1', type: 'message', role: 'assistant', model: 'instant' };
const wholeMessage = {
  ...{ ...answered, content: [{ type: 'text', text: message.content }] },
  ...{ stop_reason: 'end_turn', stop_sequence: null, usage: counts },
};
const delta = { type: 'text_delta', text: 'word ' };
const messageStream = [
  named({ type: 'message_start', ...{ message: { ...answered, content: [], usage: counts } } }),
  named({ type: 'content_block_delta', ...{ index: 0, delta } }).repeat(CHUNKS),
  named({ type: 'message_delta', ...{ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } } }),
  named({ type: 'message_stop' }),
].join('');
const CHAT = { ending: '', whole, stream };
const WIRES = [
  { ending: '/responses', whole: JSON.stringify(completed), stream: responseStream },
  { ending: '/messages', whole: JSON.stringify(wholeMessage), stream: messageStream },
  CHAT,
];

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
    const wire = WIRES.find(({ ending }) => request.url.endsWith(ending)) ?? CHAT;
    const answer = isStream ? wire.stream : wire.whole;
    made += 1;
    // A provider gives each response an id of its own, under which it is recorded.
    return new Response(
      wire.ending === '/responses' ? answer.replaceAll(RESPONSE_ID, `resp_${made}`) : answer,
      {
        headers: isStream ? sse : json,
      },
    );
  },
});
process.stdout.write(`ready: http://127.0.0.1:${server.port}/v1\n`);

export {};
