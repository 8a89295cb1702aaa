import { expect, test } from 'bun:test';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { createRedactor, ENTRY_BYTES } from './redact.ts';

const SENSITIVE_NAMES = [
  'password',
  'X-Api-Key',
  'rawKey',
  'refreshToken',
  'prompt',
  'cvText',
  'messages',
  'body',
];
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

test('a secret planted anywhere is never seen, nothing throws and nothing is unbounded', () => {
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
