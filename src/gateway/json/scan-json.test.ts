import { describe, expect, test } from 'bun:test';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { failedAt, jsonText, spaceEnd } from './json-text.ts';
import { valueEnd } from './scan-json.ts';

const encode = (text: string) => new TextEncoder().encode(text);

function accepts(bytes: Uint8Array): boolean {
  const end = valueEnd(jsonText(bytes), spaceEnd(bytes, 0, bytes.length));
  return end >= 0 && spaceEnd(bytes, end, bytes.length) === bytes.length;
}

/** A mark at the beginning stays in the text, so `JSON.parse` refuses it as we do. */
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parses(bytes: Uint8Array): boolean {
  try {
    JSON.parse(strictDecoder.decode(bytes));
    return true;
  } catch {
    return false;
  }
}

function* textsOf(alphabet: readonly string[], longest: number): Generator<string> {
  let texts = [''];
  for (let length = 0; length < longest; length++) {
    texts = texts.flatMap((text) => alphabet.map((letter) => text + letter));
    yield* texts;
  }
}

function expectSameAsParser(candidates: Iterable<Uint8Array>): { accepted: number; refused: number } {
  const counts = { accepted: 0, refused: 0 };
  for (const bytes of candidates) {
    const accepted = accepts(bytes);
    if (accepted !== parses(bytes)) {
      throw new Error(
        `${accepted ? 'accepted' : 'refused'}: ${JSON.stringify(String.fromCharCode(...bytes))}`,
      );
    }
    counts[accepted ? 'accepted' : 'refused']++;
  }
  return counts;
}

describe('G-12: a body is JSON exactly where JSON.parse accepts it', () => {
  test.each([
    ['numbers', [...'-+.eE019'], 5],
    ['brackets', [...'[]{},:"1 '], 5],
    ['members', ['{', '}', '"a"', ':', ',', '[', ']', ' 0'], 5],
    ['strings', ['"', '\\', 'u', 'n', '0', 'dF', '\u007f', '\n'], 5],
    ['words', ['true', 'tru', 'e', 'false', 'null', 'nul', 'N', '[', ']', ','], 4],
    ['white space', [' ', '\t', '\r', '\n', '\f', '\v', '\u00a0', '\u2028', '\ufeff', '1', '\0'], 4],
  ])('every short text of %s', (_, alphabet, longest) => {
    const counts = expectSameAsParser([...textsOf(alphabet, longest)].map(encode));
    expect(counts.accepted).toBeGreaterThanOrEqual(10);
    expect(counts.refused).toBeGreaterThan(1000);
  });

  test.each([
    ['123456789012345678901234567890', true],
    ['0x1', false],
    ['NaN', false],
    ['', false],
    ['"\\u0000 \\ud800 \\uDFFF \\/ \\b"', true],
    ['"\\u00g0"', false],
    ['"\\u000', false],
    ['"a\u0000b"', false],
    ['{"a":1,"a":2}', true],
    ['{"a":1,}', false],
    ['{"a":1} x', false],
  ])('%p: %p', (text, expected) => {
    expect(parses(encode(text))).toBe(expected);
    expect(accepts(encode(text))).toBe(expected);
  });

  test('every start of a UTF-8 sequence: complete, cut short and too long', () => {
    function* sequences(): Generator<Uint8Array> {
      const others = [0x22, 0x7f, 0x80, 0xbf, 0xc0];
      // The first and the last of those that the standard treats alike.
      const bounds = new Set([
        ...[0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef],
        ...[0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
      ]);
      for (let lead = 0x80; lead < 0x100; lead++) {
        yield Uint8Array.of(0x22, lead, 0x22);
        yield Uint8Array.of(0x22, lead);
        for (let second = 0x70; second < 0x100; second++) {
          yield Uint8Array.of(0x22, lead, second);
          yield Uint8Array.of(0x22, lead, second, 0x22);
          if (!bounds.has(lead)) continue;
          for (const third of others) {
            yield Uint8Array.of(0x22, lead, second, third, 0x22);
            for (const fourth of others) yield Uint8Array.of(0x22, lead, second, third, fourth, 0x22);
          }
        }
      }
    }
    const counts = expectSameAsParser(sequences());
    expect(counts.accepted).toBeGreaterThan(4000);
    expect(counts.refused).toBeGreaterThan(100_000);
  });

  test('every byte at every position of a string, at any alignment in memory', () => {
    function* placed(): Generator<Uint8Array> {
      for (let offset = 0; offset < 4; offset++) {
        for (let place = 1; place < 45; place++) {
          for (let byte = 0; byte < 256; byte++) {
            const bytes = new Uint8Array(offset + 47).fill(0x61).subarray(offset);
            bytes[0] = 0x22;
            bytes[46] = 0x22;
            bytes[place] = byte;
            yield bytes;
          }
        }
      }
    }
    const counts = expectSameAsParser(placed());
    // All of ASCII but 32 control characters, the quote and the backslash (which is an escape with an "a" only).
    expect(counts.accepted).toBe(4 * 44 * 94);
  });
});

describe('nesting', () => {
  /** Arrays and objects in turns that do not repeat with the 32 levels of a word. */
  function nested(depth: number, wrongAt = -1): Uint8Array {
    const isObject = (level: number) => level % 3 === 0 || level % 7 === 0;
    const opening = Array.from({ length: depth }, (_, level) => (isObject(level) ? '{"a":' : '[')).join('');
    const closing = Array.from({ length: depth }, (_, index) => {
      const level = depth - 1 - index;
      return isObject(level) === (level !== wrongAt) ? '}' : ']';
    });
    return encode(`${opening}1${closing.join('')}`);
  }

  test.each([1, 31, 32, 33, 64, 65, 97, 10_000, 200_000])('%d levels', (depth) => {
    expect(accepts(nested(depth))).toBe(true);
    const bytes = nested(depth);
    expect(accepts(bytes.subarray(0, bytes.length - 1))).toBe(false);
  });

  test('a bracket of the other kind is refused at every level', () => {
    for (let level = 0; level < 130; level++) expect(accepts(nested(130, level))).toBe(false);
  });

  test('20 MiB of opening brackets are refused at their end, and accepted with as many closing ones', () => {
    const bytes = new Uint8Array(20 << 20).fill(0x5b);
    expect(valueEnd(jsonText(bytes), 0)).toBe(failedAt(bytes.length));
    bytes.fill(0x5d, 10 << 20);
    expect(accepts(bytes)).toBe(true);
  });
});

test.each([
  ['[1, x]', 4],
  ['{"a" 1}', 5],
  ['{"a":1 "b":2}', 7],
  ['"ab\ncd"', 3],
  ['"\\u12x4"', 5],
  ['[1', 2],
])('%p fails at byte %d', (text, place) => {
  expect(valueEnd(jsonText(encode(text)), 0)).toBe(failedAt(place));
});

test('a value ends at its end, whatever follows', () => {
  expect(valueEnd(jsonText(encode('  [1,{"a":"]"}] , x')), 2)).toBe(15);
  expect(valueEnd(jsonText(encode('-1.5e+3x')), 0)).toBe(7);
});

describe('long strings, which are validated natively', () => {
  const UNITS = [
    'plain text, ',
    'Käse und Brot; ',
    'мягких булок ',
    '漢字かな',
    '🎈🎈',
    '\\n',
    '\\u00e9',
    '\\"',
  ];
  const WRONG = [0x00, 0x09, 0x0a, 0x1f, 0x22, 0x5c, 0x7f, 0x80, 0xbf, 0xc0, 0xed, 0xf5, 0xff, 0x41];

  function longString(random: ReturnType<typeof createSeededRandom>): string {
    const plain = random.below(2) === 0 ? UNITS.slice(0, 1) : UNITS.slice(0, 5);
    const escapes = random.below(3) === 0 ? 0 : 1 + random.below(400);
    let text = '';
    for (const length = 300 + random.below(9_000); text.length < length; ) {
      text += random.pick(escapes > 0 && random.below(escapes) === 0 ? UNITS.slice(5) : plain);
    }
    return text;
  }

  test('G-12 are accepted and refused as by JSON.parse, with any byte changed', () => {
    const random = createSeededRandom(12);
    const candidates = Array.from({ length: 4_000 }, () => {
      const bytes = encode(`{"a":"${longString(random)}","b":["${longString(random)}"]}`);
      if (random.below(4) > 0) bytes[random.below(bytes.length)] = random.pick(WRONG);
      return bytes;
    });
    const { accepted, refused } = expectSameAsParser(candidates);
    expect(accepted).toBeGreaterThan(1_000);
    expect(refused).toBeGreaterThan(1_000);
  });

  test.each([
    ['a control character', 'plain text, ', 0x1f],
    ['a byte that is no UTF-8', 'plain text, ', 0xff],
    ['a control character among other alphabets', 'мягких булок ', 0x01],
  ])('the position of %s is reported', (_, unit, wrong) => {
    for (const before of [10, 600, 5_000, 40_000, 100_000]) {
      const start = encode(`"${unit.repeat(Math.ceil(before / unit.length))}`);
      const bytes = new Uint8Array([...start, wrong, ...encode(`${unit.repeat(2_000)}"`)]);
      expect(valueEnd(jsonText(bytes), 0)).toBe(failedAt(start.length));
    }
  });
});
