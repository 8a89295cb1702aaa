import { beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, streamOf, usageChunk } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [], max_tokens: 10 };
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;
const streamed = { ...body, stream: true };

const question = { model: 'svc/chat-default', messages: [{ role: 'user' as const, content: 'Hi' }] };
const keyed = (key: string) => ({ headers: { 'Idempotency-Key': key } });

const gateway = useResource(() => openGateway({ maxAnswerBytes: 20_000 }));

const balance = async () => (await gateway.credits.level()).balanceMicro;
const asked = () => gateway.upstream.received.length;
const wasReplayed = ({ headers }: Response) => headers.get('idempotent-replayed') === 'true';

async function opened() {
  const { rawKey, id } = await gateway.mint({ requestsPerMinute: 1_000 });
  const call = (key: string, what: unknown = body, init: RequestInit = {}, path = '/chat/completions') =>
    post(`${gateway.url}${path}`, rawKey, what, { ...init, ...keyed(key) });
  const rows = () => gateway.parts.database.query('select * from idempotency_keys where key_id = $1', [id]);
  return { call, keyId: id, rows, since: { asked: asked(), balance: await balance() } };
}

/** Each call of the upstream waits for its own gate, and has its own answer. */
function gatedAnswers() {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  let count = 0;
  gateway.upstream.answer(async () => {
    const gate = gates[count];
    count += 1;
    const id = `chatcmpl-${count}`;
    await gate?.promise;
    return Response.json(chatAnswer({ id }));
  });
  return gates;
}

describe('G-47 a repeat of an answered call', () => {
  test('gets the same bytes and the first request id, calls no upstream and is not charged', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
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
    expect([asked() - since.asked, since.balance - (await balance())]).toEqual([1, COST_MICRO]);
    const [charged, replayed] = await gateway.calls(keyId, 2);
    expect(charged).toMatchObject({ outcome: 'SUCCEEDED', reason: null, charge_micro: COST_MICRO });
    const free = { prompt_tokens: null, charge_micro: 0n, price_id: null, alias: null };
    expect(replayed).toMatchObject({ outcome: 'SUCCEEDED', reason: 'replayed', http_status: 200, ...free });
    expect(Number(again.headers.get('x-ratelimit-remaining-requests'))).toBe(998);
  });

  test('of a stream gets the same bytes as one stream, up to its [DONE]', async () => {
    gateway.upstream.answer(() => streamOf(': hello\n\n', chunk('Hel'), chunk('lo'), usageChunk, done));
    const { call, since } = await opened();
    const text = await (await call('stream-1', streamed)).text();
    expect(text).toEndWith(done);
    const again = await call('stream-1', streamed);
    expect(again.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(again.headers.get('cache-control')).toBe('no-cache');
    expect(await again.text()).toBe(text);
    expect([asked() - since.asked, since.balance - (await balance())]).toEqual([1, COST_MICRO]);
  });

  test('passes on an empty balance, but not without a valid key, its model or a free request per minute', async () => {
    const own = await openGateway({ balanceMicro: 1n });
    const { rawKey } = await own.mint({ requestsPerMinute: 2, models: ['svc/chat-default'] });
    const call = (raw: string, what: unknown = body) =>
      post(`${own.url}/chat/completions`, raw, what, keyed('k'));
    expect((await call(rawKey)).status).toBe(200);
    expect((await own.credits.level()).balanceMicro).toBeLessThan(0n);
    expect((await refusalOf(post(`${own.url}/chat/completions`, rawKey, body))).status).toBe(402);
    expect(wasReplayed(await call(rawKey))).toBe(true);
    expect((await refusalOf(call(rawKey))).status).toBe(429);
    expect((await refusalOf(call('nonsense'))).status).toBe(401);
    expect((await refusalOf(call(rawKey, { ...body, model: 'svc/chat-premium' }))).status).toBe(403);
    await own.close();
  });
});

describe('G-47 an idempotency key in use', () => {
  test('while the first runs: 409 in the envelope, with a Retry-After', async () => {
    const [gate] = gatedAnswers();
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
    expect(wasReplayed(await call('slow'))).toBe(true);
  });

  test('with another body or on another route: 409, which no client library retries', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { call, since } = await opened();
    await call('used');
    for (const other of [call('used', `${JSON.stringify(body)} `), call('used', body, {}, '/completions')]) {
      const refused = await refusalOf(other);
      expect(refused).toMatchObject({ status: 409, type: 'invalid_request_error', code: null });
      expect(refused.message).toContain('another request');
      expect(refused.headers.get('x-should-retry')).toBe('false');
    }
    expect(asked() - since.asked).toBe(1);
  });

  test('an answer past the bound is not stored: a repeat is 409 and never charged again', async () => {
    const long = 'x'.repeat(20_000);
    const choices = [{ index: 0, message: { role: 'assistant', content: long }, finish_reason: 'stop' }];
    for (const stream of [false, true]) {
      gateway.upstream.answer(() =>
        stream ? streamOf(chunk(long), usageChunk, done) : Response.json(chatAnswer({ choices })),
      );
      const { call, since } = await opened();
      expect(await (await call('long', { ...body, stream })).text()).toContain(long);
      const refused = await refusalOf(call('long', { ...body, stream }));
      expect(refused).toMatchObject({ status: 409, code: null });
      expect(refused.message).toContain('too large');
      expect(refused.headers.get('x-should-retry')).toBe('false');
      expect([asked() - since.asked, since.balance - (await balance())]).toEqual([1, COST_MICRO]);
    }
  });

  test('whose stored answer cannot be decrypted: 409', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { call, keyId } = await opened();
    await call('damaged');
    const damaged = 'set_byte(sealed_answer, 40, 255 - get_byte(sealed_answer, 40))';
    await gateway.parts.database.query(
      `update idempotency_keys set sealed_answer = ${damaged} where key_id = $1`,
      [keyId],
    );
    expect((await refusalOf(call('damaged'))).status).toBe(409);
  });

  test('a repeat after the lease runs again; the first to commit is charged, the other costs nothing', async () => {
    const [firstGate, secondGate] = gatedAnswers();
    const { call, keyId, since } = await opened();
    const first = call('paused');
    await until(() => asked() === since.asked + 1);
    // As if its process had said nothing for a minute.
    await gateway.parts.database.query(
      "update idempotency_keys set leased_until = now() - interval '1 second' where key_id = $1",
      [keyId],
    );
    const second = call('paused');
    await until(() => asked() === since.asked + 2);
    secondGate.resolve();
    const kept = await (await second).text();
    firstGate.resolve();
    const late = await first;
    expect(late.status).toBe(200);
    expect(await late.text()).not.toBe(kept);
    expect(await (await call('paused')).text()).toBe(kept);
    expect(since.balance - (await balance())).toBe(COST_MICRO);
    const rows = (await gateway.calls(keyId, 3)).filter(({ target_id }) => target_id !== null);
    const ended = rows.map(({ outcome, reason }) => `${outcome} ${reason}`);
    expect(ended.sort()).toEqual(['FAILED superseded', 'SUCCEEDED null']);
    await until(async () => (await gateway.credits.held()) === 0);
    expect(gateway.idempotency.runningCount()).toBe(0);
  });
});

describe('G-47 a call that is not charged releases its key', () => {
  test.each([
    ['that fails', body, () => new Response(null, { status: 500 })],
    ['without usage', body, () => Response.json(chatAnswer({ usage: undefined }))],
    [
      'whose stream breaks after its usage',
      streamed,
      () => streamOf(chunk('half'), usageChunk, 'data: {"error":{"message":"x"}}\n\n'),
    ],
  ])('%s', async (_, what, answer) => {
    const { call, rows, since } = await opened();
    gateway.upstream.answer(answer);
    await (await call('again', what)).text();
    expect(await rows()).toEqual([]);
    gateway.upstream.answer(() =>
      what === streamed ? streamOf(chunk('whole'), usageChunk, done) : Response.json(chatAnswer()),
    );
    const second = await call('again', what);
    await second.text();
    expect([second.status, wasReplayed(second)]).toEqual([200, false]);
    expect(since.balance - (await balance())).toBe(COST_MICRO);
  });
});

test('G-47 a client that disconnects after the usage is charged, and a repeat gets what had arrived by then, at no charge', async () => {
  const stream = openStream();
  gateway.upstream.answer(() => stream.response);
  stream.send(chunk('Hel') + usageChunk);
  const { call, keyId, since } = await opened();
  const stop = new AbortController();
  const response = await call('left', streamed, { signal: stop.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!text.includes('"usage"')) text += new TextDecoder().decode((await reader.read()).value);
  stop.abort();
  await reader.cancel().catch(() => {});
  await stream.left;
  await gateway.calls(keyId, 1);
  const again = await call('left', streamed);
  expect([wasReplayed(again), await again.text()]).toEqual([true, text]);
  expect([asked() - since.asked, since.balance - (await balance())]).toEqual([1, COST_MICRO]);
});

test('G-47 the header is refused by its name where it is empty, too long or not printable', async () => {
  const { call, rows, since } = await opened();
  for (const wrong of ['', 'x'.repeat(256), 'clé', 'tab\there']) {
    const refused = await refusalOf(call(wrong));
    expect(refused).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'Idempotency-Key' });
    expect(refused.message).toContain('Idempotency-Key');
  }
  expect(asked()).toBe(since.asked);
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  for (const right of ['x'.repeat(255), '"quoted, with \\ and \'"']) {
    expect((await call(right)).status).toBe(200);
    expect(wasReplayed(await call(right))).toBe(true);
  }
  expect(await rows()).toHaveLength(2);
});

describe('G-47 while the database is unavailable', () => {
  test('a call with the header gets 503 and calls no upstream; one without continues', async () => {
    const own = await openGateway();
    const { rawKey } = await own.mint();
    const send = (headers: Record<string, string>) =>
      post(`${own.url}/chat/completions`, rawKey, body, { headers });
    expect((await send({})).status).toBe(200);
    own.outage.isUnavailable = true;
    const refused = await refusalOf(send({ 'idempotency-key': 'k' }));
    expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    expect(refused.message).toContain('Idempotency keys');
    expect(own.upstream.received).toHaveLength(1);
    expect((await send({})).status).toBe(200);
    own.outage.isUnavailable = false;
    await until(async () => (await send({ 'idempotency-key': 'k' })).status === 200);
    await own.close();
  });

  test('a call that ends then is journaled with its answer: charged once, and replayed', async () => {
    const own = await openGateway();
    const stream = openStream();
    own.upstream.answer(() => stream.response);
    const { rawKey, id } = await own.mint();
    const before = (await own.credits.level()).balanceMicro;
    const send = () => post(`${own.url}/chat/completions`, rawKey, streamed, keyed('k'));
    stream.send(chunk('Hel'));
    const first = await send();
    own.outage.isUnavailable = true;
    stream.send(chunk('lo') + usageChunk + done);
    stream.end();
    const text = await first.text();
    expect(text).toEndWith(done);
    // It has its key until it is charged.
    expect(own.idempotency.runningCount()).toBe(1);
    own.outage.isUnavailable = false;
    await until(async () => (await own.credits.level()).balanceMicro === before - COST_MICRO);
    await until(() => own.idempotency.runningCount() === 0);
    const again = await send();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('original-request-id')).toBe(first.headers.get('x-request-id'));
    expect(await again.text()).toBe(text);
    expect(own.upstream.received).toHaveLength(1);
    expect((await own.calls(id, 2)).map(({ charge_micro }) => charge_micro)).toEqual([COST_MICRO, 0n]);
    await own.close();
  });
});

describe('races for a key', () => {
  const gateway = useResource(() => openGateway());
  beforeAll(async () => {
    // All look before any of them claims: the claim alone decides.
    Object.assign(gateway.idempotency, { find: async () => 'free' });
  });

  async function opened() {
    const { rawKey, id } = await gateway.mint();
    const call = (what: unknown = body) => post(`${gateway.url}/chat/completions`, rawKey, what, keyed('k'));
    return { call, keyId: id };
  }

  test('G-47 a call that loses the race for a key holds nothing; if the key is answered by then it gets the answer, free', async () => {
    const gate = Promise.withResolvers<void>();
    gateway.upstream.answer(async () => {
      await gate.promise;
      return Response.json(chatAnswer());
    });
    const before = (await gateway.credits.level()).balanceMicro;
    const { call, keyId } = await opened();
    const first = call();
    await until(() => gateway.upstream.received.length === 1);
    const held = await gateway.credits.held();
    expect(held).toBeGreaterThan(0);
    for (const refused of await Promise.all(Array.from({ length: 10 }, () => refusalOf(call())))) {
      expect(refused.status).toBe(409);
    }
    expect((await refusalOf(call({ ...body, max_tokens: 1 }))).message).toContain('another request');
    expect(await gateway.credits.held()).toBe(held);
    gate.resolve();
    const text = await (await first).text();
    const again = await call();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(text);
    expect(await gateway.credits.held()).toBe(0);
    expect(before - (await gateway.credits.level()).balanceMicro).toBe(COST_MICRO);
    expect(gateway.upstream.received).toHaveLength(1);
    const rows = await gateway.calls(keyId, 13);
    expect(rows.map(({ outcome, reason }) => reason ?? outcome).sort()).toEqual([
      'SUCCEEDED',
      ...Array.from({ length: 11 }, () => 'idempotencyConflict'),
      'replayed',
    ]);
  });

  test('G-47 a database that fails between the look-up and the claim: 503, nothing held, no upstream called', async () => {
    const { call } = await opened();
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const asked = gateway.upstream.received.length;
    const { claim } = gateway.idempotency;
    Object.assign(gateway.idempotency, { claim: async () => 'away' });
    expect((await refusalOf(call())).status).toBe(503);
    Object.assign(gateway.idempotency, { claim: () => Promise.reject(new Error('unforeseen')) });
    expect((await refusalOf(call())).status).toBe(503);
    Object.assign(gateway.idempotency, { claim });
    expect(await gateway.credits.held()).toBe(0);
    expect(gateway.upstream.received).toHaveLength(asked);
  });
});

describe('G-47 the official openai client, with the header on its requests', () => {
  let client: OpenAI;
  let sent = 0;
  /** Ends requests as the client's own time-out does. */
  let timeOut: AbortController | null = null;

  beforeAll(async () => {
    const { rawKey } = await gateway.mint();
    const counted = (url: string | URL | Request, init?: RequestInit) => {
      sent += 1;
      const signals = [init?.signal, timeOut?.signal].filter((signal) => !!signal);
      return fetch(url, { ...init, signal: AbortSignal.any(signals) });
    };
    client = new OpenAI({ baseURL: gateway.url, apiKey: rawKey, fetch: counted });
  });

  test('retries by itself after a time-out and pays once', async () => {
    const before = gateway.upstream.received.length;
    const balance = (await gateway.credits.level()).balanceMicro;
    const left = Promise.withResolvers<void>();
    timeOut = new AbortController();
    gateway.upstream.answer(async ({ closed }) => {
      if (gateway.upstream.received.length > before + 1) return Response.json(chatAnswer());
      timeOut?.abort();
      timeOut = null;
      await closed.then(left.resolve);
      return new Response();
    });
    // It aborts, so the first fails and frees its key (G-31); what is left of it does not stand in the way.
    const answer = await client.chat.completions.create(question, keyed('late'));
    await left.promise;
    expect(answer.choices[0]?.message.content).toBe('Hello.');
    expect(gateway.upstream.received.length - before).toBe(2);
    expect(balance - (await gateway.credits.level()).balanceMicro).toBe(26n);
  });

  test('gets a conflict at once where the body differs', async () => {
    await client.chat.completions.create(question, keyed('used'));
    sent = 0;
    const other = { ...question, max_tokens: 1 };
    const error = await client.chat.completions.create(other, keyed('used')).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.ConflictError);
    expect(error).toMatchObject({ status: 409, code: null, type: 'invalid_request_error' });
    expect(sent).toBe(1);
  });
});
