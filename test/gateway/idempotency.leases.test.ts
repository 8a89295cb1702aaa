import { describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, usageChunk } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [], max_tokens: 10 };
const COST_MICRO = 26n;

const gateway = useResource(() => openGateway());

const balance = async () => (await gateway.credits.level()).balanceMicro;
const asked = () => gateway.upstream.received.length;

async function opened() {
  const { rawKey, id } = await gateway.mint();
  const call = (key: string, what: unknown = body) =>
    post(`${gateway.url}/chat/completions`, rawKey, what, { headers: { 'idempotency-key': key } });
  /** As if its process had said nothing for a minute. */
  const endLease = () =>
    gateway.parts.database.query(
      "update idempotency_keys set leased_until = now() - interval '1 second' where key_id = $1",
      [id],
    );
  return { call, keyId: id, endLease, since: { asked: asked(), balance: await balance() } };
}

/** Each answer is another one and waits to be let go. */
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

describe('G-47 a call whose lease has ended while it still ran', () => {
  for (const firstToEnd of ['the first', 'the repeat'] as const) {
    test(`a repeat runs anew; ${firstToEnd} commits first and is charged, the other costs nothing`, async () => {
      const [firstGate, secondGate] = gatedAnswers();
      const { call, keyId, endLease, since } = await opened();
      const first = call('paused');
      await until(() => asked() === since.asked + 1);
      expect((await refusalOf(call('paused'))).status).toBe(409);
      await endLease();
      const second = call('paused');
      await until(() => asked() === since.asked + 2);
      const isFirst = firstToEnd === 'the first';
      (isFirst ? firstGate : secondGate).resolve();
      const kept = await (await (isFirst ? first : second)).text();
      (isFirst ? secondGate : firstGate).resolve();
      const late = await (isFirst ? second : first);
      expect(late.status).toBe(200);
      expect(await late.text()).not.toBe(kept);
      expect(await (await call('paused')).text()).toBe(kept);
      expect(since.balance - (await balance())).toBe(COST_MICRO);
      const rows = (await gateway.calls(keyId, 4)).filter(({ target_id }) => target_id !== null);
      expect(rows.map(({ outcome, reason }) => [outcome, reason]).sort()).toEqual([
        ['FAILED', 'superseded'],
        ['SUCCEEDED', null],
      ]);
      await until(async () => (await gateway.credits.held()) === 0);
      expect(gateway.idempotency.runningCount()).toBe(0);
    });
  }

  test('with another body the key stays taken', async () => {
    const [firstGate] = gatedAnswers();
    const { call, endLease, since } = await opened();
    const first = call('paused');
    await until(() => asked() === since.asked + 1);
    await endLease();
    expect((await refusalOf(call('paused', { ...body, max_tokens: 3 }))).status).toBe(409);
    firstGate.resolve();
    expect((await first).status).toBe(200);
  });
});

describe('G-47 while the database is away', () => {
  test('a call with the header gets 503 and asks no upstream; one without goes on', async () => {
    const own = await openGateway();
    const { rawKey } = await own.mint();
    const send = (headers: Record<string, string>) =>
      post(`${own.url}/chat/completions`, rawKey, body, { headers });
    expect((await send({})).status).toBe(200);
    own.outage.isAway = true;
    const refused = await refusalOf(send({ 'idempotency-key': 'k' }));
    expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    expect(refused.message).toContain('Idempotency keys');
    expect(own.upstream.received).toHaveLength(1);
    expect((await send({})).status).toBe(200);
    own.outage.isAway = false;
    await until(async () => (await send({ 'idempotency-key': 'k' })).status === 200);
    await own.close();
  });

  test('a call that ends then goes to the journal with its answer: charged once, and replayed', async () => {
    const own = await openGateway();
    const stream = openStream();
    own.upstream.answer(() => stream.response);
    const { rawKey, id } = await own.mint();
    const before = (await own.credits.level()).balanceMicro;
    const what = { ...body, stream: true };
    const send = () =>
      post(`${own.url}/chat/completions`, rawKey, what, { headers: { 'idempotency-key': 'k' } });
    stream.send(chunk('Hel'));
    const first = await send();
    own.outage.isAway = true;
    stream.send(chunk('lo'));
    stream.send(usageChunk);
    stream.send(done);
    stream.end();
    const text = await first.text();
    expect(text).toEndWith(done);
    // It has its key until it is charged.
    expect(own.idempotency.runningCount()).toBe(1);
    own.outage.isAway = false;
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

  test('a call that can be written nowhere costs nothing; its key is free when the lease has ended', async () => {
    const own = await openGateway({ journalMaxCalls: 0 });
    const gate = Promise.withResolvers<void>();
    own.upstream.answer(async () => {
      await gate.promise;
      return Response.json(chatAnswer());
    });
    const { rawKey, id } = await own.mint();
    const headers = { 'idempotency-key': 'k' };
    const first = post(`${own.url}/chat/completions`, rawKey, body, { headers });
    await until(() => own.upstream.received.length === 1);
    own.outage.isAway = true;
    gate.resolve();
    expect((await first).status).toBe(503);
    expect(own.idempotency.runningCount()).toBe(0);
    own.outage.isAway = false;
    const send = () => post(`${own.url}/chat/completions`, rawKey, body, { headers });
    await until(async () => (await send()).status === 409);
    await own.parts.database.query(
      "update idempotency_keys set leased_until = now() - interval '1 second' where key_id = $1",
      [id],
    );
    await until(async () => (await send()).status === 200);
    expect((await own.credits.level()).version).toBe(2n);
    expect(own.upstream.received).toHaveLength(2);
    await own.close();
  });
});
