import { describe, expect, test } from 'bun:test';
import { createRedactor, patternProblem, REDACTED_KINDS } from './redaction.ts';

const all = createRedactor(new Set(REDACTED_KINDS));

describe('what is redacted', () => {
  test.each([
    ['Write to ada.lovelace+x@mail.example.org.', 'Write to [redacted email].'],
    ['jürgen@müller.example and a@b.co', '[redacted email] and [redacted email]'],
    [`${'a'.repeat(80)}@x.example`, `${'a'.repeat(16)}[redacted email]`],
    ['Call +49 (30) 1234-5678 now', 'Call [redacted phone] now'],
    ['or 0049 30 12345678, or (030) 123 456 78', 'or [redacted phone], or [redacted phone]'],
    ['4111 1111 1111 1111 or 4111-1111-1111-1111', '[redacted card] or [redacted card]'],
    ['key sk-proj-abcdefgh1234 of ghp_abcdefgh1234', 'key [redacted secret] of [redacted secret]'],
    ['Authorization: Bearer abcdefghijklmnop', 'Authorization: [redacted secret]'],
    ['postgres://user:pass@host/db', 'postgres://[redacted secret]@host/db'],
    ['a -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- b', 'a [redacted secret] b'],
    ['a -----BEGIN PRIVATE KEY-----\nMII', 'a [redacted secret]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc', '[redacted secret]'],
  ])('%s', (given, expected) => {
    expect(all.text(given)).toBe(expected);
  });

  test.each([
    'on 2026-11-16 03:39, at 1700000000, for 1,250.00 credits',
    'order 1234567890123 of 42 pieces', // thirteen digits that are no card
    'meet @ noon, price@ and @handle',
    'a-b_c 12-34 v1.2.3 0-9 task-force',
  ])('and what is not: %s', (text) => {
    expect(all.text(text)).toBe(text);
  });

  test('only the chosen kinds', () => {
    expect(createRedactor(new Set(['card'])).text('a@b.co 4111111111111111')).toBe('a@b.co [redacted card]');
    expect(createRedactor(new Set()).json('{"a":"a@b.co"}')).toBe('{"a":"a@b.co"}');
  });

  test('patterns of a company, without regard to case; a wildcard stays in its word', () => {
    const own = createRedactor(new Set(), ['Project Falcon', 'EMP-*', '*@corp.example', 'a*b*c']);
    expect(own.text('PROJECT FALCON and emp-12345, emp-7')).toBe(
      '[redacted pattern] and [redacted pattern] [redacted pattern]',
    );
    expect(own.text('ada@corp.example axxbyyc axx byyc')).toBe(
      '[redacted pattern] [redacted pattern] axx byyc',
    );
    expect(own.text('İEMP-1')).toBe('İ[redacted pattern]');
  });

  test('patterns that match the marks of others do not multiply them', () => {
    const parts = ['act', 'pat', 'dac', 'att', 'cte', 'tte', 'ted', 'ter', 'eda', 'ern', 'red', '[re', 'rn]'];
    const own = createRedactor(new Set(), [...parts, ...parts.toReversed(), 're*n]', '*att*']);
    expect(own.text('an act, a pat')).toBe('an [redacted pattern], a [redacted pattern]');
    expect(own.text('actpat').length).toBeLessThan(40);
  });

  test.each(['', '**', 'ab', '*a*', 'x'.repeat(101), 'a\u0000bc', 'a*b*c*d*e*f'])(
    'a pattern that is refused: %j',
    (pattern) => {
      expect(patternProblem(pattern)).toBeString();
    },
  );

  test('JSON escapes hide nothing, and valid JSON stays valid', () => {
    const given = String.raw`{"a":"\u0061da\u0040mail.example\nnext","card":4111111111111111,"n":12345,"q":"\"x\\"}`;
    const clean = all.json(given);
    expect(JSON.parse(clean)).toEqual({
      ...{ a: '[redacted email]\nnext', card: '[redacted card]', n: 12345, q: '"x\\' },
    });
    expect(all.json('{"a":"cut off at bob@mail.exam')).toBe('{"a":"cut off at [redacted email]');
    expect(all.json(String.raw`{"a":"cut in an escape \u00`)).toBe(String.raw`{"a":"cut in an escape \u00`);
    expect(all.json('no JSON: a@b.co "a@b.co')).toBe('no JSON: a@b.co "[redacted email]');
  });

  test('takes time in proportion to the text, for any content', () => {
    const own = createRedactor(new Set(REDACTED_KINDS), ['a*zzz*y', '*@@@', 'aaa*b']);
    const shapes = [
      'a',
      'a ',
      'eyJ-',
      '1 ',
      '(1',
      '@',
      'a@',
      '-----BEGIN ',
      '"',
      '\\"',
      'sk-',
      '://a:',
      '1-',
    ];
    const lengthMs = (size: number) =>
      processorMs(() => {
        for (const shape of shapes) own.json(`"${shape.repeat(size / shape.length)}`);
      });
    lengthMs(4_000);
    const [short, long] = [lengthMs(4_000), lengthMs(40_000)];
    // Ten times the text: a quadratic step would take a hundred times as long.
    expect(long).toBeLessThan(Math.max(short, 5) * 40);
  });

  test('a pattern with many matches in one word finds the end of the word once', () => {
    const own = createRedactor(new Set(), ['aa*a']);
    const lengthMs = (size: number) => processorMs(() => own.text('a'.repeat(size)));
    lengthMs(20_000);
    const [short, long] = [lengthMs(20_000), lengthMs(300_000)];
    expect(long).toBeLessThan(Math.max(short, 5) * 60);
  });
});

/** Time on the processor: on a busy machine the time by the clock says little. */
function processorMs(run: () => void): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
