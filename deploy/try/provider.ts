/** A stand-in for a provider: whole answers, and streams whose second event comes half a second after the first. */
export function startProvider() {
  const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
  const chunk = (delta: object, more: object = {}) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta }], ...more })}\n\n`;
  const server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, maxRequestBodySize: 64 * 1024 * 1024 },
    async fetch(request) {
      const body = (await request.json()) as { stream?: boolean };
      if (body.stream !== true) {
        const message = { role: 'assistant', content: 'Hello!' };
        const choices = [{ index: 0, message, finish_reason: 'stop' }];
        return Response.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage });
      }
      const events = async function* () {
        yield chunk({ role: 'assistant', content: 'one' });
        await Bun.sleep(500);
        yield chunk({ content: 'two' });
        yield chunk({}, { choices: [], usage });
        yield 'data: [DONE]\n\n';
      };
      return new Response(events() as unknown as ReadableStream, {
        headers: { 'content-type': 'text/event-stream' },
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, close: () => void server.stop(true) };
}
