import { describe, expect, test } from 'bun:test';
import { type ModelBodyFields, readModelBody } from './request-body.ts';
import { type BodyChanges, rewriteModelBody } from './rewrite-body.ts';

const encode = (text: string) => new TextEncoder().encode(text);
/** Every character in its longest form. */
const escaped = (name: string) => name.replace(/./g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`);

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

describe('the model', () => {
  test.each([
    ['{"model":"fast"}', 'fast'],
    [' \r\n\t{ "a" : [1] , "model" : "fast" } \n', 'fast'],
    ['{"model":""}', ''],
    ['{"model":"a\\u0062\\n\\"\\\\"}', 'ab\n"\\'],
    ['{"model":"\\ud83d\\ude00é😀"}', '😀é😀'],
    ['{"model":"\\ud800"}', '\ud800'],
    ['{"model":"\ufeffa"}', '\ufeffa'],
    [`{"model":"${'long'.repeat(50)}"}`, 'long'.repeat(50)],
    ['{"mod\\u0065l":"fast"}', 'fast'],
    ['{"\\u006d\\u006F\\u0064\\u0065\\u006c":"fast"}', 'fast'],
    ['{"modelx":"other","model":"fast","model ":"other","mode":"other","":"other"}', 'fast'],
    ['{"a":{"model":"inner"},"model":"fast","b":[{"model":1,"model":2}]}', 'fast'],
    ['{"mod\\u0066l":"other","mod\\n0065l":"other","model":"fast"}', 'fast'],
    ['{"mod\\\\u0065l":"other","model":"fast"}', 'fast'],
  ])('%p', (text, model) => {
    expect(fieldsOf(text).model).toBe(model);
  });

  test('G-36: its absence and other types are refused by name', () => {
    expect(refusalOf('{}')).toBe("model: 'model' is missing");
    expect(refusalOf('{"stream":true}')).toBe("model: 'model' is missing");
    for (const value of ['null', '1', 'true', '["a"]', '{"a":"b"}']) {
      expect(refusalOf(`{"model":${value}}`)).toBe("model: 'model' must be a string");
    }
  });
});

describe('stream', () => {
  test.each([
    ['true', true],
    ['false', false],
    ['null', false],
  ])('%s', (value, stream) => {
    expect(fieldsOf(`{"model":"a","stream":${value}}`).stream).toBe(stream);
  });

  test('absent, or nested, is no stream', () => {
    expect(fieldsOf('{"model":"a","b":{"stream":true},"c":[{"stream":true}]}').stream).toBe(false);
  });

  test.each(['"true"', '1', '0', '[]', '{}', '""'])('G-13: %s is refused', (value) => {
    expect(refusalOf(`{"stream":${value},"model":"a"}`)).toBe("stream: 'stream' must be true, false or null");
  });
});

describe('G-13: stream_options', () => {
  test.each(['[]', '"a"', '1', 'true', 'false'])('%s is refused, on a stream or not', (value) => {
    for (const stream of ['true', 'false']) {
      const text = `{"model":"a","stream":${stream},"stream_options":${value}}`;
      expect(refusalOf(text)).toBe("stream_options: 'stream_options' must be an object or null");
    }
  });

  test.each(['include_usage', 'include\\u005fusage', escaped('include_usage')])(
    '%s a second time is refused',
    (name) => {
      const text = `{"model":"a","stream_options":{"include_usage":true,"b":1,"${name}":true}}`;
      expect(refusalOf(text)).toBe("stream_options: Duplicate field 'stream_options.include_usage'.");
      const apart = `{"model":"a","include_usage":1,"stream_options":{"include_usage":true,"b":{"${name}":true}}}`;
      expect(refusalOf(apart)).toBe('read');
    },
  );

  test('any other member passes, repeated too', () => {
    const text = '{"model":"a","stream_options":{"b":{"include_usage":1,"include_usage":2},"c":1,"c":2}}';
    expect(refusalOf(text)).toBe('read');
  });
});

describe('G-13: a body that two parsers could read differently is refused', () => {
  test.each([
    ['max_tokens', '1', 'max_token\\u0073'],
    ['max_completion_tokens', 'null', 'max_completion_tokens'],
    ['n', '1', '\\u006e'],
    ['best_of', '1', 'best_of'],
    ['include_usage', 'true', 'include_usage'],
    ['model', '"a"', 'mod\\u0065l'],
    ['stream', 'true', '\\u0073tream'],
    ['stream', 'null', 'stream'],
    ['stream_options', 'null', 'stream\\u005foptions'],
    ['stream_options', '{}', 'stream_options'],
  ])('%s twice', (name, value, secondName) => {
    const first = name === 'model' ? '' : '"model":"a",';
    const text = `{${first}"${name}":${value},"x":1,"${secondName}":${value}}`;
    expect(refusalOf(text)).toBe(`${name}: Duplicate field '${name}'.`);
  });

  test.each([
    ['model', 'Model'],
    ['stream', '\u017ftream'],
    ['stream_options', 'STREAM_OPTIONS'],
    ['include_usage', 'Include_usage'],
    ['max_tokens', 'max_to\u212aens'],
    ['max_tokens', 'max_to\\u212aens'],
    ['max_tokens', 'MAX\\u005ftokens'],
    ['max_completion_tokens', 'max_completion_Tokens'],
    ['n', 'N'],
    ['n', '\\u004e'],
    ['best_of', 'Best_Of'],
  ])('%s with escaped letters, with and without it: %s', (name, variant) => {
    const message = `Write the field '${name}' in lower case.`;
    expect(refusalOf(`{"${variant}":1,"model":"a"}`)).toBe(`${name}: ${message}`);
    const options = `{"model":"a","stream_options":{"include_usage":true,"${variant}":1}}`;
    const inside = `Write the field 'stream_options.${name}' in lower case.`;
    expect(refusalOf(options)).toBe(`stream_options: ${inside}`);
    expect(refusalOf(`{"model":"a","messages":[{"${variant}":1,"${name}":1}]}`)).toBe('read');
  });

  test('other names may be repeated and escaped', () => {
    expect(refusalOf('{"model":"a","b":1,"b":2,"B":3,"Temperature":1,"nn":1,"NN":2,"":0,"":1}')).toBe('read');
    expect(refusalOf('{"model":"a","metadata":{"n":1,"n":2,"Model":3}}')).toBe('read');
  });

  test('a byte order mark', () => {
    expect(refusalOf('\ufeff{"model":"a"}')).toBe(
      'null: the body begins with a byte order mark; send it without',
    );
  });
});

describe('G-36: a malformed body', () => {
  test.each([
    ['', 'the body is empty; it must be a JSON object'],
    [' \n', 'the body is empty; it must be a JSON object'],
    ['[{"model":"a"}]', 'the body must be a JSON object'],
    ['"model"', 'the body must be a JSON object'],
    ['null', 'the body must be a JSON object'],
    ['{"model":"a"', 'the body is not valid JSON: it ends too early'],
    ['{"model":"a', 'the body is not valid JSON: it ends too early'],
    ['{"model":"a"}}', 'the body is not valid JSON: unexpected character at byte 13'],
    ['{"model":"a" "b":1}', 'the body is not valid JSON: unexpected character at byte 13'],
    ['{"model" "a"}', 'the body is not valid JSON: unexpected character at byte 9'],
    ['{"model":"a",}', 'the body is not valid JSON: unexpected character at byte 13'],
    ['{"model":"a","b":é}', 'the body is not valid JSON: unexpected character at byte 17'],
    ['{"model":"a","b":"\u0001"}', 'the body is not valid JSON: unexpected character at byte 18'],
    ['model=a&stream=true', 'the body is not valid JSON: unexpected character at byte 0'],
    ['{"model":1,"stream":01}', 'the body is not valid JSON: unexpected character at byte 21'],
    [
      '{"stream_options":{"include_usage":tru}}',
      'the body is not valid JSON: unexpected character at byte 38',
    ],
    ['{"stream_options":[}}', 'the body is not valid JSON: unexpected character at byte 19'],
  ])('%p: %s', (text, message) => {
    expect(refusalOf(text)).toBe(`null: ${message}`);
  });

  test.each([
    ['an overlong form', [0xc0, 0x80]],
    ['a longer overlong form', [0xe0, 0x9f, 0xbf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['past U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['a lone continuation', [0x80]],
    ['a sequence cut short', [0xe2, 0x82]],
  ])('that is not UTF-8: %s', (_, wrong) => {
    const body = Uint8Array.of(...encode('{"model":"a","b":"'), ...wrong, ...encode('"}'));
    expect(refusalOf(body)).toBe('null: the body is not valid UTF-8: wrong sequence at byte 18');
    expect(refusalOf(body.subarray(0, body.length - 2))).toContain('not valid UTF-8');
    expect(refusalOf(Uint8Array.of(0x22, ...wrong, 0x22))).toContain('not valid UTF-8');
  });
});

describe('G-40: input of the estimate', () => {
  test.each([
    ['', null],
    ['"max_tokens":10', 10],
    ['"max_completion_tokens":20', 20],
    ['"max_tokens":10,"max_completion_tokens":20', 20],
    ['"max_tokens":20,"max_completion_tokens":10', 20],
    ['"max_completion_tokens":20,"max_tokens":10', 20],
    ['"max_tokens":10,"max_completion_tokens":0', 10],
    ['"max_tokens":0', null],
    ['"max_tokens":""', null],
    ['"max_tokens":" 1_000 "', 1_000],
    ['"max_tokens":10,"max_completion_tokens":-1', 10],
    ['"max_tokens":10,"max_completion_tokens":null', 10],
    ['"max_tokens":10,"max_completion_tokens":"20"', 20],
    ['"max_tokens":"10"', 10],
    ['"max_tokens":"ten"', null],
    ['"max_tokens":[10]', null],
    ['"max_tokens":{"a":10}', null],
    ['"max_tokens":true', null],
    ['"max_tokens":-0', null],
    ['"max_tokens":-0.5', null],
    ['"max_tokens":1.5e1', 15],
    ['"max_tokens":1.2', 2],
    ['"max_tokens":1e400', Number.MAX_SAFE_INTEGER],
    ['"max_tokens":-1e400', null],
    ['"max_tokens":9007199254740993', Number.MAX_SAFE_INTEGER],
    [`"max_tokens":${'1'.repeat(1000)}`, Number.MAX_SAFE_INTEGER],
    [`"max_tokens":0.${'0'.repeat(1000)}1`, null],
    ['"max\\u005ftokens":10', 10],
    [`"${escaped('max_completion_tokens')}":20,"max_tokens":10`, 20],
    ['"a":{"max_tokens":10}', null],
  ])('max tokens: %s', (members, maxTokens) => {
    expect(fieldsOf(`{${members}${members === '' ? '' : ','}"model":"a"}`).maxTokens).toBe(maxTokens);
  });

  test.each([
    ['1', 1],
    ['3', 3],
    ['2.9', 2],
    ['0', 1],
    ['-4', 1],
    ['0.5', 1],
    ['"3"', 3],
    ['null', 1],
    ['[3]', 1],
    ['1e400', Number.MAX_SAFE_INTEGER],
  ])('n: %s', (value, choices) => {
    expect(fieldsOf(`{"model":"a","n":${value}}`).choices).toBe(choices);
  });

  test('without n it is one; of n and best_of the larger counts', () => {
    expect(fieldsOf('{"model":"a","b":{"n":3}}').choices).toBe(1);
    expect(fieldsOf('{"model":"a","n":3,"best_of":20}').choices).toBe(20);
    expect(fieldsOf('{"model":"a","n":30,"best_of":20}').choices).toBe(30);
  });

  test.each([
    ['"prompt":"a"', 1],
    ['"prompt":["a"]', 1],
    ['"prompt":["a","b" , "c"]', 3],
    ['"prompt":[1,2,3]', 1],
    ['"prompt":[[1,2],[3]]', 2],
    ['"prompt":[]', 1],
    ['"Prompt":["a","b"],"prompt":"a"', 2],
    ['"prompt":["a","b"],"prompt":["a"]', 2],
    ['"input":["a","b"]', 2],
    ['"messages":[{"prompt":["a","b"]}]', 1],
  ])('prompts: %s', (member, prompts) => {
    expect(fieldsOf(`{${member},"model":"a"}`).prompts).toBe(prompts);
  });

  test.each([
    ['"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}]}]', true],
    ['"messages":[{"content":[{"type":"file","file":{"file_id":"file-1"}}]}]', true],
    ['"messages":[{"content":[{"type":"file","file":{"FILE\\u005fID":"file-1"}}]}]', true],
    ['"previous_response_id":"resp_1"', true],
    ['"web_search_options":{}', true],
    ['"preset":"cheap-research"', true],
    ['"preset":null', false],
    ['"messages":[{"content":"the image_url is \\"file_id\\":"}]', false],
    ['"messages":[{"role":"user","content":"a"}],"temperature":1', false],
  ])('content outside the body: %s', (member, refersOutside) => {
    expect(fieldsOf(`{${member},"model":"a"}`).refersOutside).toBe(refersOutside);
  });
});

test('G-12: 100,000 levels inside of a body are read', () => {
  const deep = `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`;
  expect(fieldsOf(`{"messages":${deep},"model":"a"}`).model).toBe('a');
  expect(fieldsOf(`{"stream_options":{"b":${deep}},"model":"a"}`).model).toBe('a');
});

describe('G-12: only the value of model changes', () => {
  test.each([
    ['{"model":"fast"}', '{"model":"openai/gpt-x"}'],
    ['{"model":"a much longer alias than that"}', '{"model":"openai/gpt-x"}'],
    [' {\n\t"model" :\r "fast"\n} \n', ' {\n\t"model" :\r "openai/gpt-x"\n} \n'],
    ['{"mod\\u0065l":"f\\u0061st","a":1}', '{"mod\\u0065l":"openai/gpt-x","a":1}'],
    ['{"b":1,"model":"","a":2}', '{"b":1,"model":"openai/gpt-x","a":2}'],
    [
      '{"seed":9007199254740993,"a":1.0,"b":1E5,"c":-0,"model":"fast","d":"\\u00e9\\/é😀","e":{"a":1,"a":2}}',
      '{"seed":9007199254740993,"a":1.0,"b":1E5,"c":-0,"model":"openai/gpt-x","d":"\\u00e9\\/é😀","e":{"a":1,"a":2}}',
    ],
    [
      '{"model":"fast","b":{"model":"fast"},"c":1,"c":2}',
      '{"model":"openai/gpt-x","b":{"model":"fast"},"c":1,"c":2}',
    ],
    [
      '{"model":"a","stream":false,"stream_options":null}',
      '{"model":"openai/gpt-x","stream":false,"stream_options":null}',
    ],
    [
      '{"model":"a","stream_options":{"include_usage":false}}',
      '{"model":"openai/gpt-x","stream_options":{"include_usage":false}}',
    ],
  ])('%p', (text, expected) => {
    for (let before = 0; before < 4; before++) expect(rewritten(text, 'openai/gpt-x', before)).toBe(expected);
  });

  test.each(['', 'a"b\\c', 'é😀\n', '\ud800'])('the provider has a model called %p', (providerModel) => {
    const result = rewritten('{"model":"fast","a":1}', providerModel);
    expect(result).toBe(`{"model":${JSON.stringify(providerModel)},"a":1}`);
    expect(JSON.parse(result)).toEqual({ model: providerModel, a: 1 });
  });
});

describe('G-13: usage is requested for a stream', () => {
  test.each([
    // Absent.
    ['{"model":"a","stream":true}', '{"model":"M","stream":true,"stream_options":{"include_usage":true}}'],
    [
      '{"stream":true,"model":"a" }\n',
      '{"stream":true,"model":"M" ,"stream_options":{"include_usage":true}}\n',
    ],
    [
      '{"model":"a","stream":true,"b":{"stream_options":{}}}',
      '{"model":"M","stream":true,"b":{"stream_options":{}},"stream_options":{"include_usage":true}}',
    ],
    // Null.
    [
      '{"stream_options": null ,"model":"a","stream":true}',
      '{"stream_options": {"include_usage":true} ,"model":"M","stream":true}',
    ],
    [
      '{"model":"a","stream":true,"stream_options":null}',
      '{"model":"M","stream":true,"stream_options":{"include_usage":true}}',
    ],
    // An object without it.
    [
      '{"model":"a","stream":true,"stream_options":{}}',
      '{"model":"M","stream":true,"stream_options":{"include_usage":true}}',
    ],
    [
      '{"model":"a","stream":true,"stream_options":{ \n}}',
      '{"model":"M","stream":true,"stream_options":{ \n"include_usage":true}}',
    ],
    [
      '{"stream_options":{"b":[1, 2] },"model":"a","stream":true}',
      '{"stream_options":{"b":[1, 2] ,"include_usage":true},"model":"M","stream":true}',
    ],
    [
      '{"stream_options":{"b":{"include_usage":true}},"model":"a","stream":true}',
      '{"stream_options":{"b":{"include_usage":true},"include_usage":true},"model":"M","stream":true}',
    ],
    // An object with another value.
    [
      '{"model":"a","stream":true,"stream_options":{"include_usage": false ,"b":1}}',
      '{"model":"M","stream":true,"stream_options":{"include_usage": true ,"b":1}}',
    ],
    [
      '{"stream_options":{"b":1,"include\\u005fusage":{"c":[]}},"stream":true,"model":"a"}',
      '{"stream_options":{"b":1,"include\\u005fusage":true},"stream":true,"model":"M"}',
    ],
    [
      '{"stream_options":{"include_usage":"true"},"stream":true,"model":"a"}',
      '{"stream_options":{"include_usage":true},"stream":true,"model":"M"}',
    ],
    // As it should be.
    [
      '{"stream_options":{"include_usage" : true, "b":1},"stream":true,"model":"a"}',
      '{"stream_options":{"include_usage" : true, "b":1},"stream":true,"model":"M"}',
    ],
  ])('%p', (text, expected) => {
    for (let before = 0; before < 4; before++) expect(rewritten(text, 'M', before)).toBe(expected);
  });
});

test('the result has its own buffer, exactly as long as the body', () => {
  const bytes = new TextEncoder().encode('{"model":"M"}');
  const read = readModelBody(bytes);
  if (read.outcome === 'invalid') throw new Error(read.message);
  const result = rewriteModelBody(bytes, read.fields, { model: 'M' });
  expect(result.buffer).not.toBe(bytes.buffer);
  expect(result.buffer.byteLength).toBe(bytes.length);
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

  test('a maximum has the provider’s name', () => {
    const added = rewritten('{"model":"a"}', { maxTokens: 7, maxTokensName: 'max_completion_tokens' });
    expect(added).toBe('{"model":"M","max_completion_tokens":7}');
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
    ['{"metadata":null,"user":"u","model":"a"}', { user: 'u' }],
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
