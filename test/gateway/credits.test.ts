import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { type GatewayUnderTest, openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

/** 10 bytes by four at 1 a token, and 100 tokens at 4: what a call with max_tokens 100 holds is a little above. */
const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
const HELD_MICRO = Math.ceil(JSON.stringify(body).length / 4) + 400;
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;

const CALLS = 500;
const AFFORDABLE = 50;

describe('calls and the balance', () => {
  let gateway: GatewayUnderTest;
  const opened: GatewayUnderTest[] = [];
  afterAll(async () => {
    for (const one of opened) await one.close();
  });

  async function open(options: Parameters<typeof openGateway>[0]): Promise<GatewayUnderTest> {
    gateway = await openGateway(options);
    opened.push(gateway);
    return gateway;
  }
  const send = (rawKey: string, changes = {}) =>
    post(`${gateway.url}/chat/completions`, rawKey, { ...body, ...changes });
  const held = () => gateway.credits.held();

  /** An upstream that answers on request. */
  function gatedUpstream() {
    const gate = Promise.withResolvers<void>();
    const entered: Promise<void>[] = [];
    let count = 0;
    gateway.upstream.answer(async () => {
      count += 1;
      await gate.promise;
      return Response.json(chatAnswer());
    });
    return { open: () => gate.resolve(), entered, count: () => count };
  }

  describe('402, a company without credits', () => {
    test('G-29 G-35 no credits: 402 in the envelope, nothing reaches the upstream; a top-up takes effect at once', async () => {
      await open({ balanceMicro: 0n });
      const { rawKey } = await gateway.mint();
      const refused = await refusalOf(send(rawKey));
      expect(refused).toMatchObject({
        status: 402,
        type: 'insufficient_quota',
        code: 'INSUFFICIENT_CREDITS',
      });
      expect(refused.message).toContain('Buy credits');
      expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('600');
      expect(gateway.upstream.received).toHaveLength(0);
      await gateway.credits.grant(1n);
      expect((await send(rawKey)).status).toBe(200);
      expect((await gateway.credits.level()).balanceMicro).toBe(1n - COST_MICRO);
      expect((await send(rawKey)).status).toBe(402);
    });

    test('G-29 a single call on a positive balance always passes, however large; its own hold never refuses the next', async () => {
      await open({ balanceMicro: COST_MICRO * 20n });
      const { rawKey } = await gateway.mint();
      for (let n = 0; n < 20; n += 1) {
        const response = await send(rawKey, { max_tokens: 50_000 });
        expect(response.status).toBe(200);
        await response.text();
      }
      expect((await gateway.credits.level()).balanceMicro).toBe(0n);
      expect((await send(rawKey)).status).toBe(402);
    });

    test('G-29 holds of calls in flight refuse others, with another message; they pass when the holds are released', async () => {
      await open({ balanceMicro: BigInt(HELD_MICRO) });
      const { rawKey } = await gateway.mint();
      const upstream = gatedUpstream();
      const running = send(rawKey);
      await until(() => upstream.count() === 1);
      expect(await held()).toBe(HELD_MICRO);
      const refused = await refusalOf(send(rawKey));
      expect(refused).toMatchObject({ status: 402, code: 'INSUFFICIENT_CREDITS' });
      expect(refused.message).toContain('still running');
      upstream.open();
      expect((await running).status).toBe(200);
      expect(await held()).toBe(0);
      expect((await send(rawKey)).status).toBe(200);
    });

    test('G-29 G-31 failed calls release their hold and cost nothing', async () => {
      await open({ balanceMicro: 1n });
      const { rawKey } = await gateway.mint();
      for (const answer of [
        () => new Response('no', { status: 500 }),
        () => new Response('{"error":{"message":"bad"}}', { status: 400 }),
        () => Response.json(chatAnswer({ usage: undefined })),
        () => new Response('nonsense', { headers: { 'content-type': 'application/json' } }),
      ]) {
        gateway.upstream.answer(answer);
        const response = await send(rawKey);
        expect(response.status).not.toBe(402);
        await response.text();
        expect(await held()).toBe(0);
      }
      expect((await gateway.credits.level()).balanceMicro).toBe(1n);
    });

    test('G-32 a POSTPAID company gets 402 only at the end of its credit line', async () => {
      await open({ billingMode: 'POSTPAID', balanceMicro: 0n });
      const { rawKey } = await gateway.mint();
      expect((await send(rawKey)).status).toBe(200);
      const { database } = gateway.parts;
      await database.query(
        'update credit_accounts set line_micro = $2, version = version + 1 where id = $1',
        [gateway.companyId, COST_MICRO * 2n],
      );
      await gateway.credits.grant(-1n);
      expect((await send(rawKey)).status).toBe(200);
      expect((await send(rawKey)).status).toBe(402);
      expect((await gateway.credits.level()).balanceMicro).toBe(-COST_MICRO * 2n - 1n);
    });
  });

  describe('403, a key at its monthly limit', () => {
    const limit = { monthlySpendingLimitMicro: COST_MICRO * 2n };
    beforeEach(() => open({}));

    test('G-20 G-32 reads are not refused, and the record of the call has the limit’s code', async () => {
      const { rawKey, id } = await gateway.mint({ monthlySpendingLimitMicro: 1n });
      expect((await send(rawKey)).status).toBe(200);
      expect((await send(rawKey)).status).toBe(403);
      for (const path of ['/models', '/usage']) {
        const headers = { authorization: `Bearer ${rawKey}` };
        expect((await fetch(`${gateway.url}${path}`, { headers })).status).toBe(200);
      }
      const rows = await gateway.calls(id, 4);
      expect(rows.filter(({ outcome }) => outcome === 'REFUSED')).toMatchObject([
        { reason: 'KEY_SPENDING_LIMIT', http_status: 403 },
      ]);
    });

    test('G-20 the key’s limit refuses that key alone, with its own code', async () => {
      const narrow = await gateway.mint(limit);
      const wide = await gateway.mint();
      expect((await send(narrow.rawKey)).status).toBe(200);
      expect((await send(narrow.rawKey)).status).toBe(200);
      const refused = await refusalOf(send(narrow.rawKey));
      expect(refused).toMatchObject({
        status: 403,
        type: 'permission_error',
        code: 'KEY_SPENDING_LIMIT',
      });
      expect(refused.message).toContain("key's monthly spending limit of 0.000052 credits is used up");
      expect((await send(wide.rawKey)).status).toBe(200);
    });

    test('G-20 calls in flight hold the key’s limit too', async () => {
      const { rawKey } = await gateway.mint(limit);
      const upstream = gatedUpstream();
      const running = send(rawKey);
      await until(() => upstream.count() === 1);
      const refused = await refusalOf(send(rawKey));
      expect(refused).toMatchObject({ status: 403, code: 'KEY_SPENDING_LIMIT' });
      expect(refused.message).toContain('still running');
      upstream.open();
      expect((await running).status).toBe(200);
      expect((await send(rawKey)).status).toBe(200);
    });

    test('G-20 holds of calls in flight also count against a limit that was changed meanwhile', async () => {
      const { rawKey, id } = await gateway.mint(limit);
      const upstream = gatedUpstream();
      const running = send(rawKey);
      await until(() => upstream.count() === 1);
      const { database, sharedState, secrets } = gateway.parts;
      // Up and down, each time as a limit that no call has held anything against before.
      for (const limitMicro of [COST_MICRO * 3n, COST_MICRO]) {
        await database.query('update api_keys set monthly_spending_limit_micro = $2 where id = $1', [
          id,
          limitMicro,
        ]);
        await sharedState.publish('keys', secrets.sha256(rawKey).toHex());
        expect((await refusalOf(send(rawKey))).message).toContain('still running');
      }
      expect(upstream.count()).toBe(1);
      upstream.open();
      expect((await running).status).toBe(200);
    });
  });

  describe('every successful call is charged by its alias’s price', () => {
    test('G-28 chat, legacy completions and embeddings; reads at zero', async () => {
      await open({ balanceMicro: 1_000_000n });
      const { rawKey, id } = await gateway.mint();
      const usage = { prompt_tokens: 1_000, completion_tokens: 10 };
      gateway.upstream.answer(() => Response.json(chatAnswer({ usage })));
      await (await send(rawKey)).text();
      await (
        await post(`${gateway.url}/completions`, rawKey, { model: 'svc/chat-default', prompt: 'x' })
      ).text();
      await (await send(rawKey, { model: 'svc/extract-default' })).text();
      gateway.upstream.answer(() =>
        Response.json({
          object: 'list',
          data: [],
          model: 'm',
          usage: { prompt_tokens: 1_000, total_tokens: 1_000 },
        }),
      );
      await (
        await post(`${gateway.url}/embeddings`, rawKey, { model: 'svc/embed-default', input: 'x' })
      ).text();
      await (await fetch(`${gateway.url}/models`, { headers: { authorization: `Bearer ${rawKey}` } })).text();
      const rows = await gateway.calls(id, 5);
      expect(rows.map(({ endpoint, charge_micro }) => [endpoint, charge_micro])).toEqual([
        ['chat/completions', 1_040n],
        ['completions', 1_040n],
        ['chat/completions', 1_040n],
        ['embeddings', 100n],
        ['models', 0n],
      ]);
      expect((await gateway.credits.level()).balanceMicro).toBe(1_000_000n - 3_220n);
      for (const { id: callId, charge_micro } of rows) {
        const charges = await gateway.credits.chargesOf(callId);
        expect(charges.map(({ amount_micro }) => amount_micro)).toEqual(
          charge_micro === 0n ? [] : [-(charge_micro as bigint)],
        );
      }
    });
  });
});

describe('credits while the database is unavailable', () => {
  const HELD_MICRO = Math.ceil(JSON.stringify(body).length / 4) + 400;

  const gateway = useResource(() => openGateway({ balanceMicro: BigInt(HELD_MICRO) * 2n }));

  const send = (rawKey: string) => post(`${gateway.url}/chat/completions`, rawKey, body);

  test('G-29 G-33 while the database is unavailable known companies continue, and calls in the journal stay held', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { rawKey, id } = await gateway.mint();
    expect((await send(rawKey)).status).toBe(200);
    const before = (await gateway.credits.level()).balanceMicro;
    gateway.outage.isUnavailable = true;
    // Each has ended and none is charged yet: only their holds say that the balance is spoken for.
    expect((await send(rawKey)).status).toBe(200);
    expect((await send(rawKey)).status).toBe(200);
    expect(await gateway.credits.held()).toBe(HELD_MICRO * 2);
    const refused = await refusalOf(send(rawKey));
    expect(refused).toMatchObject({ status: 402, code: 'INSUFFICIENT_CREDITS' });
    gateway.outage.isUnavailable = false;
    await until(async () => (await gateway.credits.held()) === 0);
    expect((await gateway.credits.level()).balanceMicro).toBe(before - COST_MICRO * 2n);
    expect((await send(rawKey)).status).toBe(200);
    const rows = await gateway.calls(id, 5);
    expect(rows.filter(({ outcome }) => outcome === 'SUCCEEDED')).toHaveLength(4);
  });

  test('G-29 G-32 a company without a cached status gets 503 while the database is unavailable; reads continue', async () => {
    const own = await openGateway();
    const { rawKey } = await own.mint();
    // A read makes the key known and asks for neither what its company owes nor what it has.
    const models = { headers: { authorization: `Bearer ${rawKey}` } };
    expect((await fetch(`${own.url}/models`, models)).status).toBe(200);
    own.outage.isUnavailable = true;
    const refused = await refusalOf(post(`${own.url}/chat/completions`, rawKey, body));
    expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    expect(refused.message).toContain('Credits cannot be checked');
    expect((await fetch(`${own.url}/models`, models)).status).toBe(200);
    own.outage.isUnavailable = false;
    await until(async () => (await post(`${own.url}/chat/completions`, rawKey, body)).status === 200);
    await own.close();
  });
});

test('G-29, billing bug 15: 500 calls at once on a balance worth 50 of their estimates: 50 or 51 pass, overdraft at most one estimate', async () => {
  const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
  const promptTokens = Math.ceil(JSON.stringify(body).length / 4);
  const estimateMicro = BigInt(promptTokens + 4 * body.max_tokens);
  const gateway = await openGateway({ balanceMicro: estimateMicro * BigInt(AFFORDABLE) });
  const gate = Promise.withResolvers<void>();
  const usage = { prompt_tokens: promptTokens, completion_tokens: body.max_tokens };
  gateway.upstream.answer(async () => {
    await gate.promise;
    return Response.json(chatAnswer({ usage }));
  });
  const { rawKey } = await gateway.mint();
  const statuses: number[] = [];
  const all = Array.from({ length: CALLS }, async () => {
    const response = await post(`${gateway.url}/chat/completions`, rawKey, body);
    await response.text();
    statuses.push(response.status);
  });
  await until(() => statuses.length + gateway.upstream.received.length === CALLS);
  const admitted = gateway.upstream.received.length;
  gate.resolve();
  await Promise.all(all);
  const { balanceMicro } = await gateway.credits.level();
  console.log(
    `one process: ${admitted} of ${CALLS} admitted, balance ${balanceMicro} of ${estimateMicro * 50n} left, one estimate is ${estimateMicro}`,
  );
  expect(admitted).toBeGreaterThanOrEqual(AFFORDABLE);
  expect(admitted).toBeLessThanOrEqual(AFFORDABLE + 1);
  expect(balanceMicro).toBeGreaterThanOrEqual(-estimateMicro);
  expect(statuses.filter((status) => status === 402)).toHaveLength(CALLS - admitted);
  expect(await gateway.credits.held()).toBe(0);
  await gateway.close();
});
