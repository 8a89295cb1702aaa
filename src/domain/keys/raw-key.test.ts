import { describe, expect, test } from 'bun:test';
import { isWellFormed, keyHash, rawKeyFrom, recognition } from './raw-key.ts';

const key = rawKeyFrom(new Uint8Array(32).map((_, index) => index * 7));

describe('a raw key', () => {
  test('has the recognisable prefix, one length, and only letters and digits', () => {
    for (const fill of [0, 1, 127, 255]) {
      expect(rawKeyFrom(new Uint8Array(32).fill(fill))).toMatch(/^tpk_[0-9A-Za-z]{49}$/);
    }
  });

  test('is well formed, and with any one character changed it is not', () => {
    expect(isWellFormed(key)).toBe(true);
    for (let at = 4; at < key.length; at += 1) {
      const other = key[at] === 'x' ? 'y' : 'x';
      expect(isWellFormed(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
    }
  });

  test('cut, lengthened, swapped or in another form it is not well formed', () => {
    const swapped = `${key.slice(0, 10)}${key[11]}${key[10]}${key.slice(12)}`;
    const others = ['', 'tpk_', key.slice(0, -1), `${key}0`, key.replace('tpk_', 'sk-'), ` ${key}`, swapped];
    for (const other of others) expect(isWellFormed(other)).toBe(other === key);
  });

  test('different bytes give different keys and different hashes of 32 bytes', async () => {
    const another = rawKeyFrom(new Uint8Array(32).fill(3));
    expect(another).not.toBe(key);
    expect(await keyHash(another)).not.toEqual(await keyHash(key));
    expect(await keyHash(key)).toHaveLength(32);
  });

  test('what is shown for recognition does not give the key away', () => {
    expect(recognition(key)).toEqual({ prefix: key.slice(0, 8), lastFour: key.slice(-4) });
  });
});
