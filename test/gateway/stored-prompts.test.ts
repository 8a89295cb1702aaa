import { describe, expect, test } from 'bun:test';
import { readPayload } from '../../src/domain/call-payloads/call-payloads.ts';
import { createAnswerCipher } from '../../src/domain/calls/idempotency/answer-cipher.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, streamOf, usageChunk } from './scripted-upstream.ts';

const QUESTION = 'What does ada@mail.example want?';
const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: QUESTION }] };

describe('prompts and answers of calls', () => {
  const gateway = useResource(() => openGateway());

  const read = async (requestId: string, companyId = gateway.companyId) => {
    const { database, secrets, clock } = gateway.parts;
    const cipher = createAnswerCipher({ masterKeys: ['a master key of sufficient length'], secrets });
    return await readPayload({ cipher, clock }, database, companyId, requestId);
  };
  const stored = async (requestId: string) => {
    await until(async () => (await read(requestId)) !== null);
    const found = await read(requestId);
    return { ...found, request: JSON.parse(found?.request ?? ''), response: found?.response ?? null };
  };
  const rows = async (keyId: string) =>
    await gateway.parts.database.query('select * from call_payloads where key_id = $1', [keyId]);

  test('are stored for a key that has opted in, and not by default', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const plain = await gateway.mint();
    await (await post(`${gateway.url}/chat/completions`, plain.rawKey, body)).text();
    const logging = await gateway.mint({ logPayloads: true });
    const answered = await post(`${gateway.url}/chat/completions`, logging.rawKey, {
      ...body,
      user: 'user-7',
    });
    const text = await answered.text();
    const found = await stored(answered.headers.get('x-request-id') ?? '');
    expect(found.request.messages[0].content).toBe('What does [redacted email] want?');
    expect([found.response, found.endpoint]).toEqual([text, 'chat/completions']);
    const [row] = await rows(logging.id);
    expect(row).toMatchObject({ end_user: 'user-7', company_id: gateway.companyId });
    const [call] = await gateway.calls(logging.id, 1);
    expect(row?.call_id).toBe(call?.id);
    expect(await rows(plain.id)).toEqual([]);
  });

  test('of streams are stored joined, so that a pattern that is split over events is found', async () => {
    const { rawKey } = await gateway.mint({ logPayloads: true });
    gateway.upstream.answer(() =>
      streamOf(chunk('Write to bob@'), chunk('mail.exa'), chunk('mple today'), usageChunk, done),
    );
    const answered = await post(`${gateway.url}/chat/completions`, rawKey, { ...body, stream: true });
    await answered.text();
    const { response } = await stored(answered.headers.get('x-request-id') ?? '');
    expect(JSON.parse(response ?? '').choices[0].message.content).toBe('Write to [redacted email] today');
  });

  test('of embeddings, responses, messages and tools of MCP are stored too', async () => {
    const { rawKey, id } = await gateway.mint({ logPayloads: true });
    const cases: readonly [string, object, object][] = [
      ['/embeddings', { model: 'svc/embed-default', input: 'Hi' }, { data: [], usage: { prompt_tokens: 1 } }],
      [
        '/responses',
        { model: 'svc/chat-default', input: 'Hi', store: false },
        { id: 'resp_1', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 1 } },
      ],
      ['/messages', { ...body, max_tokens: 5 }, chatAnswer()],
      ['/completions', { model: 'svc/chat-default', prompt: 'Hi' }, chatAnswer()],
    ];
    for (const [path, what, answer] of cases) {
      gateway.upstream.answer(() => Response.json(answer));
      const answered = await post(`${gateway.url}${path}`, rawKey, what);
      expect([path, answered.status]).toEqual([path, 200]);
      const text = await answered.text();
      expect((await stored(answered.headers.get('x-request-id') ?? '')).response).toBe(text);
    }
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const params = { name: 'chat', arguments: { model: 'svc/chat-default', prompt: 'By a tool' } };
    const headers = { accept: 'application/json, text/event-stream', 'x-request-id': 'req_of_a_tool' };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    await (await post(`${gateway.url}/mcp`, rawKey, message, { headers })).text();
    expect((await stored('req_of_a_tool')).request.messages[0].content).toBe('By a tool');
    expect(await rows(id)).toHaveLength(5);
  });

  test('of failed calls have the request and the part of the answer that arrived; of refused calls nothing is stored', async () => {
    const { rawKey, id } = await gateway.mint({ logPayloads: true });
    const call = (requestId: string, what: object) =>
      post(`${gateway.url}/chat/completions`, rawKey, what, { headers: { 'x-request-id': requestId } });
    gateway.upstream.answer(() => Response.json({ error: { message: 'no' } }, { status: 400 }));
    await (await call('req_refused_there', body)).text();
    expect(await stored('req_refused_there')).toMatchObject({ response: null });
    const { response, send, fail } = openStream();
    gateway.upstream.answer(() => response);
    send(chunk('Half'));
    const broken = await call('req_broken', { ...body, stream: true });
    fail();
    await broken.text();
    expect((await stored('req_broken')).response).toContain('Half');
    await (await call('req_refused_here', { ...body, model: 'svc/none' })).text();
    expect(await rows(id)).toHaveLength(2);
  });

  test('are cut to their bound, a cache hit is stored like any answer, and no log has a word of them', async () => {
    const { rawKey } = await gateway.mint({ logPayloads: true, cacheTtlSeconds: 60 });
    gateway.upstream.answer(() => Response.json(chatAnswer({ pad: 'ANSWERWORD'.repeat(3_000) })));
    const large = { ...body, pad: 'PROMPTWORD'.repeat(300) };
    for (const id of ['req_large', 'req_hit']) {
      const headers = { 'x-request-id': id };
      await (await post(`${gateway.url}/chat/completions`, rawKey, large, { headers })).text();
      await until(async () => (await read(id)) !== null);
      const found = await read(id);
      expect(found).toMatchObject({ isRequestCut: true, isResponseCut: true });
      for (const text of [found?.request, found?.response]) {
        expect(text?.length).toBeLessThan(2_100);
        expect(text).toEndWith(' … [cut: the rest is not stored]');
      }
    }
    expect(JSON.stringify(gateway.entries)).not.toMatch(/PROMPTWORD|ANSWERWORD|ada@mail/);
  });
});

describe('PAYLOAD_MAX_RETENTION_DAYS=0', () => {
  const gateway = useResource(() => openGateway({ payloads: { maxRetentionDays: 0 } }));

  test('stores nothing, whatever keys say', async () => {
    const { rawKey, id } = await gateway.mint({ logPayloads: true });
    await (await post(`${gateway.url}/chat/completions`, rawKey, body)).text();
    await gateway.calls(id, 1);
    expect(await gateway.parts.database.query('select 1 from call_payloads')).toEqual([]);
  });
});
