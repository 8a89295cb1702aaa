import { describe, expect, test } from 'bun:test';
import { neverReading } from '../doubles/raw-http.ts';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { chatAnswer, TIMEOUT_MS } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const clock = createSettableClock();
const gateway = useResource(() => openGateway({ clock }));
const chat = (rawKey: string, stream: boolean) =>
  post(`${gateway.url}/chat/completions`, rawKey, { model: 'svc/chat-default', messages: [], stream });

/** Bytes without end, as fast as they are taken. */
function endless(piece: string) {
  const sent = { bytes: 0 };
  const bytes = new TextEncoder().encode(piece);
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent.bytes += bytes.length;
      controller.enqueue(bytes);
    },
  });
  return { sent, body };
}

test('an endless answer, and an endless event, are cut at their bound and the memory is released', async () => {
  const { rawKey } = await gateway.mint();
  const before = process.memoryUsage.rss();
  for (const stream of [false, true]) {
    const { body, sent } = endless('x'.repeat(64 * 1024));
    const type = stream ? 'text/event-stream' : 'application/json';
    gateway.upstream.answer(() => new Response(body, { headers: { 'content-type': type } }));
    const answer = await chat(rawKey, stream);
    await answer.arrayBuffer().catch(() => null);
    if (!stream) expect(answer.status).toBe(503);
    expect(sent.bytes).toBeLessThan(1024 * 1024 * 1024);
  }
  Bun.gc(true);
  expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 1024 * 1024);
});

test('a provider that sends nothing, before its first byte or in the middle of a stream, is aborted', async () => {
  const { rawKey } = await gateway.mint();
  const hangs = Promise.withResolvers<Response>();
  gateway.upstream.answer(() => {
    clock.setAhead(TIMEOUT_MS);
    return hangs.promise;
  });
  expect((await chat(rawKey, false)).status).toBe(503);
  hangs.resolve(new Response());
  const silent = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('data: {"choices":[]}\n\n')),
  });
  gateway.upstream.answer(() => new Response(silent, { headers: { 'content-type': 'text/event-stream' } }));
  const answer = await chat(rawKey, true);
  clock.setAhead(TIMEOUT_MS);
  await answer.text().catch(() => null);
  // The gateway closes the connection; without that this waits until the test's time is over.
  await gateway.upstream.received.at(-1)?.closed;
});

test('a stored response whose provider does not answer is 503', async () => {
  const { rawKey } = await gateway.mint();
  const hangs = Promise.withResolvers<Response>();
  const usage = { input_tokens: 7, output_tokens: 5, total_tokens: 12 };
  const stored = { id: 'resp_silent', object: 'response', status: 'completed', store: true, usage };
  gateway.upstream.answer(({ method }) => {
    if (method !== 'GET') return Response.json(stored);
    clock.setAhead(TIMEOUT_MS);
    return hangs.promise;
  });
  const created = { model: 'svc/chat-default', input: 'x' };
  expect((await post(`${gateway.url}/responses`, rawKey, created)).status).toBe(200);
  const headers = { authorization: `Bearer ${rawKey}` };
  expect((await fetch(`${gateway.url}/responses/resp_silent`, { headers })).status).toBe(503);
  hangs.resolve(new Response());
});

describe('large answers that are not streamed', () => {
  const small = useResource(() => openGateway({ largeAnswersBytes: 40_000_000 }));
  const body = JSON.stringify({ model: 'svc/chat-default', messages: [] });
  const call = (rawKey: string) => post(`${small.url}/chat/completions`, rawKey, body);

  test('have a limit in all, count until their client has read them or left, and are free past it', async () => {
    const { rawKey, id } = await small.mint();
    const large = chatAnswer({ padding: 'x'.repeat(15_000_000) });
    small.upstream.answer(() => Response.json(large));
    const request = [
      'POST /llm/v1/chat/completions HTTP/1.1',
      'host: localhost',
      `authorization: Bearer ${rawKey}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      `\r\n${body}`,
    ].join('\r\n');
    const socket = await neverReading(small.url, request);
    expect(await small.calls(id, 1)).toMatchObject([{ outcome: 'SUCCEEDED' }]);
    const refused = await refusalOf(call(rawKey));
    expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    expect(refused.message).toStartWith('Too many large answers');
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(await small.calls(id, 2)).toMatchObject([
      {},
      { outcome: 'FAILED', reason: 'memory-full', charge_micro: 0n },
    ]);
    small.upstream.answer(() => Response.json(chatAnswer()));
    expect((await call(rawKey)).status).toBe(200);
    socket.destroy();
    small.upstream.answer(() => Response.json(large));
    let answer = await call(rawKey);
    await until(async () => {
      if (answer.status !== 200) answer = await call(rawKey);
      return answer.status === 200;
    });
    expect(await answer.json()).toEqual({ ...large, model: 'svc/chat-default' });
  });

  test('the same holds for stored responses that are read at their provider', async () => {
    const { rawKey } = await small.mint();
    const usage = { input_tokens: 7, output_tokens: 5, total_tokens: 12 };
    const stored = { id: 'resp_large', object: 'response', status: 'completed', store: true, usage };
    small.upstream.answer(({ method }) =>
      Response.json({ ...stored, padding: method === 'GET' ? 'x'.repeat(15_000_000) : '' }),
    );
    const created = { model: 'svc/chat-default', input: 'x' };
    expect((await post(`${small.url}/responses`, rawKey, created)).status).toBe(200);
    const headers = { authorization: `Bearer ${rawKey}` };
    const read = () => fetch(`${small.url}/responses/resp_large`, { headers });
    const readWhole = async () => {
      const answer = await read();
      const { byteLength } = await answer.arrayBuffer();
      return { status: answer.status, isLarge: byteLength > 15_000_000 };
    };
    const head = `authorization: Bearer ${rawKey}\r\nhost: localhost\r\n\r\n`;
    const socket = await neverReading(small.url, `GET /llm/v1/responses/resp_large HTTP/1.1\r\n${head}`);
    await until(async () => (await readWhole()).status === 503);
    const refused = await refusalOf(read());
    expect(refused.message).toStartWith('Too many large answers');
    expect(refused.headers.get('retry-after')).toBe('2');
    socket.destroy();
    await until(async () => (await readWhole()).isLarge);
  });
});
