import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readAliases, routingOf } from '../../src/domain/models/alias-catalogue.ts';
import { storedNameOf } from '../../src/domain/models/aliases.ts';
import { type AliasParams, updateAlias } from '../../src/domain/models/change-alias.ts';
import { readCatalogue } from '../../src/domain/models/targets.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { pricesCheck } from '../../src/domain/reconciliation/usage-checks.ts';
import { CV_TEXT } from '../ai-service/workers-under-test.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, PROVIDER_MODEL, post, refusalOf } from './gateway-under-test.ts';
import {
  chatAnswer,
  chunk,
  done,
  openStream,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamOf,
  usageChunk,
} from './scripted-upstream.ts';

const gateway = useResource(() => openGateway());
const second = useResource(() => Promise.resolve(startScriptedUpstream()));
const DEFAULT = 'svc/chat-default';
const CHEAP = 'svc/chat-cheap';
const PREMIUM = 'svc/chat-premium';
/** The usage of an answer is 12 tokens: a credit for a million is 12 micro-credits. */
const TOKENS = 12n;
const priced = (credits: string) => ({ prompt: credits, cached: credits, completion: credits });
const OFF = {
  ...{ strategy: null, retries: null, retryStatuses: null, hedgeMs: null },
  ...{ fallback: null, fallbackPrice: null },
};
let key: { rawKey: string; id: string };

const at = ({ url }: ScriptedUpstream, changes: object = {}) => ({
  ...{ baseUrl: url, model: PROVIDER_MODEL, apiKey: 'sk-provider', weight: 1, ...changes },
});

/** Sets an alias, and waits until the gateway has it as it is stored. */
async function set(alias: string, wanted: Omit<AliasParams, 'alias'>): Promise<void> {
  const { catalogue, models } = gateway;
  const set = await updateAlias(catalogue, { alias, ...OFF, ...wanted });
  if (set.outcome === 'wrong') throw new Error(set.problem);
  const name = storedNameOf(alias);
  const stored = (await readAliases(catalogue.database)).find((one) => one.name === name);
  const { targets } = await readCatalogue(catalogue.database);
  const ids = targets.filter((target) => target.alias === name).map(({ id }) => id);
  const routing = stored === undefined ? null : routingOf(catalogue.prefix, stored);
  await until(() => {
    const found = models.find(alias);
    return Bun.deepEquals([found?.routing, found?.targets.map(({ id }) => id)], [routing, ids]);
  });
}

const ok = () => Response.json(chatAnswer());
const failing = (status: number) => () => new Response('no', { status });

function ask(changes: object = {}, rawKey = key.rawKey, path = 'chat/completions'): Promise<Response> {
  const body = { model: DEFAULT, messages: [{ role: 'user', content: 'Hi' }], ...changes };
  return post(`${gateway.url}/${path}`, rawKey, body);
}

/** A key of its own for each test: its rows are those of the test. */
async function fresh(models?: readonly string[]) {
  key = await gateway.mint(models === undefined ? {} : { models: [...models] });
  gateway.upstream.received.length = 0;
  second.received.length = 0;
}

const counts = () => [gateway.upstream.received.length, second.received.length];

async function recorded() {
  const [row, ...more] = await gateway.calls(key.id, 1);
  expect(more).toEqual([]);
  const charges = await gateway.credits.chargesOf(row?.id);
  return { row, charges };
}

async function logged(): Promise<readonly Record<string, unknown>[]> {
  const headers = { authorization: `Bearer ${key.rawKey}` };
  const { data } = await (await fetch(`${gateway.url}/usage/calls`, { headers })).json();
  return data.filter(({ endpoint }: { endpoint: string }) => endpoint === 'chat/completions');
}

beforeAll(async () => {
  await set(DEFAULT, { price: priced('1') });
  await set(CHEAP, { targets: [at(second)], price: priced('10') });
  await set(PREMIUM, { targets: [at(second)], price: priced('100') });
});
afterEach(async () => {
  gateway.upstream.answer(ok);
  second.answer(ok);
  await set(DEFAULT, { targets: [at(gateway.upstream)] });
});

describe('a fallback', () => {
  test.each([
    ['costs at most what the requested alias would have cost', null, 1n],
    ['costs its own price with `fallback_price: served`', 'served', 10n],
  ])('answers under the requested name, and G-28 %s', async (_, fallbackPrice, price) => {
    await set(DEFAULT, { targets: [at(gateway.upstream)], fallback: CHEAP, fallbackPrice });
    gateway.upstream.answer(failing(500));
    for (const stream of [false, true]) {
      await fresh([DEFAULT, CHEAP]);
      second.answer(() => (stream ? streamOf(chunk('Hi'), usageChunk, done) : ok()));
      const response = await ask({ stream });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-turnpike-served-by')).toBe(CHEAP);
      expect(response.headers.get('x-turnpike-tries')).toBe('2');
      const text = await response.text();
      expect(text).toContain(`"model":"${DEFAULT}"`);
      expect(text).not.toContain(CHEAP);
      const { row, charges } = await recorded();
      expect(row).toMatchObject({ alias: DEFAULT, served_by: CHEAP, tries: 2, charge_micro: TOKENS * price });
      expect(charges).toMatchObject([{ amount_micro: -TOKENS * price }]);
      const [shown] = await logged();
      expect(shown).toMatchObject({ served_by: CHEAP, priced_as: price === 10n ? CHEAP : DEFAULT });
      expect((await runCheck(gateway.catalogue.database, pricesCheck)).faults).toEqual([]);
    }
  });

  test('G-28 that is cheaper costs its own price', async () => {
    await set(CHEAP, { targets: [at(gateway.upstream)], fallback: DEFAULT });
    await set(DEFAULT, { targets: [at(second)] });
    gateway.upstream.answer(failing(500));
    await fresh();
    expect((await ask({ model: CHEAP })).status).toBe(200);
    expect((await recorded()).row).toMatchObject({ served_by: DEFAULT, charge_micro: TOKENS });
    await set(CHEAP, { targets: [at(second)] });
  });

  test('G-27 outside the key’s allowlist is skipped, and the one after it answers', async () => {
    await set(CHEAP, { fallback: PREMIUM });
    await set(DEFAULT, { targets: [at(gateway.upstream)], fallback: CHEAP });
    gateway.upstream.answer(failing(500));
    await fresh([DEFAULT]);
    expect((await ask()).status).toBe(503);
    expect(counts()).toEqual([1, 0]);
    await fresh([DEFAULT, PREMIUM]);
    const response = await ask();
    expect([response.status, response.headers.get('x-turnpike-served-by')]).toEqual([200, PREMIUM]);
    await set(CHEAP, {});
  });

  test('while a call runs, the most that it may cost is held', async () => {
    const held = async (fallback: string | null, fallbackPrice: string | null = null) => {
      await set(DEFAULT, { targets: [at(gateway.upstream)], fallback, fallbackPrice });
      const stream = openStream();
      gateway.upstream.answer(() => stream.response);
      stream.send(chunk('a'));
      const response = await ask({ stream: true, max_tokens: 1_000 });
      const micro = await gateway.credits.held();
      stream.send(usageChunk + done);
      stream.end();
      await response.text();
      await until(async () => (await gateway.credits.held()) === 0);
      return micro;
    };
    await fresh();
    const alone = await held(null);
    expect(alone).toBeGreaterThan(1_000);
    expect(await held(PREMIUM)).toBe(alone);
    expect(await held(PREMIUM, 'served')).toBe(alone * 100);
  });

  test('applies to the parser by the same rules', async () => {
    gateway.upstream.answer(failing(500));
    await set('svc/extract-fast', { targets: [at(second)], price: priced('10') });
    await set('svc/extract-default', {
      ...{ targets: [at(gateway.upstream)], fallback: 'svc/extract-fast', price: priced('1') },
    });
    const profile = {
      document_kind: 'cv',
      basics: { name: 'Ada Byron' },
      work: [],
      education: [],
      skills: [],
    };
    const message = { role: 'assistant', content: JSON.stringify(profile) };
    second.answer(() => Response.json(chatAnswer({ choices: [{ index: 0, message }] })));
    await fresh();
    const response = await post(`${gateway.url}/parse/cv`, key.rawKey, { text: CV_TEXT });
    expect(await response.json()).toMatchObject({ model: 'svc/extract-default', engine: 'model' });
    const { row } = await recorded();
    expect(row).toMatchObject({ alias: 'svc/extract-default', served_by: 'svc/extract-fast' });
    expect(row?.charge_micro).toBe(TOKENS * BigInt(second.received.length));
  });
});

describe('models in the body', () => {
  const sent = (upstream: ScriptedUpstream) => new TextDecoder().decode(upstream.received.at(-1)?.body);

  test('are tried in order and are not sent to a provider, on every wire', async () => {
    for (const [path, body] of [
      ['chat/completions', { messages: [] }],
      ['responses', { input: 'Hi' }],
      ['messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 }],
    ] as const) {
      await fresh([DEFAULT, CHEAP]);
      gateway.upstream.answer(failing(500));
      const answered = await ask(
        { messages: undefined, ...body, models: [DEFAULT, CHEAP] },
        key.rawKey,
        path,
      );
      await answered.text();
      expect([answered.status, answered.headers.get('x-turnpike-served-by')]).toEqual([200, CHEAP]);
      for (const upstream of [gateway.upstream, second]) expect(sent(upstream)).not.toContain('models');
      // Listed by the client, so at the price of the one that served it. The answer has no usage of Responses.
      const charge_micro = path === 'responses' ? 0n : TOKENS * 10n;
      expect((await recorded()).row).toMatchObject({ alias: DEFAULT, served_by: CHEAP, charge_micro });
    }
  });

  test('each must be one that the key may call', async () => {
    await fresh([DEFAULT]);
    expect(await refusalOf(ask({ models: [CHEAP] }))).toMatchObject({ status: 403, param: 'models' });
    expect(counts()).toEqual([0, 0]);
  });
});

describe('a hedge', () => {
  test('however calls are tried, each has one record and one charge, and no hold remains', async () => {
    const targets = [at(gateway.upstream, { maxInFlight: 5 }), at(second)];
    await set(DEFAULT, { targets, strategy: 'latency', retries: 2, fallback: CHEAP, hedgeMs: 5 });
    await fresh();
    const random = createSeededRandom(11);
    const script = async () => {
      const [delay, what] = [random.below(25), random.below(10)];
      await new Promise((resolve) => setTimeout(resolve, delay));
      return what < 3 ? new Response('no', { status: 500 }) : ok();
    };
    for (const upstream of [gateway.upstream, second]) upstream.answer(script);
    const calls = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const response = await ask();
        await response.text();
        return { status: response.status, tries: Number(response.headers.get('x-turnpike-tries')) };
      }),
    );
    const rows = await gateway.calls(key.id, 40);
    expect(rows).toHaveLength(40);
    const paid = rows.filter((row) => row.outcome === 'SUCCEEDED');
    expect(paid).toHaveLength(calls.filter(({ status }) => status === 200).length);
    for (const row of paid) {
      const price = row.served_by === CHEAP ? 10n : 1n;
      expect(await gateway.credits.chargesOf(row.id)).toMatchObject([{ amount_micro: -TOKENS * price }]);
    }
    // A hedge that was aborted before it was written is a try that no provider has seen.
    const [one = 0, other = 0] = counts();
    expect(calls.reduce((sum, { tries }) => sum + tries, 0)).toBeGreaterThanOrEqual(one + other);
    await until(async () => (await gateway.credits.held()) === 0);
  });
});
