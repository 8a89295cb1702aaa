import { describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [], max_tokens: 10 };
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;

const gateway = useResource(() => openGateway({ maxAnswerBytes: 20_000 }));

const balance = async () => (await gateway.credits.level()).balanceMicro;
const asked = () => gateway.upstream.received.length;

async function opened() {
  const { rawKey, id } = await gateway.mint({ requestsPerMinute: 1_000 });
  const call = (key: string, what: unknown = body, path = '/chat/completions') =>
    post(`${gateway.url}${path}`, rawKey, what, { headers: { 'idempotency-key': key } });
  return { call, keyId: id, rawKey, since: { asked: asked(), balance: await balance() } };
}

/** An upstream that answers when told to, each answer another one. */
function heldAnswers() {
  const gate = Promise.withResolvers<void>();
  let count = 0;
  gateway.upstream.answer(async () => {
    count += 1;
    const id = `chatcmpl-${count}`;
    await gate.promise;
    return Response.json(chatAnswer({ id }));
  });
  return gate;
}

describe('G-47 a repeat of an answered call', () => {
  test('gets the same bytes and the first request id, asks no upstream and is not charged', async () => {
    heldAnswers().resolve();
    const { call, keyId, since } = await opened();
    const first = await call('order-1');
    const text = await first.text();
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const again = await call('order-1');
    expect(await again.text()).toBe(text);
    expect([again.status, again.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const requestId = first.headers.get('x-request-id');
    expect(again.headers.get('original-request-id')).toBe(requestId);
    expect(again.headers.get('x-request-id')).not.toBe(requestId);
    expect(asked() - since.asked).toBe(1);
    expect(since.balance - (await balance())).toBe(COST_MICRO);
    const [charged, replayed] = await gateway.calls(keyId, 2);
    expect(charged).toMatchObject({ outcome: 'SUCCEEDED', reason: null, charge_micro: COST_MICRO });
    const free = { prompt_tokens: null, charge_micro: 0n, price_id: null, alias: null };
    expect(replayed).toMatchObject({ outcome: 'SUCCEEDED', reason: 'replayed', http_status: 200, ...free });
    expect(Number(again.headers.get('x-ratelimit-remaining-requests'))).toBe(998);
  });

  test('of a stream gets the same bytes as one stream, up to its [DONE]', async () => {
    gateway.upstream.answer(() => streamOf(': hello\n\n', chunk('Hel'), chunk('lo'), usageChunk, done));
    const { call, since } = await opened();
    const streamed = { ...body, stream: true };
    const text = await (await call('stream-1', streamed)).text();
    expect(text).toEndWith(done);
    const again = await call('stream-1', streamed);
    expect(again.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(again.headers.get('cache-control')).toBe('no-cache');
    expect(await again.text()).toBe(text);
    expect(asked() - since.asked).toBe(1);
    expect(since.balance - (await balance())).toBe(COST_MICRO);
  });

  test('works on completions and embeddings, and keeps bytes that are no UTF-8', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const broken = Buffer.from(JSON.stringify({ id: 'c', text: 'XX', usage }));
    broken.set([0xff, 0xfe], broken.indexOf('XX'));
    gateway.upstream.answer(() => new Response(broken, { headers: { 'content-type': 'application/json' } }));
    const { call, since } = await opened();
    for (const [path, what] of [
      ['/completions', { model: 'svc/chat-default', prompt: 'x' }],
      ['/embeddings', { model: 'svc/embed-default', input: 'x' }],
    ] as const) {
      const first = await (await call(`on ${path}`, what, path)).bytes();
      const again = await call(`on ${path}`, what, path);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await again.bytes()).toEqual(first);
    }
    expect(asked() - since.asked).toBe(2);
  });

  test('passes on an empty balance, but not without a valid key, its model or a free request a minute', async () => {
    const own = await openGateway({ balanceMicro: 1n });
    const { rawKey } = await own.mint({ requestsPerMinute: 2, models: ['svc/chat-default'] });
    const call = (raw: string, what: unknown = body) =>
      post(`${own.url}/chat/completions`, raw, what, { headers: { 'idempotency-key': 'k' } });
    expect((await call(rawKey)).status).toBe(200);
    expect((await own.credits.level()).balanceMicro).toBeLessThan(0n);
    expect((await refusalOf(post(`${own.url}/chat/completions`, rawKey, body))).status).toBe(402);
    expect((await call(rawKey)).headers.get('idempotent-replayed')).toBe('true');
    expect((await refusalOf(call(rawKey))).status).toBe(429);
    expect((await refusalOf(call('nonsense'))).status).toBe(401);
    expect((await refusalOf(call(rawKey, { ...body, model: 'svc/chat-premium' }))).status).toBe(403);
    await own.close();
  });
});

describe('G-47 a key that is taken', () => {
  test('fifty the same at once: one upstream call, one charge, 409 to the others, then the answer to all', async () => {
    const gate = heldAnswers();
    const { call, keyId, since } = await opened();
    const all = Array.from({ length: 50 }, () => call('at-once'));
    await until(async () => {
      const rows = await gateway.parts.database.query(
        "select 1 from calls where key_id = $1 and outcome = 'REFUSED'",
        [keyId],
      );
      return rows.length === 49;
    });
    gate.resolve();
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(49);
    const again = await Promise.all(Array.from({ length: 50 }, () => call('at-once')));
    expect(again.every(({ headers }) => headers.get('idempotent-replayed') === 'true')).toBe(true);
    expect(new Set(await Promise.all(again.map((one) => one.text()))).size).toBe(1);
    expect(asked() - since.asked).toBe(1);
    expect(since.balance - (await balance())).toBe(COST_MICRO);
    expect(await gateway.credits.held()).toBe(0);
  });

  test('while the first runs: 409 in the envelope, with the time to wait', async () => {
    const gate = heldAnswers();
    const { call, since } = await opened();
    const first = call('slow');
    await until(() => asked() === since.asked + 1);
    const refused = await refusalOf(call('slow'));
    expect(refused).toMatchObject({ status: 409, type: 'invalid_request_error', code: null });
    expect(refused.message).toContain('is still running');
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(refused.headers.get('x-should-retry')).toBeNull();
    gate.resolve();
    expect((await first).status).toBe(200);
    expect((await call('slow')).headers.get('idempotent-replayed')).toBe('true');
  });

  test('with another body or on another route: 409, and no library tries that again', async () => {
    heldAnswers().resolve();
    const { call, since } = await opened();
    await call('used');
    for (const other of [
      call('used', { ...body, max_tokens: 11 }),
      call('used', `${JSON.stringify(body)} `),
      call('used', body, '/completions'),
    ]) {
      const refused = await refusalOf(other);
      expect(refused).toMatchObject({ status: 409, type: 'invalid_request_error', code: null });
      expect(refused.message).toContain('another request');
      expect(refused.headers.get('x-should-retry')).toBe('false');
    }
    expect(asked() - since.asked).toBe(1);
    expect((await call('used')).headers.get('idempotent-replayed')).toBe('true');
  });

  test('is taken for one API key alone', async () => {
    heldAnswers().resolve();
    const [one, other] = [await opened(), await opened()];
    await one.call('mine');
    expect((await other.call('mine')).headers.get('idempotent-replayed')).toBeNull();
    expect(asked() - one.since.asked).toBe(2);
  });

  test('an answer past the bound is not kept: a repeat is 409 and never charged again', async () => {
    for (const stream of [false, true]) {
      const long = 'x'.repeat(20_000);
      const choices = [{ index: 0, message: { role: 'assistant', content: long }, finish_reason: 'stop' }];
      gateway.upstream.answer(() =>
        stream ? streamOf(chunk(long), usageChunk, done) : Response.json(chatAnswer({ choices })),
      );
      const { call, since } = await opened();
      expect(await (await call('long', { ...body, stream })).text()).toContain(long);
      const refused = await refusalOf(call('long', { ...body, stream }));
      expect(refused).toMatchObject({ status: 409, code: null });
      expect(refused.message).toContain('too large');
      expect(refused.headers.get('x-should-retry')).toBe('false');
      expect(asked() - since.asked).toBe(1);
      expect(since.balance - (await balance())).toBe(COST_MICRO);
    }
  });
});
