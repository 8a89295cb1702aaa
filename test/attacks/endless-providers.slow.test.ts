import { describe, expect, test } from 'bun:test';
import { neverReading } from '../doubles/raw-http.ts';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
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
});
