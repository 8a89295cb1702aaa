import { describe, expect, test } from 'bun:test';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { readRecordedAnswer } from '../../../test/recorded/streams.ts';
import { createRestampedBytes, isErrorAt, readWholeAnswer } from './answer-body.ts';

const space = (random: SeededRandom) => random.pick(['', '', '', ' ', '\n', '\t \r\n']);

const NAMES = ['model', 'provider', 'usage', 'error', 'choices', 'content', 'id', 'x_groq', '', 'modem'];

function at<T>(read: (bytes: Uint8Array, start: number, end: number) => T, text: string): T {
  const before = '{"ü":';
  const bytes = new TextEncoder().encode(`${before}${text}}`);
  return read(bytes, new TextEncoder().encode(before).length, bytes.length - 1);
}

function anyText(random: SeededRandom): string {
  const parts = ['model', '"usage"', '\\', '"', '\n', 'ü', '🚏', '{', '}', '[', ']', ':', ',', ' '];
  const length = random.pick([0, 1, 3, 10, 40]);
  return JSON.stringify(Array.from({ length }, () => random.pick(parts)).join(''));
}

/** Some of its letters escaped, so that a name must be read and not compared. */
function escapedName(random: SeededRandom, name: string): string {
  if (random.below(3) > 0) return JSON.stringify(name);
  const escaped = Array.from(name, (letter) =>
    random.below(2) === 0 ? letter : `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `"${escaped.join('')}"`;
}

function anyValue(random: SeededRandom, depth: number): string {
  const scalars = ['null', 'true', 'false', '0', '-1.5e+10', '9007199254740993', '1E2'];
  const kinds: (() => string)[] = [() => random.pick(scalars), () => anyText(random)];
  if (depth > 0) {
    kinds.push(
      () => `[${anyList(random, () => anyValue(random, depth - 1))}]`,
      () => `{${anyList(random, () => anyField(random, random.pick(NAMES), anyValue(random, depth - 1)))}}`,
    );
  }
  return random.pick(kinds)();
}

function anyList(random: SeededRandom, make: () => string): string {
  return Array.from({ length: random.below(4) }, () => `${space(random)}${make()}${space(random)}`).join(',');
}

function anyField(random: SeededRandom, name: string, value: string): string {
  return `${escapedName(random, name)}${space(random)}:${space(random)}${value}`;
}

describe('complete answers', () => {
  const ALIAS = 'svc/chat-default';

  function read(text: string, alias = ALIAS) {
    const { bytes, ...rest } = readWholeAnswer(new TextEncoder().encode(text), alias);
    return { ...rest, text: new TextDecoder().decode(bytes) };
  }

  test('a byte order mark is removed, and nothing that only looks like one', () => {
    const text = '{"model":"a","usage":{"prompt_tokens":1,"completion_tokens":2}}';
    expect(read(`\ufeff${text}`)).toEqual(read(text));
    const bytes = new Uint8Array([0xef, 0xbb, 0x7b, 0x7d]);
    expect(readWholeAnswer(bytes, ALIAS)).toMatchObject({ isJsonObject: false, bytes });
  });

  describe('G-16 the names of the provider become the alias, and nothing else changes', () => {
    test('an alias with JSON special characters is escaped', () => {
      expect(JSON.parse(read('{"model":"a"}', 'svc/"ü"\\').text)).toEqual({ model: 'svc/"ü"\\' });
    });

    test('an answer without a name of the provider is not copied', () => {
      const bytes = new TextEncoder().encode('{"id":"a"}');
      expect(readWholeAnswer(bytes, ALIAS).bytes).toBe(bytes);
    });
  });

  describe('input that is not a JSON object is recognised', () => {
    test.each([
      '',
      '[{"model":"a"}]',
      '<html>',
      '{"a":1,}',
      '{,}',
      '{"a"x"b"}',
      '{"a":[1}',
      '{"a":"b\\"}',
      '{a:1}',
      '{"a":1}}',
      '{"a":1} {"b":2}',
      '{"a":tr"ue"}',
      '{"a":1"b":2}',
    ])('%j', (text) => {
      expect(read(text).isJsonObject).toBe(false);
    });

    test('names of the provider in it are still replaced, but its usage does not count', () => {
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

    test('an error with status 200 is recognised', () => {
      expect(read(names('error-with-status-200'))).toMatchObject({ isError: true, isJsonObject: true });
      expect(read('{"error":null,"model":"a"}').isError).toBe(false);
    });
  });

  test.each([
    ['{"usage":null}', null],
    ['{"choices":[{"usage":{"prompt_tokens":1}}]}', null],
    ['{"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":2}}', 2],
    ['{"usage":{"prompt_tokens":4},"usage":null}', 4],
  ])('G-31 an answer without usage at its top has none: %s', (text, promptTokens) => {
    expect(read(text).usage?.promptTokens ?? null).toBe(promptTokens);
  });

  describe('pieces', () => {
    test('adjacent pieces are passed on without a copy, the rest is joined in order', () => {
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
});

test('an error must have content', () => {
  for (const text of ['{"message":"a"}', '{}', '[]', '"a"', 'true', '1', 'NaN']) {
    expect(at(isErrorAt, text)).toBe(true);
  }
  for (const text of ['null', 'false', '0', '""', ' "" ']) expect(at(isErrorAt, text)).toBe(false);
  expect(isErrorAt(new Uint8Array(4), 0, 0)).toBe(false);
});

describe('generated answers', () => {
  /** Found in no made-up answer, so that the stamps can be counted. */
  const ALIAS = 'svc/\u2605';
  const STAMP = JSON.stringify(ALIAS);

  test('G-16 apart from the replaced names an answer is the same byte for byte, and parsed it is the same', () => {
    for (let seed = 1; seed <= 5_000; seed += 1) {
      const random = createSeededRandom(seed);
      const replaced: string[] = [];
      let lastError = 'null';
      const fields = Array.from({ length: random.below(8) }, () => {
        const name = random.pick(NAMES);
        const value = anyValue(random, random.below(5));
        if (name === 'model' || (name === 'provider' && value.startsWith('"'))) replaced.push(value);
        if (name === 'error' && value !== 'null') lastError = value;
        return `${space(random)}${anyField(random, name, value)}${space(random)}`;
      });
      const text = `${space(random)}{${fields.join(',')}}${space(random)}`;
      const answer = readWholeAnswer(new TextEncoder().encode(text), ALIAS);
      const stamped = new TextDecoder().decode(answer.bytes);

      const pieces = stamped.split(STAMP);
      const unstamped = pieces
        .map((piece, at) => piece + (at < pieces.length - 1 ? replaced[at] : ''))
        .join('');
      expect({ seed, stamps: pieces.length - 1, text: unstamped }).toEqual({
        seed,
        stamps: replaced.length,
        text,
      });

      const before = JSON.parse(text);
      const after = JSON.parse(stamped);
      if ('model' in before) before.model = ALIAS;
      if (typeof before.provider === 'string') before.provider = ALIAS;
      if (!Bun.deepEquals(after, before)) expect<unknown>({ seed, after }).toEqual({ seed, after: before });
      expect(answer.isJsonObject).toBe(true);
      expect(answer.isError).toBe(Boolean(JSON.parse(lastError)));

      // Any cut makes it no object, and breaks nothing.
      const cut = text.slice(0, random.below(text.trimEnd().length));
      expect(readWholeAnswer(new TextEncoder().encode(cut), ALIAS).isJsonObject).toBe(false);
    }
  });

  describe('what the provider charges the operator is removed from usage', () => {
    const shown = (text: string, hidesCosts = true) =>
      new TextDecoder().decode(
        readWholeAnswer(new TextEncoder().encode(text), ALIAS, 'completions', { hidesCosts }).bytes,
      );
    const counts = '"prompt_tokens":9007199254740993';

    test.each([
      [`{"usage":{ "cost" : 1 , "is_byok":false, ${counts} , "x":1}}`, `{"usage":{ ${counts} , "x":1}}`],
      [`{"usage":{"a":1 , "cost":1 ,\n"cost_details":{"upstream":[1]},"b":2}}`, '{"usage":{"a":1,"b":2}}'],
      [`{"usage":{"cost_in_usd_ticks":5,${counts},"estimated_cost":2}}`, `{"usage":{${counts}}}`],
      [
        `{"usage":{${counts},"cost":{"total_cost":1}},"model":"a"}`,
        `{"usage":{${counts}},"model":"${ALIAS}"}`,
      ],
      ['{"usage":{"details":{"cost":1}},"cost":1}', '{"usage":{"details":{"cost":1}},"cost":1}'],
      ['{"usage":{"cost":1', '{"usage":{"cost":1'],
      ['{"usage":["cost",1]}', '{"usage":["cost",1]}'],
    ])('%s', (text, without) => {
      expect(shown(text)).toBe(without);
      expect(shown(text, false)).toBe(text.replace('"model":"a"', `"model":"${ALIAS}"`));
    });

    test('of any usage, parsed it is the same without the costs', () => {
      for (let seed = 1; seed <= 500; seed += 1) {
        const random = createSeededRandom(seed);
        const names = ['cost', 'is_byok', 'estimated_cost', 'prompt_tokens', 'details', 'cached', ''];
        const members = Array.from({ length: random.below(6) }, () => {
          return `${space(random)}${anyField(random, random.pick(names), anyValue(random, 2))}${space(random)}`;
        });
        const text = `{"usage":${space(random)}{${members.join(',') || space(random)}}}`;
        const before = JSON.parse(text).usage;
        for (const name of ['cost', 'is_byok', 'estimated_cost']) delete before[name];
        expect<unknown>([seed, JSON.parse(shown(text)).usage]).toEqual([seed, before]);
      }
    });
  });
});

test('G-16 errors inside of an answer are read by withoutNames; everything else stays byte for byte', () => {
  const withoutNames = (text: string) => text.replaceAll('gpt-x', 'alias');
  const clean = (text: string, wire: 'completions' | 'responses' = 'completions') =>
    new TextDecoder().decode(
      readWholeAnswer(new TextEncoder().encode(text), 'alias', wire, { hidesCosts: true, withoutNames })
        .bytes,
    );
  for (const [given, expected] of [
    // Of a choice, an item, in an error, in usage beside a cost; a text; before and after the model.
    [
      '{"choices":[{"error":{"m":"gpt-x","n":1}, "i":12345678901234567890}]}',
      '{"choices":[{"error":{"m":"alias","n":1}, "i":12345678901234567890}]}',
    ],
    [
      '{"a":[{"error":"gpt-x"}],"model":"gpt-x","b":{"error":{"error":{"m":"gpt-x"}}}}',
      '{"a":[{"error":"alias"}],"model":"alias","b":{"error":{"error":{"m":"alias"}}}}',
    ],
    ['{"usage":{"cost":1,"error":{"m":"y"},"n":2}}', '{"usage":{"error":{"m":"y"},"n":2}}'],
    // Untouched without a name, and if it is no error.
    [
      '{"choices":[{"error": {"n" : 12345678901234567890}}]}',
      '{"choices":[{"error": {"n" : 12345678901234567890}}]}',
    ],
    [
      '{"choices":[{"error":null,"text":"gpt-x error: gpt-x"}]}',
      '{"choices":[{"error":null,"text":"gpt-x error: gpt-x"}]}',
    ],
  ] as const) {
    expect(clean(given)).toBe(expected);
  }
  const failed =
    '{"error":{"message":"gpt-x","e":{"error":"gpt-x"}},"usage":{"input_tokens":1,"output_tokens":2}}';
  expect(clean(failed, 'responses')).toBe(failed.replaceAll('gpt-x', 'alias'));
});
