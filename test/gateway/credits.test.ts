import { describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import {
  type GatewayOptions,
  type GatewayUnderTest,
  openGateway,
  post,
  refusalOf,
} from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

/** 10 bytes by four at 1 a token, and 100 tokens at 4: what a call with max_tokens 100 holds is a little above. */
const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
const HELD_MICRO = Math.ceil(JSON.stringify(body).length / 4) + 400;
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;

const send = (gateway: GatewayUnderTest, rawKey: string) =>
  post(`${gateway.url}/chat/completions`, rawKey, body);
const useGateway = (options: GatewayOptions) => useResource(() => openGateway(options));

/** A call that the upstream has, and answers on request. */
async function startCall(gateway: GatewayUnderTest, rawKey: string) {
  const gate = Promise.withResolvers<void>();
  const before = gateway.upstream.received.length;
  gateway.upstream.answer(async () => {
    await gate.promise;
    return Response.json(chatAnswer());
  });
  const running = send(gateway, rawKey);
  await until(() => gateway.upstream.received.length === before + 1);
  return async () => {
    gate.resolve();
    expect((await running).status).toBe(200);
  };
}

describe('402, a company without credits', () => {
  const empty = useGateway({ balanceMicro: 0n });
  const narrow = useGateway({ balanceMicro: BigInt(HELD_MICRO) });

  test('G-29 G-35 no credits: 402 in the envelope, nothing reaches the upstream; a top-up takes effect at once', async () => {
    const { rawKey } = await empty.mint();
    const refused = await refusalOf(send(empty, rawKey));
    expect(refused).toMatchObject({ status: 402, type: 'insufficient_quota', code: 'INSUFFICIENT_CREDITS' });
    expect(refused.message).toContain('Buy credits');
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('600');
    expect(empty.upstream.received).toHaveLength(0);
    await empty.credits.grant(1n);
    expect((await send(empty, rawKey)).status).toBe(200);
    expect((await empty.credits.level()).balanceMicro).toBe(1n - COST_MICRO);
    expect((await send(empty, rawKey)).status).toBe(402);
  });

  test('G-29 holds of calls in flight refuse others, with another message; they pass when the holds are released', async () => {
    const { rawKey } = await narrow.mint();
    const end = await startCall(narrow, rawKey);
    expect(await narrow.credits.held()).toBe(HELD_MICRO);
    const refused = await refusalOf(send(narrow, rawKey));
    expect(refused).toMatchObject({ status: 429, type: 'rate_limit_error', code: 'CREDITS_HELD' });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.message).toContain('the credits of your company is held by calls that are still running');
    await end();
    expect(await narrow.credits.held()).toBe(0);
    expect((await send(narrow, rawKey)).status).toBe(200);
  });
});

describe('403, a key at its monthly limit', () => {
  const gateway = useGateway({});
  const limit = { monthlySpendingLimitMicro: COST_MICRO * 2n };

  test('G-20 the key’s limit refuses that key alone, with its own code, also in the record', async () => {
    const [limited, other] = [await gateway.mint(limit), await gateway.mint()];
    for (let call = 0; call < 2; call += 1) expect((await send(gateway, limited.rawKey)).status).toBe(200);
    const refused = await refusalOf(send(gateway, limited.rawKey));
    expect(refused).toMatchObject({ status: 403, type: 'permission_error', code: 'KEY_SPENDING_LIMIT' });
    expect(refused.message).toContain("key's monthly spending limit of 0.000052 credits is used up");
    expect((await send(gateway, other.rawKey)).status).toBe(200);
    const rows = await gateway.calls(limited.id, 3);
    expect(rows.at(-1)).toMatchObject({ outcome: 'REFUSED', reason: 'KEY_SPENDING_LIMIT', http_status: 403 });
  });

  test('G-20 calls in flight hold the key’s limit too', async () => {
    const { rawKey } = await gateway.mint(limit);
    const end = await startCall(gateway, rawKey);
    const refused = await refusalOf(send(gateway, rawKey));
    expect(refused).toMatchObject({ status: 429, code: 'CREDITS_HELD' });
    expect(refused.message).toContain("key's monthly spending limit of 0.000052 credits is held");
    await end();
    expect((await send(gateway, rawKey)).status).toBe(200);
  });
});

describe('credits while the database is unavailable', () => {
  const gateway = useGateway({ balanceMicro: BigInt(HELD_MICRO) * 2n });
  const fresh = useGateway({});

  test('G-29 G-33 known companies continue, and calls in the journal stay held', async () => {
    const { rawKey } = await gateway.mint();
    expect((await send(gateway, rawKey)).status).toBe(200);
    const before = (await gateway.credits.level()).balanceMicro;
    gateway.outage.isUnavailable = true;
    // Each has ended and none is charged yet: only their holds say that the balance is spoken for.
    for (let call = 0; call < 2; call += 1) expect((await send(gateway, rawKey)).status).toBe(200);
    expect(await gateway.credits.held()).toBe(HELD_MICRO * 2);
    expect(await refusalOf(send(gateway, rawKey))).toMatchObject({ status: 429, code: 'CREDITS_HELD' });
    gateway.outage.isUnavailable = false;
    await until(async () => (await gateway.credits.held()) === 0);
    expect((await gateway.credits.level()).balanceMicro).toBe(before - COST_MICRO * 2n);
    expect((await send(gateway, rawKey)).status).toBe(200);
  });

  test('G-29 G-32 a company without a cached status gets 503; reads continue', async () => {
    const { rawKey } = await fresh.mint();
    // A read makes the key known and asks for neither what its company owes nor what it has.
    const models = { headers: { authorization: `Bearer ${rawKey}` } };
    expect((await fetch(`${fresh.url}/models`, models)).status).toBe(200);
    fresh.outage.isUnavailable = true;
    const refused = await refusalOf(send(fresh, rawKey));
    expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    expect(refused.message).toContain('Credits cannot be checked');
    expect((await fetch(`${fresh.url}/models`, models)).status).toBe(200);
    fresh.outage.isUnavailable = false;
  });
});
