import { describe, expect, test } from 'bun:test';
import { readRecordedAnswer } from '../../../test/recorded/streams.ts';
import { createRestampedBytes, readWholeAnswer } from './answer-body.ts';

const ALIAS = 'svc/chat-default';

function read(text: string, alias = ALIAS) {
  const { bytes, ...rest } = readWholeAnswer(new TextEncoder().encode(text), alias);
  return { ...rest, text: new TextDecoder().decode(bytes) };
}

describe('G-16 the names of the provider become the alias, and nothing else changes', () => {
  test.each([
    ['{"model":"a"}', '{"model":"svc/chat-default"}'],
    ['{ "x" : 1 ,\r\n\t"model" : "a" , "y":2}\n', '{ "x" : 1 ,\r\n\t"model" : "svc/chat-default" , "y":2}\n'],
    ['{"model":""}', '{"model":"svc/chat-default"}'],
    ['{"model":null}', '{"model":"svc/chat-default"}'],
    ['{"model":{"name":["a"]},"y":"}"}', '{"model":"svc/chat-default","y":"}"}'],
    ['{"model":"a\\"b\\\\","y":"\\u00e4"}', '{"model":"svc/chat-default","y":"\\u00e4"}'],
    ['{"model":"a","model":"b"}', '{"model":"svc/chat-default","model":"svc/chat-default"}'],
    ['{"mod\\u0065l":"a"}', '{"mod\\u0065l":"svc/chat-default"}'],
    [
      '{"\\u006D\\u006F\\u0064\\u0065\\u006C":"a"}',
      '{"\\u006D\\u006F\\u0064\\u0065\\u006C":"svc/chat-default"}',
    ],
    ['{"provider":"P","model":"a"}', '{"provider":"svc/chat-default","model":"svc/chat-default"}'],
    ['{"provid\\u0065r":"P"}', '{"provid\\u0065r":"svc/chat-default"}'],
  ])('%s', (text, expected) => {
    expect(read(text).text).toBe(expected);
  });

  test.each([
    ['no model', '{"id":"a"}'],
    ['an empty object', ' { } '],
    ['a nested one', '{"choices":[{"model":"a","provider":"P"}],"x":{"model":"b"}}'],
    ['one in a text', '{"content":"\\"model\\":\\"a\\"","y":"{\\"model\\":1}"}'],
    [
      'another name',
      '{"Model":"a","model_name":"b","models":"c","\\\\u006dodel":"d","\\u00":"e","mo\\ndel":"f"}',
    ],
    ['a provider that is no text', '{"provider":{"name":"P"}}'],
    ['numbers past 2^53 and unknown fields', '{"seed":9007199254740993,"x":-1.50e+10,"y":[[],{}]}'],
  ])('%s stays as it is', (_, text) => {
    expect(read(text).text).toBe(text);
    expect(read(text).isJsonObject).toBe(true);
  });

  test('an alias with characters of JSON is escaped', () => {
    expect(JSON.parse(read('{"model":"a"}', 'svc/"ü"\\').text)).toEqual({ model: 'svc/"ü"\\' });
  });

  test('an answer that needs no stamp is not copied', () => {
    const bytes = new TextEncoder().encode('{"id":"a"}');
    expect(readWholeAnswer(bytes, ALIAS).bytes).toBe(bytes);
  });
});

describe('what is no object of JSON is known as such', () => {
  test.each([
    '',
    ' ',
    '[]',
    '[{"model":"a"}]',
    '"model"',
    'null',
    '<html>',
    '{',
    '{"',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{,}',
    '{"a" 12}',
    '{"a"x"b"}',
    '{"a":}',
    '{"a":[1}',
    '{"a":"b',
    '{"a":"b\\"}',
    '{a:1}',
    '{"a":1 2}',
    '{"a":1}}',
    '{"a":1} {"b":2}',
    '{"a":1}x',
    '{"a":{"b":"c}',
    '{"a":[',
    '{"a":tr"ue"}',
    '{"a":1"b":2}',
    '}',
  ])('%j', (text) => {
    expect(read(text).isJsonObject).toBe(false);
  });

  test('a name that is cut itself stays', () => {
    expect(read('{"id":1,"model":"gp').text).toBe('{"id":1,"model":"gp');
  });

  test('what it names of the provider is stamped all the same, but its usage does not count', () => {
    const cut = read('{"model":"a","usage":{"prompt_tokens":1},"choices":[{');
    expect(cut).toEqual({
      text: '{"model":"svc/chat-default","usage":{"prompt_tokens":1},"choices":[{',
      usage: null,
      isError: false,
      isJsonObject: false,
    });
  });
});

describe('recorded answers', () => {
  const names = (name: string) => new TextDecoder().decode(readRecordedAnswer(name));

  test.each([
    ['openai-chat', ['gpt-4.1-mini-2025-04-14'], [1117, 1024, 46]],
    ['openrouter-chat', ['google/gemini-2.5-flash', 'Google'], [63, 0, 12]],
    ['openai-completions', ['gpt-3.5-turbo-instruct:20230824-v2'], [5, 0, 7]],
    ['openai-embeddings', ['text-embedding-3-small'], [8, 0, 0]],
  ])('G-16 G-17 %s', (name, providerNames, [promptTokens, cachedTokens, completionTokens]) => {
    const text = names(name);
    let expected = text;
    for (const provider of providerNames) expected = expected.replace(`"${provider}"`, `"${ALIAS}"`);
    expect(expected).not.toBe(text);
    expect(read(text)).toEqual({
      text: expected,
      usage: { promptTokens, cachedTokens, completionTokens } as never,
      isError: false,
      isJsonObject: true,
    });
  });

  test('an error that came with status 200 is known as one', () => {
    expect(read(names('error-with-status-200'))).toMatchObject({ isError: true, isJsonObject: true });
    expect(read('{"error":null,"model":"a"}').isError).toBe(false);
  });
});

test.each([
  ['{"usage":null}', null],
  ['{"choices":[]}', null],
  ['{"choices":[{"usage":{"prompt_tokens":1}}]}', null],
  ['{"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":2}}', 2],
  ['{"us\\u0061ge":{"prompt_tokens":3}}', 3],
  ['{"usage":{"prompt_tokens":0}}', 0],
  ['{"usage":{"prompt_tokens":4},"usage":null}', 4],
])('G-31 an answer without usage at its top has none: %s', (text, promptTokens) => {
  expect(read(text).usage?.promptTokens ?? null).toBe(promptTokens);
});

describe('pieces', () => {
  test('what stands side by side is passed on uncopied, the rest is joined in order', () => {
    const output = createRestampedBytes('b');
    const source = new TextEncoder().encode('0123456789');
    expect(output.take()).toBeNull();
    output.keep(source, 0, 4);
    output.keep(source, 4, 10);
    expect(output.take()).toBe(source);
    output.keep(source, 0, 2);
    output.keep(source, 2, 2);
    output.stamp();
    output.keep(source, 5, 5);
    output.keep(source, 8, 10);
    output.keep(source, 0, 1);
    expect(new TextDecoder().decode(output.take() ?? undefined)).toBe('01"b"890');
    expect(output.take()).toBeNull();
  });
});
