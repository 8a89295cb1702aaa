import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { applyModelConfig } from '../../src/domain/models/apply-model-config.ts';
import { until } from '../doubles/until.ts';
import {
  type GatewayOptions,
  type GatewayUnderTest,
  openGateway,
  post,
} from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { usePostgres } from '../setup/use-postgres.ts';
import { describeServers, useRedis } from '../setup/use-redis.ts';

const CREDIT = 1_000_000n;
const CALLS = 100;
/** Of the alias: the defaults are larger, so that one call could cost more than the balance. */
const CONTEXT_LENGTH = 20_000;
const MAX_OUTPUT = 5_000;

const chat = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }] };
const text = { model: 'svc/chat-default', prompt: 'Hi' };
const image = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } };

/** What the provider reports where it uses all that the body allows it; prices are 1 and 4 micro-credits a token. */
interface Trick {
  readonly path: '/chat/completions' | '/completions';
  readonly body: object;
  readonly prompt: number;
  readonly completion: number;
}

const trick = (path: Trick['path'], body: object, prompt: number, completion: number): Trick => ({
  ...{ path, body, prompt, completion },
});
const TRICKS: Readonly<Record<string, Trick>> = {
  'no maximum': trick('/chat/completions', chat, 10, MAX_OUTPUT),
  'a small max_tokens beside a large max_completion_tokens': trick(
    '/chat/completions',
    { ...chat, max_tokens: 1, max_completion_tokens: 4_000 },
    ...([10, 4_000] as const),
  ),
  'many choices': trick('/chat/completions', { ...chat, n: 100, max_tokens: 100 }, 10, 10_000),
  'many prompts with many choices': trick(
    '/completions',
    { ...text, prompt: [[1], [2], [3], [4], [5]], n: 10, max_tokens: 100 },
    ...([5, 5_000] as const),
  ),
  'the address of an image': trick(
    '/chat/completions',
    { ...chat, messages: [{ role: 'user', content: [image] }], max_tokens: 1 },
    ...([CONTEXT_LENGTH, 1] as const),
  ),
};

const AT_ONCE = 'G-29 a balance of 1 credit and 100 calls at once';

describe(AT_ONCE, () => describeTricks(async () => ({})));

describeServers('on PostgreSQL and Redis', () => {
  const database = usePostgres();
  const redis = useRedis();

  describe(AT_ONCE, () => describeTricks(async () => ({ database, sharedState: await redis.open() })));
});

/** On whichever engines: the hold is taken in one step of shared state. */
function describeTricks(engines: () => Promise<Pick<GatewayOptions, 'database' | 'sharedState'>>): void {
  test.each(Object.entries(TRICKS))(
    '%s: the overdraft is less than what one call costs',
    async (_, { path, body, prompt, completion }) => {
      const gateway = await opened(await engines());
      const gate = Promise.withResolvers<void>();
      const usage = { prompt_tokens: prompt, completion_tokens: completion };
      gateway.upstream.answer(async () => {
        await gate.promise;
        return Response.json(chatAnswer({ usage }));
      });
      const { rawKey } = await gateway.mint({ tokensPerMinute: 2_000_000_000 });
      const statuses: number[] = [];
      const all = Array.from({ length: CALLS }, async () => {
        const response = await post(`${gateway.url}${path}`, rawKey, body);
        await response.text();
        statuses.push(response.status);
      });
      await until(() => statuses.length + gateway.upstream.received.length === CALLS);
      const admitted = gateway.upstream.received.length;
      gate.resolve();
      await Promise.all(all);
      const oneCallMicro = BigInt(prompt + 4 * completion);
      const { balanceMicro } = await gateway.credits.level();
      expect(balanceMicro).toBe(CREDIT - BigInt(admitted) * oneCallMicro);
      expect(balanceMicro).toBeGreaterThan(-oneCallMicro);
      expect(admitted).toBeGreaterThan(0);
      // Nothing was changed in the body but the model's name.
      const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received[0]?.body));
      expect({ ...sent, model: chat.model }).toEqual(body);
      await gateway.close();
    },
  );
}

describe('bodies', () => {
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    gateway = await opened();
  });
  afterAll(() => gateway.close());

  test('G-12 with enforce_max_output a body without a maximum gets the alias’s, and others are unchanged', async () => {
    await configure(gateway, { enforce_max_output: true });
    const { rawKey } = await gateway.mint();
    const sent = async (path: string, body: object) => {
      await (await post(`${gateway.url}${path}`, rawKey, body)).text();
      const { model: _, ...rest } = JSON.parse(
        new TextDecoder().decode(gateway.upstream.received.at(-1)?.body),
      );
      return rest;
    };
    const { model: _, ...plain } = chat;
    expect(await sent('/chat/completions', chat)).toEqual({ ...plain, max_tokens: MAX_OUTPUT });
    expect(await sent('/chat/completions', { ...chat, max_tokens: null })).toEqual({
      ...plain,
      max_tokens: MAX_OUTPUT,
    });
    expect(await sent('/chat/completions', { ...chat, stream: true, stream_options: null })).toEqual({
      ...plain,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: MAX_OUTPUT,
    });
    const own = { ...plain, max_completion_tokens: 9 };
    expect(await sent('/chat/completions', { ...own, model: chat.model })).toEqual(own);
    expect(await sent('/embeddings', { model: 'svc/embed-default', input: 'a' })).toEqual({ input: 'a' });
  });
});

async function opened(engines: GatewayOptions = {}): Promise<GatewayUnderTest> {
  const gateway = await openGateway({ balanceMicro: CREDIT, ...engines });
  await configure(gateway, {});
  return gateway;
}

async function configure(gateway: GatewayUnderTest, more: { enforce_max_output?: boolean }): Promise<void> {
  // Without it the id of a file is refused.
  const ids = { provider_ids: ['file-1'] };
  const bounds = { context_length: CONTEXT_LENGTH, max_output_tokens: MAX_OUTPUT, ...ids, ...more };
  await applyModelConfig(gateway.catalogue, {
    'svc/chat-default': bounds,
    'svc/embed-default': more,
  });
  const { enforce_max_output: enforced = false } = more;
  await until(() => {
    const alias = gateway.models.find('svc/chat-default');
    return alias?.maxOutputTokens === MAX_OUTPUT && alias.enforceMaxOutput === enforced;
  });
}
