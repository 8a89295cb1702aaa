import { describe, expect, test } from 'bun:test';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { createRedactor, ENTRY_BYTES } from './redact.ts';

const redactor = createRedactor();
const shown = (context: Record<string, unknown>) => redactor.context(context, 0).context;

class Talent {
  readonly id = 7;
  readonly cvText = 'Jane Doe';
  get broken(): string {
    throw new Error('never read');
  }
}

const SENSITIVE_NAMES = ['password', 'X-Api-Key', 'rawKey', 'refreshToken', 'prompt', 'cvText', 'messages'];
const OPEN_NAMES = ['id', 'status', 'reason', 'model', 'url', 'detail', 'items', 'value', 'name', 'a b', ''];

/** The part that must not be seen, in the form in which it is planted. */
interface Planted {
  readonly core: string;
  readonly whole: string;
}

function secretWithShape(random: SeededRandom): Planted {
  const core = random.text(24 + random.below(40));
  const pem = (text: string) => `-----BEGIN PRIVATE KEY-----\n${text}\n-----END PRIVATE KEY-----`;
  const wrap = random.pick<(text: string) => string>([
    (text) => `tpk_${text}`,
    (text) => `sk-proj-${text}`,
    (text) => `sk_live_${text}`,
    (text) => `whsec_${text}`,
    (text) => `Bearer ${text}`,
    (text) => `eyJhbGciOiJIUzI1NiJ9.${text}.${text}`,
    (text) => `postgres://turnpike:${text}@db.internal:5432/main`,
    (text) => `https://user:${text}@example.com/path`,
    (text) => `password=${text}`,
    (text) => `{"content":"${text}","role":"user"}`,
    (text) => JSON.stringify(JSON.stringify({ api_key: text, a: 1 })),
    (text) => `Cookie: a=b; session=${text}`,
    pem,
  ]);
  return { core, whole: wrap(core) };
}

/** Among words, at any place: past every bound on length and across each of them too. */
function textAround(random: SeededRandom, planted: string): string {
  const before = random.pick([0, 5, 60, 2_000, 2_040, 3_500, 4_060, 4_090, 9_000]);
  const filler = random.pick(['word ', 'ü\u0000 ', '" \\ ', 'a=b ', '\n ']);
  return `${filler.repeat(before / filler.length)} ${planted} ${filler.repeat(random.below(50))}`;
}

function structureAround(random: SeededRandom, planted: Planted, depth: number): unknown {
  if (depth === 0) return textAround(random, planted.whole);
  const inner = structureAround(random, planted, depth - 1);
  const name = random.pick(OPEN_NAMES);
  const others = {
    count: random.below(100),
    when: new Date(0),
    list: [1, null, undefined, true],
    fn: () => 1,
  };
  return random.pick<() => unknown>([
    () => ({ ...others, [name]: inner }),
    () => [random.text(5), inner, 7n],
    () => new Map<unknown, unknown>([[name, inner]]),
    () => new Map<unknown, unknown>([[planted.whole, name]]),
    () => new Set([inner, name]),
    () => new Error(textAround(random, planted.whole), { cause: inner }),
    () => Object.assign(new TypeError('x'), { [name]: inner }),
    () => new AggregateError([inner], 'several'),
    () => ({ [planted.whole]: inner }),
    () => ({ [random.pick(SENSITIVE_NAMES)]: { deep: [planted.core] }, [name]: inner }),
    () => [[random.pick(SENSITIVE_NAMES), planted.core]],
    () => ({ name: random.pick(SENSITIVE_NAMES), value: planted.core }),
    () => new Headers({ authorization: planted.core, 'x-detail': planted.whole.replaceAll('\n', ' ') }),
    () => Object.defineProperty({}, name, { enumerable: true, get: () => inner }),
    () =>
      new (class Holder {
        readonly held = inner;
        readonly signature = planted.core;
      })(),
    () => Object(textAround(random, planted.whole)),
    () => Object.assign([inner], others),
  ])();
}

describe('redaction', () => {
  test('fields by name at any depth, in lists, maps, pairs, headers and classes', () => {
    const headers = new Headers({ authorization: 'hunter2', accept: 'text/html' });
    expect(
      shown({
        user: { email: 'jane@example.com', password: 'hunter2', has: { password: true } },
        list: [{ apiKey: 'hunter2' }, [['cookie', 'hunter2']]],
        map: new Map<unknown, unknown>([
          ['secret', 'hunter2'],
          [{ a: 1 }, 'object key'],
        ]),
        headers,
        parameters: new URLSearchParams('token=hunter2&page=2'),
        variable: { name: 'JWT_SECRET', value: 'hunter2' },
        harmless: { name: 'limit', value: 5 },
        talent: new Talent(),
        usage: { prompt_tokens: 12, tokens: 15n, completion: 3 },
        messages: [{ role: 'user', content: 'Jane Doe' }],
      }),
    ).toEqual({
      user: { email: 'jane@example.com', password: '[redacted]', has: { password: true } },
      list: [{ apiKey: '[redacted]' }, [['cookie', '[redacted]']]],
      map: { secret: '[redacted]', '[object 1]': 'object key' },
      headers: { authorization: '[redacted]', accept: 'text/html' },
      parameters: { token: '[redacted]', page: '2' },
      variable: { name: 'JWT_SECRET', value: '[redacted]' },
      harmless: { name: 'limit', value: 5 },
      talent: { id: 7, cvText: '[redacted]' },
      usage: { prompt_tokens: 12, tokens: '15', completion: 3 },
      messages: '[redacted]',
    });
  });

  test('errors show name, message, stack, cause, parts and what they carry, all of it redacted', () => {
    const cause = Object.assign(new TypeError('no route'), { code: 'EHOSTUNREACH', token: 'hunter2' });
    const error = new Error('postgres://u:hunter2@db failed', { cause });
    const parts = new AggregateError([new RangeError('first')], 'several');
    const context = shown({ error, parts });
    expect(context).toMatchObject({
      error: {
        name: 'Error',
        message: 'postgres://u:[redacted]@db failed',
        cause: { name: 'TypeError', message: 'no route', code: 'EHOSTUNREACH', token: '[redacted]' },
      },
      parts: {
        name: 'AggregateError',
        message: 'several',
        errors: [{ name: 'RangeError', message: 'first' }],
      },
    });
    expect((context.error as Error).stack).toContain('redact.test.ts');
    expect(JSON.stringify(context)).not.toContain('hunter2');
  });
});

test('a sensitive field, or a whole object, that cannot be read leaves a mark', () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const getter = {
    get password(): string {
      throw new Error('never read');
    },
    ok: 1,
  };
  expect(shown({ getter, revoked: revoked.proxy })).toEqual({
    getter: { password: '[unreadable]', ok: 1 },
    revoked: '[unreadable]',
  });
  expect(redactor.context(revoked.proxy, 0).context).toEqual({ context: '[unreadable]' });
});

test('every kind of value becomes plain JSON', () => {
  const circle: Record<string, unknown> = { id: 1 };
  circle.self = circle;
  const values = {
    circle,
    when: new Date(0),
    never: new Date(Number.NaN),
    bytes: new Uint8Array(12),
    buffer: new ArrayBuffer(3),
    big: 9_007_199_254_740_993n,
    huge: 10n ** 100_000n,
    set: new Set([1, 'a']),
    what: () => 1,
    symbol: Symbol('tpk_9aZ8bY7cX6'),
    nothing: undefined,
    none: null,
    odd: [Number.NaN, Number.POSITIVE_INFINITY, undefined],
    boxed: Object('sk-proj-abcdefgh1234'),
    promise: Promise.resolve(1),
    bare: Object.create(null),
    half: 'a\ud800b\0c',
    ...JSON.parse('{"__proto__":{"admin":true}}'),
  };
  const context = shown(values);
  expect(JSON.parse(JSON.stringify(context))).toEqual({
    circle: { id: 1, self: '[circular]' },
    when: '1970-01-01T00:00:00.000Z',
    never: 'invalid date',
    bytes: '[12 bytes]',
    buffer: '[3 bytes]',
    big: '9007199254740993',
    huge: '[huge bigint]',
    set: [1, 'a'],
    what: '[function]',
    symbol: '[symbol]',
    none: null,
    odd: ['NaN', 'Infinity', null],
    boxed: '[redacted]',
    promise: '[Promise]',
    bare: {},
    half: 'a\ufffdb\ufffdc',
  });
  expect((context as { admin?: boolean }).admin).toBeUndefined();
});

describe('bounds', () => {
  const bytes = (context: object) => Buffer.byteLength(JSON.stringify(context));

  test('long texts, with their beginning and their length', () => {
    const text = redactor.text(`begin ${'x'.repeat(1_000_000)}`);
    expect(text).toStartWith('begin xxx');
    expect(text).toEndWith('[1000006 characters]');
    expect(text.length).toBeLessThan(2_100);
  });

  test('depth, fields and list items, with the number left out', () => {
    const deep = { a: { b: { c: { d: { e: { f: 1 } } } } } };
    const wide = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`field${n}`, n]));
    const many = new Map(Object.entries(wide));
    const context = shown({ deep, wide, many, list: Array.from({ length: 1_000 }, (_, n) => n) });
    expect(context.deep).toEqual({ a: { b: { c: { d: { e: '[too deep]' } } } } });
    expect(Object.keys(context.wide as object)).toHaveLength(51);
    expect(context.wide).toMatchObject({ field49: 49, '…': '10 more' });
    expect(context.many).toMatchObject({ field49: 49, '…': '10 more' });
    expect((context.list as unknown[]).slice(49)).toEqual([49, '… 950 more']);
  });

  test('the whole entry, for any content', () => {
    const wide = (value: unknown): object =>
      Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`field${n}`, value]));
    for (const leaf of ['x'.repeat(5_000), '€'.repeat(5_000), '\u0001"\\'.repeat(900), 1, new Error('x')]) {
      const { context, bytes: counted } = redactor.context({ all: wide(wide(wide(leaf))) }, 0);
      expect(bytes(context)).toBeLessThan(ENTRY_BYTES * 1.1);
      expect(Math.abs(bytes(context) - counted)).toBeLessThan(ENTRY_BYTES * 0.5);
    }
    expect(bytes(redactor.context({ a: 'x'.repeat(500), b: 2 }, ENTRY_BYTES).context)).toBeLessThan(100);
  });
});

test('a secret at any position is never shown, nothing throws and everything is bounded', () => {
  const redactor = createRedactor();
  for (let seed = 1; seed <= 5_000; seed += 1) {
    const random = createSeededRandom(seed);
    const planted = secretWithShape(random);
    const structure = structureAround(random, planted, random.below(8));
    const text = textAround(random, planted.whole);
    const { context } = redactor.context({ [random.pick(OPEN_NAMES)]: structure }, 0);
    const seen = JSON.stringify(context) + redactor.text(text);
    // Ten characters of it are too many as well: a bound may have cut through it.
    if (seen.includes(planted.core.slice(0, 10)) || seen.includes(planted.core.slice(-10))) {
      expect<unknown>({ seed, planted, seen }).toBe('without the secret');
    }
    expect(seen.length).toBeLessThan(ENTRY_BYTES * 1.5);
  }
});
