import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, PROVIDER_MODEL, post } from './gateway-under-test.ts';
import { chunk, done, streamOf, USAGE, unaskedUsageChunk, usageChunk } from './scripted-upstream.ts';

const unasked = { model: 'svc/chat-default', messages: [], stream: true };
const asked = { ...unasked, stream_options: { include_usage: true } };
const text = (...events: string[]) => events.join('').replaceAll(PROVIDER_MODEL, 'svc/chat-default');
const SHOWN = text(chunk('Hel'), chunk('lo'), usageChunk, done);
const UNASKED = text(chunk('Hel'), chunk('lo'), unaskedUsageChunk, done);
const HIDDEN = text(chunk('Hel'), chunk('lo'), done);

const always = useResource(() => openGateway());
const hidingGateway = useResource(() => openGateway({ streamUsageChunk: 'asked' }));

type Gateway = Awaited<ReturnType<typeof openGateway>>;

async function streamed(
  gateway: Gateway,
  body: object,
  streamUsageChunk: 'ALWAYS' | 'ASKED' | null = null,
  headers: Record<string, string> = {},
) {
  gateway.upstream.answer(() => streamOf(chunk('Hel'), chunk('lo'), usageChunk, done));
  const { rawKey, id } = await gateway.mint({ streamUsageChunk });
  const ask = async () => (await post(`${gateway.url}/chat/completions`, rawKey, body, { headers })).text();
  const answer = await ask();
  const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body));
  expect(sent.stream_options).toMatchObject({ include_usage: true });
  const [row] = await gateway.calls(id, 1);
  // It is charged in any case.
  expect(row).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens: BigInt(USAGE.prompt_tokens) });
  return { answer, ask };
}

describe('G-13 the usage chunk of a stream', () => {
  test('G-13 is always shown unless it is set otherwise, with an empty choice for clients that did not ask', async () => {
    expect((await streamed(always, asked)).answer).toBe(SHOWN);
    expect((await streamed(always, unasked)).answer).toBe(UNASKED);
  });

  test.each([
    ['nothing about it', unasked, HIDDEN],
    ['true', asked, SHOWN],
    ['false', { ...unasked, stream_options: { include_usage: false } }, HIDDEN],
  ])(
    'with STREAM_USAGE_CHUNK=asked is sent only where the client requested it: %s',
    async (_, body, expected) => {
      expect((await streamed(hidingGateway, body)).answer).toBe(expected);
    },
  );

  test('follows the key where that has its own setting', async () => {
    expect((await streamed(hidingGateway, unasked, 'ALWAYS')).answer).toBe(UNASKED);
    expect((await streamed(always, unasked, 'ASKED')).answer).toBe(HIDDEN);
    expect((await streamed(always, asked, 'ASKED')).answer).toBe(SHOWN);
  });
});
