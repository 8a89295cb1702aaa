import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf } from './scripted-upstream.ts';

const ALIAS = 'svc/chat-default';
const messages = [{ role: 'user', content: 'Hello' }];
const BODIES = {
  '/chat/completions': { messages, max_tokens: 600 },
  '/responses': { input: 'Hello', max_output_tokens: 600, store: false },
  '/messages': { messages, max_tokens: 600 },
} as const;
type Path = keyof typeof BODIES;

/** As Gemini reports it: every chunk has the counts so far, and thinking is only in the total. */
const counts = (completion_tokens: number, total_tokens: number) => ({
  ...{ prompt_tokens: 8, completion_tokens, total_tokens },
});
const USAGE = counts(9, 500);
const stopped = chunk('.', { usage: USAGE }).replace('"finish_reason":null', '"finish_reason":"stop"');
const STREAM = [
  chunk('', { usage: { prompt_tokens: 8, total_tokens: 300 } }),
  chunk('Hi', { usage: counts(2, 493) }),
  ...[stopped, done],
];

describe('reasoning that only the total of usage shows', () => {
  const gateway = useResource(() => openGateway());

  async function call(path: string, body: object) {
    const minted = await gateway.mint();
    const response = await post(`${gateway.url}${path}`, minted.rawKey, { model: ALIAS, ...body });
    const answer = await response.text();
    const [row] = await gateway.calls(minted.id, 1);
    return { status: response.status, answer, row };
  }

  const paths = Object.keys(BODIES) as Path[];
  const cases = paths.flatMap((path) => [false, true].map((stream) => ({ path, stream })));

  test.each(cases)('G-28 is charged at the preset of Gemini: $path, stream: $stream', async (given) => {
    const { path, stream } = given;
    await gateway.aimAtProvider(ALIAS, { provider: 'gemini' }, gateway.upstream);
    gateway.upstream.answer(() =>
      stream ? streamOf(...STREAM) : Response.json(chatAnswer({ usage: USAGE })),
    );
    const { status, answer, row } = await call(path, { ...BODIES[path], stream });
    expect(status).toBe(200);
    // 8 at 1, and 9 with 483 of thinking at 4.
    const charged = { prompt_tokens: 8n, cached_tokens: 0n, completion_tokens: 492n, charge_micro: 1_976n };
    expect(row).toMatchObject({ outcome: 'SUCCEEDED', ...charged });
    const reported = {
      '/chat/completions': JSON.stringify(USAGE),
      '/responses': '"output_tokens":492,"output_tokens_details":{"reasoning_tokens":483},"total_tokens":500',
      '/messages': '"output_tokens":492,"output_tokens_details":{"thinking_tokens":483}',
    };
    expect(answer).toContain(reported[path]);
  });

  test('is charged at no other preset', async () => {
    await gateway.aimAtProvider(ALIAS, { provider: 'compatible' }, gateway.upstream);
    for (const stream of [false, true]) {
      gateway.upstream.answer(() =>
        stream ? streamOf(...STREAM) : Response.json(chatAnswer({ usage: USAGE })),
      );
      const { row } = await call('/chat/completions', { ...BODIES['/chat/completions'], stream });
      expect(row).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens: 8n, completion_tokens: 9n });
    }
  });

  test.each([false, true])(
    'what hosted tools read is not charged as output; they have a price: %p',
    async (isPriced) => {
      const alias = 'svc/chat-premium';
      await gateway.aimAtProvider(alias, { provider: 'gemini' }, gateway.upstream);
      if (isPriced) await gateway.equip(alias, { tools: { web_search: 0 } });
      for (const stream of [false, true]) {
        gateway.upstream.answer(() =>
          stream ? streamOf(...STREAM) : Response.json(chatAnswer({ usage: USAGE })),
        );
        const body = { model: alias, messages, stream };
        const searching = await call('/chat/completions', { ...body, web_search_options: {} });
        expect(searching.row).toMatchObject({ prompt_tokens: 8n, completion_tokens: 9n });
        const { row } = await call('/chat/completions', body);
        expect(row).toMatchObject({ prompt_tokens: 8n, completion_tokens: 492n });
      }
    },
  );
});
