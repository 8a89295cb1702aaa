import { describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, streamOf, usageChunk } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [], max_tokens: 10 };
const streamed = { ...body, stream: true };
const COST_MICRO = 26n;

const gateway = useResource(() => openGateway({ idleTimeoutMs: 400 }));

const balance = async () => (await gateway.credits.level()).balanceMicro;
const asked = () => gateway.upstream.received.length;
const rowsOf = (keyId: string) =>
  gateway.parts.database.query('select * from idempotency_keys where key_id = $1', [keyId]);

async function opened() {
  const { rawKey, id } = await gateway.mint();
  const call = (key: string, what: unknown = body, init: RequestInit = {}) =>
    post(`${gateway.url}/chat/completions`, rawKey, what, { ...init, headers: { 'idempotency-key': key } });
  return { call, keyId: id, since: { asked: asked(), balance: await balance() } };
}

describe('G-47 a call that fails frees its key', () => {
  const failures: readonly [string, () => Response, number][] = [
    ['the upstream fails', () => new Response(null, { status: 500 }), 503],
    ['the upstream refuses', () => Response.json({ error: { message: 'no' } }, { status: 400 }), 400],
    ['the answer has no usage', () => Response.json(chatAnswer({ usage: undefined })), 200],
    ['the answer is no JSON', () => new Response('<html>'), 503],
  ];
  for (const [what, answer, status] of failures) {
    test(`where ${what}`, async () => {
      const { call, keyId, since } = await opened();
      gateway.upstream.answer(answer);
      const first = await call('again');
      await first.text();
      expect(first.status).toBe(status);
      expect(await rowsOf(keyId)).toEqual([]);
      gateway.upstream.answer(() => Response.json(chatAnswer()));
      const second = await call('again');
      expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, null]);
      expect((await call('again')).headers.get('idempotent-replayed')).toBe('true');
      expect(since.balance - (await balance())).toBe(COST_MICRO);
    });
  }

  test('where the stream breaks, after its usage too', async () => {
    const { call, keyId } = await opened();
    gateway.upstream.answer(() => streamOf(chunk('half'), usageChunk, 'data: {"error":{"message":"x"}}\n\n'));
    expect(await (await call('broken', streamed)).text()).toContain('LLM_GATEWAY_UNAVAILABLE');
    expect(await rowsOf(keyId)).toEqual([]);
    gateway.upstream.answer(() => streamOf(chunk('whole'), usageChunk, done));
    expect(await (await call('broken', streamed)).text()).toContain('whole');
  });

  test('where it is refused before: no row is ever made', async () => {
    const own = await openGateway({ balanceMicro: 0n });
    const { rawKey, id } = await own.mint();
    const headers = { 'idempotency-key': 'poor' };
    const send = () => post(`${own.url}/chat/completions`, rawKey, body, { headers });
    expect((await refusalOf(send())).status).toBe(402);
    const rows = await own.parts.database.query('select 1 from idempotency_keys where key_id = $1', [id]);
    expect(rows).toEqual([]);
    await own.credits.grant(1_000_000n);
    expect((await send()).status).toBe(200);
    await own.close();
  });
});

describe('G-47 a client that leaves in the middle', () => {
  async function leaveAfter(...events: readonly string[]) {
    const stream = openStream();
    gateway.upstream.answer(() => stream.response);
    for (const event of events) stream.send(event);
    const { call, keyId, since } = await opened();
    const stop = new AbortController();
    const response = await call('left', streamed, { signal: stop.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (text.split('\n\n').length <= events.length) {
      text += new TextDecoder().decode((await reader.read()).value);
    }
    stop.abort();
    await reader.cancel().catch(() => {});
    await stream.left;
    await gateway.calls(keyId, 1);
    return { call, keyId, since, text };
  }

  test('before the usage: failed and free, and the key is free again', async () => {
    const { call, keyId, since } = await leaveAfter(chunk('Hel'), chunk('lo'));
    expect(await rowsOf(keyId)).toEqual([]);
    gateway.upstream.answer(() => streamOf(chunk('anew'), usageChunk, done));
    expect(await (await call('left', streamed)).text()).toContain('anew');
    expect(asked() - since.asked).toBe(2);
    expect(since.balance - (await balance())).toBe(COST_MICRO);
  });

  test('after the usage: charged, and a repeat gets what was there by then, free', async () => {
    const { call, since, text } = await leaveAfter(chunk('Hel'), chunk('lo'), usageChunk);
    const again = await call('left', streamed);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(text);
    expect(asked() - since.asked).toBe(1);
    expect(since.balance - (await balance())).toBe(COST_MICRO);
  });
});

describe('G-47 the header', () => {
  test('is refused by its name where it is empty, too long or not printable', async () => {
    const { call, keyId, since } = await opened();
    for (const wrong of ['', 'x'.repeat(256), 'clé', 'tab\there']) {
      const refused = await refusalOf(call(wrong));
      expect(refused).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'Idempotency-Key' });
      expect(refused.message).toContain('Idempotency-Key');
    }
    expect(asked()).toBe(since.asked);
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    for (const right of ['x', 'x'.repeat(255), '"quoted, with \\ and \'"']) {
      expect((await call(right)).status).toBe(200);
      expect((await call(right)).headers.get('idempotent-replayed')).toBe('true');
    }
    expect(await rowsOf(keyId)).toHaveLength(3);
  });

  test('means nothing on a read', async () => {
    const { rawKey } = await gateway.mint();
    const headers = { authorization: `Bearer ${rawKey}`, 'idempotency-key': 'read' };
    const response = await fetch(`${gateway.url}/models`, { headers });
    expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });

  test('at rest: no word of the answer is in the row', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { call, keyId } = await opened();
    expect(await (await call('secret')).text()).toContain('Hello.');
    const [row] = await rowsOf(keyId);
    const sealed = new TextDecoder().decode(row?.sealed_answer as Uint8Array);
    expect(sealed).not.toContain('Hello.');
    expect(sealed).not.toContain('chatcmpl');
    await gateway.parts.database.query(
      'update idempotency_keys set sealed_answer = set_byte(sealed_answer, 40, 255 - get_byte(sealed_answer, 40)) where key_id = $1',
      [keyId],
    );
    expect((await refusalOf(call('secret'))).status).toBe(409);
    await until(() => gateway.entries.some(({ message }) => message.includes('does not open')));
  });
});
