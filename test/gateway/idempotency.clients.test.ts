import { beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { useResource } from '../setup/use-resource.ts';
import { openGateway } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from './scripted-upstream.ts';

let client: OpenAI;
let sent = 0;

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  const { rawKey } = await gateway.mint();
  const counted = (url: string | URL | Request, init?: RequestInit) => {
    sent += 1;
    return fetch(url, init);
  };
  client = new OpenAI({ baseURL: gateway.url, apiKey: rawKey, fetch: counted });
});

const question = { model: 'svc/chat-default', messages: [{ role: 'user' as const, content: 'Hi' }] };
const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });

describe('G-47 the official openai client, with the header on its requests', () => {
  test('gets the same answer twice, whole and streamed, for one upstream call each', async () => {
    const before = gateway.upstream.received.length;
    let made = 0;
    gateway.upstream.answer(() => {
      made += 1;
      return Response.json(chatAnswer({ id: `chatcmpl-${made}` }));
    });
    const first = await client.chat.completions.create(question, keyed('whole'));
    const { data, response } = await client.chat.completions.create(question, keyed('whole')).withResponse();
    expect(data.id).toBe(first.id);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(response.headers.get('original-request-id')).toBe(first._request_id as string);
    gateway.upstream.answer(() => streamOf(chunk('Hel'), chunk('lo'), usageChunk, done));
    for (let time = 0; time < 2; time += 1) {
      const stream = await client.chat.completions.create({ ...question, stream: true }, keyed('streamed'));
      let text = '';
      for await (const part of stream) text += part.choices[0]?.delta.content ?? '';
      expect(text).toBe('Hello');
    }
    expect(gateway.upstream.received.length - before).toBe(2);
  });

  test('that gives up waiting tries again by itself and pays once', async () => {
    const before = gateway.upstream.received.length;
    const balance = (await gateway.credits.level()).balanceMicro;
    const left = Promise.withResolvers<void>();
    gateway.upstream.answer(async ({ closed }) => {
      closed.then(left.resolve);
      await Bun.sleep(gateway.upstream.received.length === before + 1 ? 2_000 : 0);
      return Response.json(chatAnswer());
    });
    // It aborts, so the first fails and frees its key (G-31); what is left of it does not stand in the way.
    const answer = await client.chat.completions.create(question, { ...keyed('late'), timeout: 300 });
    await left.promise;
    expect(answer.choices[0]?.message.content).toBe('Hello.');
    expect(gateway.upstream.received.length - before).toBe(2);
    expect(balance - (await gateway.credits.level()).balanceMicro).toBe(26n);
  });

  test('sees a conflict at once where the body is another one', async () => {
    await client.chat.completions.create(question, keyed('used'));
    sent = 0;
    const other = { ...question, max_tokens: 1 };
    const error = await client.chat.completions.create(other, keyed('used')).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.ConflictError);
    expect(error).toMatchObject({ status: 409, code: null, type: 'invalid_request_error' });
    expect(sent).toBe(1);
  });
});
