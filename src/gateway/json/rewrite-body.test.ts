import { describe, expect, test } from 'bun:test';
import { readModelBody, rewriteModelBody } from './request-body.ts';

function rewritten(text: string, providerModel = 'openai/gpt-x', before = 0): string {
  const encoded = new TextEncoder().encode(text);
  const memory = new Uint8Array(before + encoded.length + 5).fill(0x7a);
  memory.set(encoded, before);
  const bytes = memory.subarray(before, before + encoded.length);
  const read = readModelBody(bytes);
  if (read.outcome === 'invalid') throw new Error(read.message);
  const result = new TextDecoder().decode(rewriteModelBody(bytes, read.fields, providerModel));
  // A call may be sent to another target afterwards: the body it was made of stays as it was.
  expect(new TextDecoder().decode(bytes)).toBe(text);
  return result;
}

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

describe('G-13: a stream is asked for its usage', () => {
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

test('the result is a buffer of its own, exactly as long as the body', () => {
  const bytes = new TextEncoder().encode('{"model":"M"}');
  const read = readModelBody(bytes);
  if (read.outcome === 'invalid') throw new Error(read.message);
  const result = rewriteModelBody(bytes, read.fields, 'M');
  expect(result.buffer).not.toBe(bytes.buffer);
  expect(result.buffer.byteLength).toBe(bytes.length);
});
