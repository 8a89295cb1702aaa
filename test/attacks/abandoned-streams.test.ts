import { afterEach, describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import {
  type GatewayOptions,
  type GatewayUnderTest,
  openGateway,
  post,
  refusalOf,
} from '../gateway/gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, streamOf, usageChunk } from '../gateway/scripted-upstream.ts';
import { usePostgres } from '../setup/use-postgres.ts';
import { describeServers, useRedis } from '../setup/use-redis.ts';

const body = { model: 'svc/chat-default', messages: [], stream: true, max_tokens: 100 };
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;

let gateway: GatewayUnderTest;
afterEach(() => gateway.close());

async function open(
  abandonedStreams: NonNullable<GatewayOptions['abandonedStreams']>,
  options: Pick<GatewayOptions, 'idleTimeoutMs'> = {},
) {
  gateway = await openGateway({ abandonedStreams, ...options });
  return gateway;
}

const send = (rawKey: string, changes = {}, init: RequestInit = {}) =>
  post(`${gateway.url}/chat/completions`, rawKey, { ...body, ...changes }, init);

/** A stream whose client has read its first event. */
async function begun(rawKey: string, changes = {}, first = chunk('first ')) {
  const stream = openStream();
  gateway.upstream.answer(() => stream.response);
  stream.send(first);
  const stop = new AbortController();
  const response = await send(rawKey, changes, { signal: stop.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  const left = { isAborted: false };
  void stream.left.then(() => {
    left.isAborted = true;
  });
  const leave = async () => {
    stop.abort();
    await reader.cancel().catch(() => {});
  };
  return { stream, leave, left };
}

/** A stream whose client has left and which the gateway drains. */
async function draining(rawKey: string, changes = {}, first?: string) {
  const { stream, leave, left } = await begun(rawKey, changes, first);
  await leave();
  await until(() => gateway.abandoned.draining() === 1);
  return { stream, left };
}

/** Leaves, lets the gateway notice, then ends the stream with its usage. */
async function abandoned(rawKey: string): Promise<void> {
  const { stream, leave, left } = await begun(rawKey);
  const before = gateway.abandoned.counts();
  await leave();
  const isNoted = () => left.isAborted || gateway.abandoned.draining() > 0;
  await until(isNoted);
  if (left.isAborted) return;
  stream.send(chunk('more') + usageChunk + done);
  stream.end();
  await until(() => gateway.abandoned.counts().billed > before.billed);
}

const reasons = async (keyId: string, count: number) =>
  (await gateway.calls(keyId, count)).map(({ outcome, reason }) => `${outcome} ${reason}`);
const balance = async () => (await gateway.credits.level()).balanceMicro;

describe('G-31 ABANDONED_STREAMS=drain', () => {
  test('the upstream is read to its usage and charged, and meanwhile the call keeps its hold and its slot', async () => {
    await open({ mode: 'drain' });
    const { rawKey, id } = await gateway.mint({ maxCallsInFlight: 1 });
    const before = await balance();
    const { stream, leave, left } = await begun(rawKey);
    const held = await gateway.credits.held();
    await leave();
    await until(() => gateway.abandoned.draining() === 1);
    expect(await gateway.credits.held()).toBe(held);
    const refused = await refusalOf(send(rawKey));
    expect(refused).toMatchObject({ status: 429 });
    expect(refused.message).toContain('calls in flight');
    stream.send(chunk('more'));
    stream.send(usageChunk + done);
    stream.end();
    const rows = await gateway.calls(id, 2);
    expect(rows.find(({ outcome }) => outcome !== 'REFUSED')).toMatchObject({
      ...{ outcome: 'SUCCEEDED', reason: 'drained', prompt_tokens: 7n, charge_micro: COST_MICRO },
    });
    expect(left.isAborted).toBe(false);
    await until(async () => (await gateway.credits.held()) === 0);
    expect(await balance()).toBe(before - COST_MICRO);
  });

  test('it is bounded in time; without usage by then the call is failed and not charged', async () => {
    // The upstream could be idle for far longer.
    await open({ mode: 'drain', drainMs: 50 }, { idleTimeoutMs: 600_000 });
    const { rawKey, id } = await gateway.mint();
    const before = await balance();
    const { stream, leave } = await begun(rawKey);
    await leave();
    await stream.left;
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', reason: 'drained-without-usage', charge_micro: 0n });
    expect(Number(row?.estimated_tokens)).toBeGreaterThan(0);
    expect(await balance()).toBe(before);
    const zeros = await begun(rawKey, {}, chunk('a', { usage: { prompt_tokens: 7, completion_tokens: 0 } }));
    await zeros.leave();
    await zeros.stream.left;
    expect((await reasons(id, 2)).at(1)).toBe('FAILED drained-without-usage');
    // Within the free places no call is slowed down for it.
    expect(gateway.abandoned.isLimited(gateway.companyId)).toBe(false);
  });

  test('a stream that the upstream breaks off is not charged, as without a disconnect', async () => {
    await open({ mode: 'drain' });
    const { rawKey, id } = await gateway.mint();
    const { stream } = await draining(rawKey);
    stream.send(`${usageChunk}data: {"error":{"message":"overloaded"}}\n\n`);
    expect(await reasons(id, 1)).toEqual(['FAILED drained-without-usage']);
  });

  test('a process that stops aborts the streams it drains', async () => {
    await open({ mode: 'drain' });
    const { rawKey, id } = await gateway.mint();
    const { stream } = await draining(rawKey);
    await gateway.abandoned.close();
    await stream.left;
    expect(await reasons(id, 1)).toEqual(['FAILED drained-without-usage']);
  });
});

describe('G-31 ABANDONED_STREAMS=free', () => {
  test('a number per hour is free for a key, further ones are drained and charged; usage and metrics show it', async () => {
    await open({ mode: 'free', freePerHour: 2 });
    const { rawKey, id } = await gateway.mint();
    const before = await balance();
    for (let n = 0; n < 4; n += 1) await abandoned(rawKey);
    expect(await reasons(id, 4)).toEqual([
      'FAILED client-left',
      'FAILED client-left',
      'SUCCEEDED drained-beyond-free',
      'SUCCEEDED drained-beyond-free',
    ]);
    expect(await balance()).toBe(before - 2n * COST_MICRO);
    expect(gateway.abandoned.counts()).toMatchObject({ free: 2, billed: 2, unbilled: 0, limited: 0 });
    const usage = await fetch(`${gateway.url}/usage`, { headers: { authorization: `Bearer ${rawKey}` } });
    const { limits } = (await usage.json()) as { limits: Record<string, unknown> };
    expect(limits.abandoned_streams_per_hour).toMatchObject({
      ...{ limit: 2, used: 2, remaining: 0, one_stream_at_a_time: false },
    });
    const alerts = gateway.entries.filter(({ message }) => message.includes('keep being abandoned'));
    // Two were beyond the free ones: a repetition is logged when there are ten times as many.
    expect(alerts.map(({ context }) => [context.keyId, context.count])).toEqual([[id, 1]]);
  });

  test('usage of one of several answers does not make a stream paid: beyond the free ones it is drained too', async () => {
    await open({ mode: 'free', freePerHour: 1 });
    const { rawKey, id } = await gateway.mint();
    // As vLLM answers `continuous_usage_stats`: each chunk counts its own choice.
    const first = chunk('a', { usage: { prompt_tokens: 7, completion_tokens: 1 } });
    const free = await begun(rawKey, { n: 2 }, first);
    await free.leave();
    await free.stream.left;
    const beyond = await draining(rawKey, { n: 2 }, first);
    beyond.stream.send(usageChunk + done);
    beyond.stream.end();
    const all = await begun(rawKey, { n: 2 }, first + usageChunk);
    await all.leave();
    const single = await begun(rawKey, {}, first);
    await single.leave();
    const rows = await gateway.calls(id, 4);
    expect(rows.map(({ reason, completion_tokens }) => [reason, completion_tokens])).toEqual([
      [null, 1n],
      ['drained-beyond-free', 5n],
      [null, 5n],
      [null, 1n],
    ]);
  });

  test('zeros in every chunk do not make a stream paid; at its end they are usage', async () => {
    await open({ mode: 'free', freePerHour: 1 });
    const { rawKey, id } = await gateway.mint();
    const zeros = (text: string) => chunk(text, { usage: { prompt_tokens: 7, completion_tokens: 0 } });
    const free = await begun(rawKey, {}, zeros('a'));
    await free.leave();
    await free.stream.left;
    const beyond = await draining(rawKey, {}, zeros('a'));
    beyond.stream.send(zeros('b') + usageChunk + done);
    beyond.stream.end();
    await until(() => gateway.abandoned.draining() === 0);
    const always = await draining(rawKey, {}, zeros('a'));
    always.stream.send(zeros('b') + done);
    always.stream.end();
    // Before any text they count: nothing of the answer was written.
    const silent = await begun(rawKey, {}, zeros(''));
    await silent.leave();
    const rows = await gateway.calls(id, 4);
    expect(rows.map(({ reason, completion_tokens }) => [reason, completion_tokens])).toEqual([
      ['client-left', null],
      ['drained-beyond-free', 5n],
      ['drained-beyond-free', 0n],
      [null, 0n],
    ]);
    expect(Number(rows[0]?.estimated_tokens)).toBeGreaterThan(0);
  });

  test('a company has ten times as many, across all its keys', async () => {
    await open({ mode: 'free', freePerHour: 1 });
    for (let n = 0; n < 10; n += 1) await abandoned((await gateway.mint()).rawKey);
    expect(gateway.abandoned.counts()).toMatchObject({ free: 10, billed: 0 });
    const eleventh = await gateway.mint();
    await abandoned(eleventh.rawKey);
    expect(await reasons(eleventh.id, 1)).toEqual(['SUCCEEDED drained-beyond-free']);
  });
});

test('G-31 a drain that ends without usage limits the company to one stream at a time; complete answers pass', async () => {
  await open({ mode: 'free', freePerHour: 0 });
  const { rawKey } = await gateway.mint();
  const unbilled = await draining(rawKey);
  unbilled.stream.end();
  await until(() => gateway.abandoned.isLimited(gateway.companyId));

  const only = await begun((await gateway.mint()).rawKey);
  const refused = await refusalOf(send(rawKey));
  expect(refused).toMatchObject({ status: 429, type: 'rate_limit_error' });
  expect(refused.message).toContain('one stream at a time');
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  expect((await send(rawKey, { stream: false })).status).toBe(200);

  only.stream.send(usageChunk + done);
  only.stream.end();
  gateway.upstream.answer(() => streamOf(chunk('a') + usageChunk + done));
  await until(async () => {
    const response = await send(rawKey);
    await response.text();
    return response.status === 200;
  });
  await only.leave();
});

describeServers('on PostgreSQL and Redis', () => {
  const database = usePostgres();
  const redis = useRedis();

  test('G-31 counts across processes: one that drained nothing refuses too, and so does one that starts later', async () => {
    const prefix = redis.newPrefix();
    const process = async () => {
      const sharedState = await redis.open({ prefix });
      return await openGateway({
        database,
        sharedState,
        abandonedStreams: { mode: 'free', freePerHour: 0 },
      });
    };
    const other = await process();
    // The last one that opens has the alias's upstream.
    gateway = await process();
    await until(() => other.models.find(body.model)?.targets[0]?.baseUrl === gateway.upstream.url);
    const { rawKey } = await gateway.mint();
    const unbilled = await draining(rawKey);
    unbilled.stream.end();
    await until(() => other.abandoned.isLimited(gateway.companyId));
    const only = await begun(rawKey);
    const sendTo = ({ url }: GatewayUnderTest) => post(`${url}/chat/completions`, rawKey, body);
    expect(await refusalOf(sendTo(other))).toMatchObject({ status: 429, type: 'rate_limit_error' });
    // A process that starts later learns of it by the first stream, which it does not hold up.
    const late = await process();
    late.upstream.answer(() => streamOf(chunk('a') + usageChunk + done));
    expect((await sendTo(late)).status).toBe(200);
    await until(() => late.abandoned.isLimited(gateway.companyId));
    expect(await refusalOf(sendTo(late))).toMatchObject({ status: 429 });
    only.stream.send(usageChunk + done);
    only.stream.end();
    await only.leave();
    await Promise.all([other.close(), late.close()]);
  });
});

test('G-31 G-40 reserved tokens stay counted when the client disconnects before the first byte', async () => {
  await open({});
  const { rawKey, id } = await gateway.mint({ tokensPerMinute: 1_000 });
  const never = Promise.withResolvers<Response>();
  gateway.upstream.answer(() => never.promise);
  const stop = new AbortController();
  const running = send(rawKey, { max_tokens: 900 }, { signal: stop.signal }).catch(() => null);
  await until(() => gateway.upstream.received.length === 1);
  stop.abort();
  await running;
  expect(await reasons(id, 1)).toEqual(['FAILED client-left']);
  expect((await refusalOf(send(rawKey, { max_tokens: 900 }))).status).toBe(429);
  never.resolve(new Response(null));
});
