import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { updateAlias } from '../../src/domain/models/change-alias.ts';
import {
  type FactorsByField,
  factorsByField,
  shownFactors,
} from '../../src/domain/models/tiers/price-factors.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { storeOwnKey } from './own-key-under-test.ts';
import { chatAnswer, startScriptedUpstream, streamOf } from './scripted-upstream.ts';

const [OPENAI, ANTHROPIC, PLAIN] = ['svc/chat-default', 'svc/extract-default', 'svc/chat-cheap'];
const usage = { input_tokens: 10, output_tokens: 5 };
/** At the first prices of chat-default and extract-default: 1 and 4 credits for a million tokens. */
const TOKENS_MICRO = 30n;

const messages = [{ role: 'user', content: 'Hello' }];
const chat = { model: OPENAI, messages, max_tokens: 5 };
const ask = { model: OPENAI, input: 'Hello', max_output_tokens: 5 };
const say = { model: ANTHROPIC, messages, max_tokens: 5 };
const counted = { prompt_tokens: 10, completion_tokens: 5 };
const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const chunk = (more: object) => `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [], ...more })}\n\n`;
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
const response = { id: 'resp_1', object: 'response', model: 'm', output: [] };

describe('tiers of providers', () => {
  const gateway = useResource(() => openGateway({ unpricedFields: 'refuse' }));
  const anthropic = useResource(async () => startScriptedUpstream());

  async function setFactors(alias: string, priceFactors: FactorsByField | null) {
    await updateAlias(gateway.catalogue, { alias, priceFactors });
    await until(() => {
      const known = factorsByField(shownFactors(gateway.models.find(alias)?.priceFactors ?? null));
      return Bun.deepEquals(known, priceFactors ?? {});
    });
  }

  beforeAll(async () => {
    await gateway.aimAtProvider(ANTHROPIC, { provider: 'anthropic' }, anthropic);
    await setFactors(OPENAI, { service_tier: { priority: 2, flex: 0.5 } });
    await setFactors(ANTHROPIC, { speed: { fast: 6 }, inference_geo: { us: 1.1 } });
  });
  beforeEach(() => {
    gateway.upstream.received.length = 0;
    anthropic.received.length = 0;
  });

  async function call(path: string, body: unknown, key?: Awaited<ReturnType<typeof gateway.mint>>) {
    const minted = key ?? (await gateway.mint());
    const sent = await post(`${gateway.url}${path}`, minted.rawKey, body);
    const text = await sent.text();
    const [row] = await gateway.calls(minted.id, 1);
    return { status: sent.status, text, row };
  }

  test('a tier that costs more and has no factor is refused on every wire, and nothing is sent', async () => {
    for (const [path, body, param] of [
      ['/chat/completions', { ...chat, model: PLAIN, service_tier: 'priority' }, 'service_tier'],
      ['/chat/completions', { ...chat, service_tier: 'scale' }, 'service_tier'],
      ['/responses', { ...ask, model: PLAIN, service_tier: 'priority' }, 'service_tier'],
      ['/chat/completions', { ...chat, speed: 'fast' }, 'speed'],
    ] as const) {
      const minted = await gateway.mint();
      const sent = await post(`${gateway.url}${path}`, minted.rawKey, body);
      const refusal = await refusalOf(sent);
      expect([sent.status, refusal.param]).toEqual([400, param]);
      expect(refusal.message).toContain(`'${param}'`);
      expect((await gateway.calls(minted.id, 1))[0]).toMatchObject({ outcome: 'REFUSED', charge_micro: 0n });
    }
    const refused = await call('/messages', { ...say, inference_geo: 'eu' });
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text)).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining("'inference_geo'") },
    });
    for (const more of [
      '"service_tier":2',
      '"Service_Tier":"priority"',
      '"service_tier":"flex","service_tier":"priority"',
    ]) {
      const { status } = await call('/chat/completions', JSON.stringify(chat).replace('{', `{${more},`));
      expect(status).toBe(400);
    }
    expect([gateway.upstream.received, anthropic.received]).toEqual([[], []]);
  });

  test('audio is refused without a price factor, and charged by it', async () => {
    const input = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };
    const spoken = { ...chat, messages: [{ role: 'user', content: [input] }] };
    const refused = await call('/chat/completions', spoken);
    expect([refused.status, JSON.parse(refused.text).error.message]).toEqual([
      400,
      expect.stringContaining('no price for audio'),
    ]);
    expect(refused.row).toMatchObject({ outcome: 'REFUSED', charge_micro: 0n });
    expect(gateway.upstream.received).toEqual([]);
    // No target, so no cost of audio: the embedded models answer, which this gateway does not have.
    const embedded = await call('/chat/completions', { ...spoken, model: 'svc/chat-premium' });
    expect(embedded).toMatchObject({ status: 503, row: { outcome: 'FAILED' } });

    await setFactors(OPENAI, { modalities: { audio: 16 } });
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage: counted })));
    const charged = { outcome: 'SUCCEEDED', charge_micro: 16n * TOKENS_MICRO, tier: 'audio' };
    const { row } = await call('/chat/completions', spoken);
    expect(row).toMatchObject({ ...charged, price_factor_millionths: 16_000_000 });
    const plain = { outcome: 'SUCCEEDED', charge_micro: TOKENS_MICRO, tier: null };
    expect((await call('/chat/completions', chat)).row).toMatchObject(plain);
    await setFactors(OPENAI, { service_tier: { priority: 2, flex: 0.5 } });
  });

  test('chat completions are charged by the reported tier', async () => {
    const priority = {
      charge_micro: 2n * TOKENS_MICRO,
      price_factor_millionths: 2_000_000,
      tier: 'priority',
    };
    const plain = { charge_micro: TOKENS_MICRO, price_factor_millionths: null, tier: null };
    for (const [asked, reported, charged] of [
      ['priority', 'priority', priority],
      ['priority', 'default', plain],
      ['priority', undefined, priority],
      [undefined, 'priority', priority],
    ] as const) {
      gateway.upstream.answer(() => Response.json(chatAnswer({ usage: counted, service_tier: reported })));
      const whole = await call('/chat/completions', { ...chat, service_tier: asked });
      expect(whole.row).toMatchObject(charged);
      gateway.upstream.answer(() =>
        streamOf(
          chunk({ service_tier: reported, choices: [{ index: 0, delta: { content: 'Hi' } }] }),
          chunk({ usage: counted }),
          'data: [DONE]\n\n',
        ),
      );
      const streamed = await call('/chat/completions', { ...chat, service_tier: asked, stream: true });
      expect(streamed.row).toMatchObject({ outcome: 'SUCCEEDED', ...charged });
    }
    expect(await gateway.credits.held()).toBe(0);
  });

  test('responses are charged by the tier of their last event', async () => {
    const charged = { charge_micro: 2n * TOKENS_MICRO, tier: 'priority' };
    gateway.upstream.answer(() => Response.json({ ...response, usage, service_tier: 'priority' }));
    expect((await call('/responses', { ...ask, service_tier: 'priority' })).row).toMatchObject(charged);
    const stream = (last: string) => () =>
      streamOf(
        event('response.created', { response: { ...response, usage: null, service_tier: 'auto' } }),
        event('response.completed', { response: { ...response, usage, service_tier: last } }),
      );
    gateway.upstream.answer(stream('priority'));
    const body = { ...ask, stream: true, service_tier: 'auto' };
    expect((await call('/responses', body)).row).toMatchObject(charged);
    gateway.upstream.answer(stream('default'));
    expect((await call('/responses', body)).row).toMatchObject({ charge_micro: TOKENS_MICRO, tier: null });
  });

  test('messages are charged by speed and geography of their usage, together', async () => {
    const fast = { ...say, speed: 'fast', inference_geo: 'us' };
    const used = { ...usage, service_tier: 'standard', speed: 'fast', inference_geo: 'us' };
    const both = { charge_micro: 198n, price_factor_millionths: 6_600_000, tier: 'fast us' };
    anthropic.answer(() => Response.json({ ...message, usage: used }));
    expect((await call('/messages', fast)).row).toMatchObject(both);
    const stream = (started: object) => () =>
      streamOf(
        event('message_start', { message: { ...message, usage: started } }),
        event('message_delta', { delta: {}, usage: { output_tokens: 5 } }),
        event('message_stop', {}),
      );
    anthropic.answer(stream(used));
    expect((await call('/messages', { ...fast, stream: true })).row).toMatchObject(both);
    anthropic.answer(stream({ ...used, speed: 'standard', inference_geo: 'global' }));
    const slow = await call('/messages', { ...fast, stream: true });
    expect(slow.row).toMatchObject({ charge_micro: TOKENS_MICRO, tier: null });
    // Nothing is charged for counting tokens, whatever the tier.
    anthropic.answer(() => Response.json({ input_tokens: 3 }));
    expect((await call('/messages/count_tokens', { ...say, speed: 'turbo' })).status).toBe(200);
  });

  test('the hold has the factor: what a company cannot pay at the tier is refused', async () => {
    const held: number[] = [];
    gateway.upstream.answer(async () => {
      held.push(await gateway.credits.held());
      return Response.json(chatAnswer({ usage: counted, service_tier: 'default' }));
    });
    for (const service_tier of ['default', 'priority', 'flex'])
      await call('/chat/completions', { ...chat, service_tier });
    const [plain = 0, priority, flex] = held;
    expect(plain).toBeGreaterThan(0);
    // The body is a byte or two longer or shorter.
    expect(Math.abs((priority ?? 0) - 2 * plain)).toBeLessThanOrEqual(4);
    expect(Math.abs((flex ?? 0) - plain / 2)).toBeLessThanOrEqual(4);
  });

  const HOUR = { type: 'ephemeral', ttl: '1h' };
  const cached = { ...say, system: [{ type: 'text', text: 'Long.', cache_control: HOUR }] };
  /** 10 tokens of the prompt, 20 written for five minutes and 30 for an hour: 1 credit for a million of each. */
  const written = {
    ...{ input_tokens: 10, cache_creation_input_tokens: 50, output_tokens: 5 },
    cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 30 },
  };
  const plainMicro = 60n + 20n;

  test('cache writes for an hour cost eight fifths of others on every wire, or what the operator says', async () => {
    const hour = {
      ...{ cache_write_tokens: 50n, hour_write_tokens: 30n, hour_write_factor_millionths: 1_600_000 },
      charge_micro: plainMicro + 18n,
    };
    const { output_tokens, ...started } = written;
    const stream = () =>
      streamOf(
        event('message_start', { message: { ...message, usage: started } }),
        event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens } }),
        event('message_stop', {}),
      );
    const system = { role: 'system', content: [{ type: 'text', text: 'Long.', cache_control: HOUR }] };
    for (const [path, body] of [
      ['/messages', cached],
      ['/chat/completions', { ...chat, model: ANTHROPIC, messages: [system, ...messages] }],
      ['/responses', { ...ask, model: ANTHROPIC, store: false }],
    ] as const) {
      anthropic.answer(() => Response.json({ ...message, usage: written }));
      expect([path, (await call(path, body)).row]).toMatchObject([path, hour]);
      anthropic.answer(stream);
      expect([path, (await call(path, { ...body, stream: true })).row]).toMatchObject([path, hour]);
    }
    await setFactors(ANTHROPIC, { cache_write: { '1h': 2 }, prompt_tokens: { '59': 3 } });
    const { row } = await call('/messages', { ...cached, stream: true });
    expect(row).toMatchObject({
      ...{ hour_write_factor_millionths: 2_000_000, price_factor_millionths: 3_000_000 },
      ...{ tier: 'prompt_tokens>59', charge_micro: 3n * (plainMicro + 30n) },
    });
    // Where the provider does not say how long the writes stay, the request counts.
    const { cache_creation: _, ...unsplit } = written;
    anthropic.answer(() => Response.json({ ...message, usage: unsplit }));
    expect((await call('/messages', cached)).row).toMatchObject({ hour_write_tokens: 50n });
    const quoted = { ...say, messages: [{ role: 'user', content: '"ttl":"1h"' }] };
    expect((await call('/messages', quoted)).row).toMatchObject({ hour_write_tokens: null });
    expect((await call('/messages', say)).row).toMatchObject({ charge_micro: 3n * plainMicro });
  });

  test('the hold has the factors of long prompts and of cache writes for an hour', async () => {
    const held: number[] = [];
    anthropic.answer(async () => {
      held.push(await gateway.credits.held());
      return Response.json({ ...message, usage });
    });
    const long = { ...say, messages: [{ role: 'user', content: 'word '.repeat(500) }] };
    const kept = { ...long, system: cached.system };
    await setFactors(ANTHROPIC, null);
    for (const body of [long, kept]) await call('/messages', body);
    await setFactors(ANTHROPIC, { cache_write: { '1h': 4 }, prompt_tokens: { '2000': 3 } });
    for (const body of [long, kept]) await call('/messages', body);
    await setFactors(ANTHROPIC, { prompt_tokens: { '2000': 3 }, long_prompt_completion: { '2000': 1.5 } });
    await call('/messages', long);
    const [whole = 0, more = 0, tripled = 0, written = 0, split = 0] = held;
    // The answer is not written to the cache, and has a factor of its own.
    const answer = 5 * 4;
    expect(Math.abs(tripled - 3 * whole)).toBeLessThanOrEqual(3);
    expect(Math.abs(written - 3 * (4 * (more - answer) + answer))).toBeLessThanOrEqual(12);
    expect(Math.abs(split - (3 * (whole - answer) + 1.5 * answer))).toBeLessThanOrEqual(3);
    await setFactors(ANTHROPIC, { speed: { fast: 6 }, inference_geo: { us: 1.1 } });
  });

  test('a fallback that has no price for the tier does not serve it, one that has is charged at its own', async () => {
    const models: unknown[] = [];
    gateway.upstream.answer(({ body }) => {
      models.push(JSON.parse(new TextDecoder().decode(body)).service_tier);
      const isFirst = models.length === 1;
      return isFirst ? new Response('', { status: 500 }) : Response.json(chatAnswer({ usage: counted }));
    });
    await gateway.aimAt(PLAIN, gateway.upstream);
    const body = { ...chat, models: [PLAIN], service_tier: 'priority' };
    expect((await call('/chat/completions', body)).status).toBe(503);
    expect(models).toEqual(['priority']);
    models.length = 0;
    await setFactors(PLAIN, { service_tier: { priority: 3 } });
    const { row } = await call('/chat/completions', body);
    expect(row).toMatchObject({ served_by: PLAIN, price_factor_millionths: 3_000_000, tier: 'priority' });
    await setFactors(PLAIN, null);
  });

  test('a company with its own provider key pays its provider itself: no tier is refused', async () => {
    const minted = await gateway.mint();
    const remove = await storeOwnKey(gateway, gateway.companyId, 'sk-own-key-of-the-company');
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage: counted, service_tier: 'scale' })));
    const { status, row } = await call('/chat/completions', { ...chat, service_tier: 'scale' }, minted);
    expect([status, row]).toMatchObject([200, { charge_micro: 3n, own_key: true, tier: null }]);
    const factors = { prompt_tokens: { '5': 9 }, cache_write: { '1h': 9 } };
    await setFactors(OPENAI, factors);
    const details = { cache_write_tokens: 8, cache_write_1h_tokens: 8 };
    gateway.upstream.answer(() =>
      Response.json(chatAnswer({ usage: { ...counted, prompt_tokens_details: details } })),
    );
    const long = await call('/chat/completions', { ...chat, cache_control: HOUR });
    expect(long.row).toMatchObject({ charge_micro: 3n, tier: null, hour_write_tokens: null });
    await remove();
    const paid = await call('/chat/completions', { ...chat, cache_control: HOUR });
    expect(paid.row).toMatchObject({ charge_micro: 9n * (30n + 64n), hour_write_tokens: 8n });
  });
});
