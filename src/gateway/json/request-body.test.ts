import { describe, expect, test } from 'bun:test';
import { type ModelBodyFields, readModelBody } from './request-body.ts';
import { type BodyChanges, rewriteModelBody } from './rewrite-body.ts';

const encode = (text: string) => new TextEncoder().encode(text);

function fieldsOf(text: string): ModelBodyFields {
  const read = readModelBody(encode(text));
  if (read.outcome === 'invalid') throw new Error(`${read.message}: ${text}`);
  return read.fields;
}

function refusalOf(body: string | Uint8Array): string {
  const read = readModelBody(typeof body === 'string' ? encode(body) : body);
  return read.outcome === 'read' ? 'read' : `${read.param}: ${read.message}`;
}

function rewritten(text: string, providerModel = 'openai/gpt-x', before = 0): string {
  const encoded = new TextEncoder().encode(text);
  const memory = new Uint8Array(before + encoded.length + 5).fill(0x7a);
  memory.set(encoded, before);
  const bytes = memory.subarray(before, before + encoded.length);
  const read = readModelBody(bytes);
  if (read.outcome === 'invalid') throw new Error(read.message);
  const result = new TextDecoder().decode(rewriteModelBody(bytes, read.fields, { model: providerModel }));
  // A call may be sent to another target afterwards: the body it was made of stays as it was.
  expect(new TextDecoder().decode(bytes)).toBe(text);
  return result;
}

// What any body means, and what is sent of it, is compared with JSON.parse in test/attacks/ambiguous-bodies.test.ts.

describe('what a body is read as', () => {
  test.each([
    ['{"model":"fast"}', 'fast'],
    ['{"model":"a\\u0062\\n\\"\\\\"}', 'ab\n"\\'],
    ['{"mod\\u0065l":"fast"}', 'fast'],
    ['{"modelx":"other","a":{"model":"inner"},"model":"fast","mode":"other"}', 'fast'],
  ])('the model of %p', (text, model) => {
    expect(fieldsOf(text).model).toBe(model);
  });

  test.each([
    ['"stream":true', true],
    ['"stream":null', false],
    ['"b":{"stream":true}', false],
  ])('a stream: %s', (member, stream) => {
    expect(fieldsOf(`{"model":"a",${member}}`).stream).toBe(stream);
  });
});

describe('G-13 G-36: members that are missing, ill-typed, or that two parsers could read differently', () => {
  test.each([
    ['{}', "model: 'model' is missing"],
    ['{"model":1}', "model: 'model' must be a string"],
    ['{"stream":"true","model":"a"}', "stream: 'stream' must be true, false or null"],
    ['{"model":"a","stream_options":[]}', "stream_options: 'stream_options' must be an object or null"],
    [
      '{"model":"a","stream_options":{"include_usage":true,"include\\u005fusage":true}}',
      "stream_options: Duplicate field 'stream_options.include_usage'.",
    ],
    [
      '{"model":"a","stream_options":null,"stream\\u005foptions":null}',
      "stream_options: Duplicate field 'stream_options'.",
    ],
    ['\ufeff{"model":"a"}', 'null: the body begins with a byte order mark; send it without'],
  ])('%p: %s', (text, message) => {
    expect(refusalOf(text)).toBe(message);
  });

  test.each([
    ['max_tokens', 'max_token\\u0073'],
    ['n', '\\u006e'],
    ['include_usage', 'include_usage'],
  ])('%s twice', (name, secondName) => {
    const text = `{"model":"a","${name}":null,"x":1,"${secondName}":null}`;
    expect(refusalOf(text)).toBe(`${name}: Duplicate field '${name}'.`);
  });

  test.each([
    ['model', 'Model'],
    ['stream', '\u017ftream'],
    ['max_tokens', 'max_to\u212aens'],
    ['n', '\\u004e'],
  ])('%s in other letters: %s', (name, variant) => {
    const message = `Write the field '${name}' in lower case.`;
    expect(refusalOf(`{"${variant}":1,"model":"a"}`)).toBe(`${name}: ${message}`);
    const options = `{"model":"a","stream_options":{"include_usage":true,"${variant}":1}}`;
    const inside = `Write the field 'stream_options.${name}' in lower case.`;
    expect(refusalOf(options)).toBe(`stream_options: ${inside}`);
    expect(refusalOf(`{"model":"a","messages":[{"${variant}":1,"${name}":1}]}`)).toBe('read');
  });
});

describe('G-36: a malformed body', () => {
  test.each([
    ['', 'the body is empty; it must be a JSON object'],
    ['[{"model":"a"}]', 'the body must be a JSON object'],
    ['{"model":"a', 'the body is not valid JSON: it ends too early'],
    ['{"model":"a"}}', 'the body is not valid JSON: unexpected character at byte 13'],
    ['model=a&stream=true', 'the body is not valid JSON: unexpected character at byte 0'],
  ])('%p: %s', (text, message) => {
    expect(refusalOf(text)).toBe(`null: ${message}`);
  });

  test('that is not UTF-8', () => {
    const body = Uint8Array.of(...encode('{"model":"a","b":"'), 0xed, 0xa0, 0x80, ...encode('"}'));
    expect(refusalOf(body)).toBe('null: the body is not valid UTF-8: wrong sequence at byte 18');
    expect(refusalOf(body.subarray(0, body.length - 2))).toContain('not valid UTF-8');
  });
});

describe('G-40: input of the estimate', () => {
  test.each([
    ['', null],
    ['"max_completion_tokens":20,"max_tokens":10', 20],
    ['"max_tokens":10,"max_completion_tokens":null', 10],
    ['"max_tokens":0', null],
    ['"max_tokens":" 1_000 "', 1_000],
    ['"max_tokens":[10]', null],
    ['"max_tokens":1.2', 2],
    ['"max_tokens":1e400', Number.MAX_SAFE_INTEGER],
    [`"max_tokens":0.${'0'.repeat(1000)}1`, null],
    ['"a":{"max_tokens":10}', null],
  ])('max tokens: %s', (members, maxTokens) => {
    expect(fieldsOf(`{${members}${members === '' ? '' : ','}"model":"a"}`).maxTokens).toBe(maxTokens);
  });

  test.each([
    ['"n":2.9', 2],
    ['"n":0', 1],
    ['"n":"3"', 3],
    ['"n":1e400', Number.MAX_SAFE_INTEGER],
    ['"n":3,"best_of":20', 20],
    ['"n":30,"best_of":20', 30],
  ])('choices: %s', (members, choices) => {
    expect(fieldsOf(`{"model":"a",${members}}`).choices).toBe(choices);
  });

  test.each([
    ['"prompt":"a"', 1],
    ['"prompt":["a","b" , "c"]', 3],
    ['"prompt":[1,2,3]', 1],
    ['"prompt":[[1,2],[3]]', 2],
    ['"prompt":[]', 1],
    ['"Prompt":["a","b"],"prompt":"a"', 2],
    ['"input":["a","b"]', 2],
    ['"messages":[{"prompt":["a","b"]}]', 1],
  ])('prompts: %s', (member, prompts) => {
    expect(fieldsOf(`{${member},"model":"a"}`).prompts).toBe(prompts);
  });

  test.each([
    ['"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}]}]', true],
    ['"messages":[{"content":[{"type":"file","file":{"FILE\\u005fID":"file-1"}}]}]', true],
    ['"previous_response_id":"resp_1"', true],
    ['"web_search_options":{}', true],
    ['"preset":"cheap-research"', true],
    ['"preset":null', false],
    ['"messages":[{"content":"the image_url is \\"file_id\\":"}]', false],
  ])('content outside the body: %s', (member, refersOutside) => {
    expect(fieldsOf(`{${member},"model":"a"}`).refersOutside).toBe(refersOutside);
  });
});

test('G-12: 100,000 levels inside of a body are read', () => {
  const deep = `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`;
  expect(fieldsOf(`{"messages":${deep},"model":"a"}`).model).toBe('a');
  expect(fieldsOf(`{"stream_options":{"b":${deep}},"model":"a"}`).model).toBe('a');
});

test.each([
  ['{"model":"a much longer alias than that"}', '{"model":"openai/gpt-x"}'],
  [
    '{"seed":9007199254740993,"a":1.0,"c":-0, "mod\\u0065l" : "fast","d":"\\u00e9\\/é😀","e":{"a":1,"a":2}}',
    '{"seed":9007199254740993,"a":1.0,"c":-0, "mod\\u0065l" : "openai/gpt-x","d":"\\u00e9\\/é😀","e":{"a":1,"a":2}}',
  ],
  [
    '{"model":"a","stream_options":{"include_usage":false}}',
    '{"model":"openai/gpt-x","stream_options":{"include_usage":false}}',
  ],
])('G-12: only the value of model changes: %p', (text, expected) => {
  for (let before = 0; before < 4; before++) expect(rewritten(text, 'openai/gpt-x', before)).toBe(expected);
});

test.each(['', 'a"b\\c', '\ud800'])('the provider has a model called %p', (providerModel) => {
  const result = rewritten('{"model":"fast","a":1}', providerModel);
  expect(result).toBe(`{"model":${JSON.stringify(providerModel)},"a":1}`);
});

test.each([
  ['{"model":"a","stream":true}', '{"model":"M","stream":true,"stream_options":{"include_usage":true}}'],
  [
    '{"stream_options": null ,"model":"a","stream":true}',
    '{"stream_options": {"include_usage":true} ,"model":"M","stream":true}',
  ],
  [
    '{"stream_options":{"b":[1, 2] },"model":"a","stream":true}',
    '{"stream_options":{"b":[1, 2] ,"include_usage":true},"model":"M","stream":true}',
  ],
  [
    '{"model":"a","stream":true,"stream_options":{"include_usage": false ,"b":1}}',
    '{"model":"M","stream":true,"stream_options":{"include_usage": true ,"b":1}}',
  ],
])('G-13: usage is requested for a stream: %p', (text, expected) => {
  for (let before = 0; before < 4; before++) expect(rewritten(text, 'M', before)).toBe(expected);
});

describe('members that a provider does not support are not added', () => {
  const rewritten = (body: string, changes: Omit<BodyChanges, 'model'>) => {
    const bytes = new TextEncoder().encode(body);
    const read = readModelBody(bytes);
    if (read.outcome !== 'read') throw new Error(read.message);
    return new TextDecoder().decode(rewriteModelBody(bytes, read.fields, { model: 'M', ...changes }));
  };

  test('without stream_options a stream has only the client’s', () => {
    const stream = '{"model":"a","stream":true}';
    expect(rewritten(stream, { hasStreamOptions: false })).toBe('{"model":"M","stream":true}');
    expect(rewritten(stream, {})).toContain('include_usage');
    const asked = '{"model":"a","stream":true,"stream_options":{"include_usage":false}}';
    expect(rewritten(asked, { hasStreamOptions: false })).toBe(asked.replace('"a"', '"M"'));
  });
});

test('a body has at most a thousand members that are not listed, each of which is compared with every listed name', () => {
  const others = (count: number) => Array.from({ length: count }, (_, at) => `"n${at}":1`).join();
  expect(refusalOf(`{"model":"a",${others(1_000)}}`)).toBe('read');
  expect(refusalOf(`{"model":"a","messages":[{${others(2_000)}}]}`)).toBe('read');
  expect(refusalOf(`{"model":"a",${others(1_001)}}`)).toContain('more than 1000 members');
  expect(refusalOf(`{"model":"a","stream_options":{${others(1_001)}}}`)).toContain('more than 1000 members');
});

describe('the end user of a body', () => {
  const attributionOf = (text: string, wire?: 'responses' | 'messages') => {
    const read = readModelBody(encode(text), wire);
    return read.outcome === 'read' ? read.fields.attribution : read.message;
  };
  const nothing = { user: null, safetyIdentifier: null, tags: [] };

  test('is null where none is given', () => {
    expect(attributionOf('{"model":"a","messages":[{"user":"inner","metadata":{"a":"b"}}]}')).toBeNull();
    expect(attributionOf('{"model":"a","User":"x","users":"x","usr":"x"}')).toBeNull();
  });

  test.each([
    ['{"model":"a","user":"u-1"}', { user: 'u-1' }],
    ['{"user":"first","user":"l\\u0061st","model":"a"}', { user: 'last' }],
    ['{"user":7,"model":"a"}', { user: '7' }],
    ['{"user":{"id":7},"model":"a"}', {}],
    ['{"user":null,"safety_identifier":"s-1","model":"a"}', { safetyIdentifier: 's-1' }],
    ['{"metadata":{"env":"prod","run":12,"deep":{"x":1}},"model":"a"}', { tags: ['env:prod', 'run:12'] }],
    ['{"metadata":{"user_id":"m-1"},"model":"a"}', { user: 'm-1' }],
  ])('%s', (text, expected) => {
    for (const wire of [undefined, 'responses', 'messages'] as const) {
      expect(attributionOf(text, wire)).toEqual({ ...nothing, ...expected });
    }
  });

  test('is bounded, and invalid JSON in it is found', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`n${at}`, 'v']));
    const read = attributionOf(JSON.stringify({ metadata: many, user: 'x'.repeat(5_000), model: 'a' }));
    expect(read).toMatchObject({ user: null, tags: { length: 16 } });
    expect(attributionOf('{"model":"a","metadata":{"a":"b",}}')).toContain('not valid JSON');
    expect(attributionOf('{"model":"a","user":"\u0001"}')).toContain('not valid JSON');
  });

  test('a name in metadata that refers outside the body is still detected', () => {
    expect(fieldsOf('{"model":"a","metadata":{"file_id":"f"}}').refersOutside).toBe(true);
  });
});
