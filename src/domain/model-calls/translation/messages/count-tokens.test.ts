import { describe, expect, test } from 'bun:test';
import { estimateInputTokens } from './count-tokens.ts';

const target = {
  ...{ model: 'gpt-5', hasStreamOptions: true, defaultMaxTokens: 1_000 },
  maxTokensName: 'max_tokens' as const,
};

function counted(request: object) {
  const result = estimateInputTokens(new TextEncoder().encode(JSON.stringify(request)), target);
  if (result.outcome === 'refused') return result;
  return JSON.parse(new TextDecoder().decode(result.body));
}

const asked = (content: unknown) => ({ model: 'm', messages: [{ role: 'user', content }] });

describe('the tokens of a request to a model that cannot count them', () => {
  test('are a quarter of the bytes that it would get; a larger request has more', () => {
    const { input_tokens: few } = counted(asked('Hi'));
    expect(few).toBeWithin(8, 16);
    const { input_tokens: many } = counted(asked('word '.repeat(4_000)));
    expect(many).toBeWithin(5_000, 5_020);
    const tools = [{ name: 'f', description: 'x'.repeat(4_000), input_schema: { type: 'object' } }];
    expect(counted({ ...asked('Hi'), tools, system: 'y'.repeat(400) }).input_tokens).toBeWithin(1_100, 1_150);
  });

  test('do not depend on the bytes of an image; a PDF counts by its size', () => {
    const image = (data: string) => [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
    ];
    const { input_tokens: small } = counted(asked(image('aGk=')));
    expect(small).toBeWithin(1_600, 1_620);
    expect(counted(asked(image('a'.repeat(100_000)))).input_tokens).toBe(small);
    const source = { type: 'base64', media_type: 'application/pdf', data: 'a'.repeat(120_000) };
    expect(counted(asked([{ type: 'document', source }])).input_tokens).toBeWithin(9_000, 9_050);
  });

  test('need no maximum, and members that cannot be sent are refused by name', () => {
    expect(counted({ model: 'm' })).toMatchObject({ outcome: 'refused', param: 'messages' });
    expect(counted({ ...asked('Hi'), container: 'c' })).toMatchObject({
      outcome: 'refused',
      param: 'container',
    });
    const broken = estimateInputTokens(new TextEncoder().encode('{'), target);
    expect(broken).toMatchObject({ outcome: 'refused', param: null });
  });
});
