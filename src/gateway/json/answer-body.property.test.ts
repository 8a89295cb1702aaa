import { expect, test } from 'bun:test';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { readWholeAnswer } from './answer-body.ts';

/** Found in no made-up answer, so that the stamps can be counted. */
const ALIAS = 'svc/\u2605';
const STAMP = JSON.stringify(ALIAS);

const space = (random: SeededRandom) => random.pick(['', '', '', ' ', '\n', '\t \r\n']);

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

const NAMES = ['model', 'provider', 'usage', 'error', 'choices', 'content', 'id', 'x_groq', '', 'modem'];

test('G-16 without its stamps an answer is byte for byte what came, and read it is the same but for them', () => {
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
