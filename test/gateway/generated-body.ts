import type { SeededRandom } from '../doubles/seeded-random.ts';

/** Unusual but valid bodies of model calls: any white space, escapes, numbers, repeated and escaped names. */
export function generateBody(random: SeededRandom): string {
  if (random.below(50) === 0) return valueText(random, 3);
  const members: string[] = [];
  const add = (name: string, value: string) => {
    members.push(`${nameText(random, name)}${space(random)}:${space(random)}${value}`);
  };
  const oneIn = (count: number) => random.below(count) === 0;
  if (!oneIn(30)) add('model', oneIn(30) ? valueText(random, 2) : stringText(random));
  if (!oneIn(3)) add('stream', streamText(random));
  if (!oneIn(2)) add('stream_options', optionsText(random));
  if (oneIn(3)) add('max_tokens', oneIn(3) ? valueText(random, 1) : numberText(random));
  if (oneIn(3)) add('max_completion_tokens', oneIn(3) ? valueText(random, 1) : numberText(random));
  if (oneIn(6)) add('models', oneIn(8) ? valueText(random, 2) : modelsText(random));
  if (oneIn(3)) add('n', oneIn(3) ? valueText(random, 1) : numberText(random));
  for (let more = random.below(4); more > 0; more--) {
    add(random.pick(['messages', 'a', '', '__proto__', 'modelx', 'include_usage']), valueText(random, 3));
  }
  if (oneIn(25))
    add(
      random.pick(['model', 'stream', 'models', 'stream_options', 'n', 'best_of', 'max_tokens']),
      valueText(random, 1),
    );
  if (oneIn(40))
    add(random.pick(['Model', 'ſtream', 'STREAM_options', 'N', 'max_toKens']), valueText(random, 1));
  return `${space(random)}{${separated(random, shuffled(random, members))}}${space(random)}`;
}

function modelsText(random: SeededRandom): string {
  const names = Array.from({ length: random.below(10) }, () => stringText(random));
  return random.pick(['null', ...Array(9).fill(`[${separated(random, names)}]`)]);
}

function streamText(random: SeededRandom): string {
  if (random.below(20) === 0) return valueText(random, 1);
  return random.pick(['true', 'true', 'true', 'true', 'false', 'null']);
}

function optionsText(random: SeededRandom): string {
  if (random.below(20) === 0) return valueText(random, 1);
  if (random.below(4) === 0) return 'null';
  const members: string[] = [];
  for (let more = random.below(3); more > 0; more--) {
    members.push(`${nameText(random, random.pick(['a', 'b', '']))}:${valueText(random, 2)}`);
  }
  for (let more = random.below(10) === 0 ? 2 : random.below(2); more > 0; more--) {
    const value = random.pick(['true', 'true', 'false', 'null', valueText(random, 1)]);
    members.push(`${nameText(random, 'include_usage')}${space(random)}:${space(random)}${value}`);
  }
  return `{${separated(random, shuffled(random, members))}}`;
}

function valueText(random: SeededRandom, depth: number): string {
  const kind = random.below(depth > 0 ? 8 : 5);
  if (kind < 2) return stringText(random);
  if (kind === 2) return numberText(random);
  if (kind < 5) return random.pick(['true', 'false', 'null', '[]', '{}', '""', '0']);
  const values = Array.from({ length: random.below(4) }, () => valueText(random, depth - 1));
  if (kind === 5) return `[${separated(random, values)}]`;
  const names = ['model', 'stream', 'stream_options', 'include_usage', 'role', 'a', '__proto__', '1'];
  return `{${separated(
    random,
    values.map((value) => `${nameText(random, random.pick(names))}${space(random)}:${space(random)}${value}`),
  )}}`;
}

function numberText(random: SeededRandom): string {
  const whole = random.pick([
    '0',
    '1',
    '7',
    '16',
    '4096',
    '9007199254740993',
    '123456789012345678901234567890',
  ]);
  const fraction = random.pick(['', '', '', '.0', '.5', '.000']);
  const exponent = random.pick(['', '', '', 'e2', 'E+1', 'e-3', 'e400']);
  return `${random.pick(['', '', '', '-'])}${whole}${fraction}${exponent}`;
}

const stringParts = [
  'a',
  'word ',
  'openai/gpt-x',
  'a plain run that is longer than a block of the scanner. ',
  '\\n',
  '\\"',
  '\\\\',
  '\\/',
  '\\u0000',
  '\\ud800',
  '\\uD83D\\uDE00',
  '{\\"model\\":',
  'é',
  'привет',
  '世界',
  '😀',
  '\u007f',
  '\u2028',
  '\ufeff',
];

function stringText(random: SeededRandom): string {
  const parts = Array.from({ length: random.below(6) }, () => random.pick(stringParts));
  return `"${parts.join('')}"`;
}

/** Now and then with some of its characters escaped: that is the same name. */
function nameText(random: SeededRandom, name: string): string {
  if (random.below(8) > 0) return `"${name}"`;
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `"${[...name].map((character) => (random.below(3) === 0 ? escaped(character) : character)).join('')}"`;
}

function space(random: SeededRandom): string {
  return random.below(4) > 0 ? '' : random.pick([' ', '\n', '\t', '\r\n', '   ']);
}

function separated(random: SeededRandom, texts: readonly string[]): string {
  const inside = texts.map((text) => `${space(random)}${text}${space(random)}`).join(',');
  return texts.length === 0 ? space(random) : inside;
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  const result = [...items];
  for (let at = result.length - 1; at > 0; at--) {
    const other = random.below(at + 1);
    [result[at], result[other]] = [result[other] as T, result[at] as T];
  }
  return result;
}

const insertions = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  ' ',
  '\0',
  '\n',
  '0',
  '-',
  '.',
  'true',
  '\u00a0',
  '\ufeff',
];
const wrongSequences = [
  [0xff],
  [0x80],
  [0xc0, 0x80],
  [0xe0, 0x80, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
];

/** One to three changes that may leave it valid or not. */
export function mutated(random: SeededRandom, bytes: Uint8Array): Uint8Array {
  let result = bytes;
  for (let changes = 1 + random.below(3); changes > 0; changes--) result = changed(random, result);
  return result;
}

function changed(random: SeededRandom, bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length + 1);
  const joined = (inserted: ArrayLike<number>, from: number) => {
    return Uint8Array.from([...bytes.subarray(0, at), ...Array.from(inserted), ...bytes.subarray(from)]);
  };
  switch (random.below(7)) {
    case 0: {
      const flipped = bytes.slice();
      if (at < bytes.length) flipped[at] = (flipped[at] as number) ^ (1 << random.below(8));
      return flipped;
    }
    case 1:
      return bytes.slice(0, at);
    case 2:
      return joined([], at + 1 + random.below(4));
    case 3:
      return joined([random.below(256)], at);
    case 4:
      return joined(random.pick(wrongSequences), at);
    case 5:
      // White space and whole values change the bytes and often keep it valid.
      return joined(new TextEncoder().encode(random.pick(insertions)), at);
    default:
      return joined(new TextEncoder().encode(random.pick([' ', '\t', 'a', '1', 'é'])), at);
  }
}
