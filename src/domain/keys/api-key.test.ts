import { describe, expect, test } from 'bun:test';
import { isPrintable, isWellFormed, rawKeyFrom } from './api-key.ts';

const key = rawKeyFrom(new Uint8Array(32).map((_, index) => index * 7));

describe('a raw key', () => {
  test('has the recognisable prefix, one length, and only letters and digits', () => {
    for (const fill of [0, 1, 127, 255]) {
      expect(rawKeyFrom(new Uint8Array(32).fill(fill))).toMatch(/^tpk_[0-9A-Za-z]{49}$/);
    }
  });

  test('has a permanent form: keys that were issued must stay well formed', () => {
    expect(key).toBe('tpk_00P7TMJAMtIAKPK15KMeONVl8lPkp3Q5J7OZtDH3YNd3qvAOl');
    expect(isWellFormed('tpk_00P7TMJAMtIAKPK15KMeONVl8lPkp3Q5J7OZtDH3YNd3qvAOl')).toBe(true);
  });

  test('is well formed, and with any one character changed it is not', () => {
    expect(isWellFormed(key)).toBe(true);
    for (let at = 4; at < key.length; at += 1) {
      const other = key[at] === 'x' ? 'y' : 'x';
      expect(isWellFormed(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
    }
  });

  test('cut, lengthened, transposed or in another form it is not well formed', () => {
    const swapped = `${key.slice(0, 10)}${key[11]}${key[10]}${key.slice(12)}`;
    const others = ['', 'tpk_', key.slice(0, -1), `${key}0`, key.replace('tpk_', 'sk-'), ` ${key}`, swapped];
    // Characters above the ASCII range, which a table of 128 does not have.
    others.push(key.replace(/.$/, '\u00e9'), `${key.slice(0, 9)}\u{1f511}${key.slice(11)}`);
    for (const other of others) expect(isWellFormed(other)).toBe(other === key);
  });

  test('no character outside the alphabet passes, even where the checksum would match', () => {
    // A sign that is no digit counts as 255, which is 4 * 62 + 7.
    const keys = Array.from({ length: 5_000 }, (_, n) =>
      rawKeyFrom(new Uint8Array(32).fill(n % 251, n % 32)),
    );
    const fitting = keys.filter((one) => /[5-9]7$/.test(one));
    expect(fitting.length).toBeGreaterThan(0);
    for (const one of fitting) {
      const forged = `${one.slice(0, -2)}${Number(one.at(-2)) - 4}-`;
      expect(isWellFormed(forged)).toBe(false);
    }
  });
});

describe('a name', () => {
  test('may have the joiners that Persian, Hindi and emoji are written with', () => {
    for (const name of ['نرم\u200cافزار', 'क\u094d\u200dष', '👩🏽\u200d💻 Team', '🏳\ufe0f\u200d🌈']) {
      expect([name, isPrintable(name)]).toEqual([name, true]);
    }
  });

  test('has none that are seen nowhere, nor characters that hide or turn others', () => {
    const hidden = [
      'Ac\u200dme',
      '\u200d',
      'a\u200b',
      '\u202eemcA',
      'نرم\u200c',
      'a\nb',
      '\0',
      '👩\u200d\u200d💻',
    ];
    for (const name of hidden) expect([name, isPrintable(name)]).toEqual([name, false]);
  });
});
