import { expect, test } from 'bun:test';
import { qrModules } from '../../console/parts/qr-code.ts';

/** Reads a code as a scanner does, from the standard and not from our encoder: only level L, which is what we draw. */
function read(modules: readonly (readonly boolean[])[]): string {
  const size = modules.length;
  const version = (size - 17) / 4;
  const dark = (x: number, y: number) => modules[y]?.[x] === true;
  const mask = formatMask(dark);
  const bits: number[] = [];
  let isUpwards = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right -= 1;
    for (let step = 0; step < size; step += 1) {
      const y = isUpwards ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (!isPattern(x, y, size, version)) bits.push(Number(dark(x, y) !== masked(mask, x, y)));
      }
    }
    isUpwards = !isUpwards;
  }
  const bytes = Array.from({ length: Math.floor(bits.length / 8) }, (_, n) =>
    Number.parseInt(bits.slice(n * 8, n * 8 + 8).join(''), 2),
  );
  const data = correctedData(bytes, version)
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('');
  expect(data.slice(0, 4)).toBe('0100');
  const lengthBits = version < 10 ? 8 : 16;
  const length = Number.parseInt(data.slice(4, 4 + lengthBits), 2);
  const text = data.slice(4 + lengthBits, 4 + lengthBits + 8 * length);
  return new TextDecoder().decode(
    new Uint8Array((text.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2))),
  );
}

/** The 32 format words have at least seven bits of difference: ours is one of the eight of level L. */
function formatMask(dark: (x: number, y: number) => boolean): number {
  const WORDS = ['111011111000100', '111001011110011', '111110110101010', '111100010011101'];
  WORDS.push('110011000101111', '110001100011000', '110110001000001', '110100101110110');
  const read = [0, 1, 2, 3, 4, 5, 7, 8].map((x) => dark(x, 8));
  read.push(...[7, 5, 4, 3, 2, 1, 0].map((y) => dark(8, y)));
  const mask = WORDS.indexOf(read.map(Number).join(''));
  expect(mask).toBeGreaterThanOrEqual(0);
  return mask;
}

function masked(mask: number, j: number, i: number): boolean {
  const half = Math.floor;
  return (
    [
      (i + j) % 2,
      i % 2,
      j % 3,
      (i + j) % 3,
      (half(i / 2) + half(j / 3)) % 2,
      ((i * j) % 2) + ((i * j) % 3),
      (((i * j) % 2) + ((i * j) % 3)) % 2,
      (((i + j) % 2) + ((i * j) % 3)) % 2,
    ][mask] === 0
  );
}

/** Centres of alignment patterns as in annex E of the standard. */
const ALIGNMENT: Readonly<Record<number, readonly number[]>> = {
  ...{ 1: [], 5: [6, 30], 6: [6, 34], 7: [6, 22, 38], 10: [6, 28, 50], 14: [6, 26, 46, 66] },
};

function isPattern(x: number, y: number, size: number, version: number): boolean {
  if (x === 6 || y === 6) return true;
  if ((x < 9 && y < 9) || (x < 9 && y >= size - 8) || (x >= size - 8 && y < 9)) return true;
  if (version >= 7 && ((y < 6 && x >= size - 11) || (x < 6 && y >= size - 11))) return true;
  const centres = ALIGNMENT[version] ?? [];
  const [first, last] = [centres[0], centres.at(-1)];
  return centres.some((cx) =>
    centres.some((cy) => {
      const isFinder =
        (cx === first && cy === first) || (cx === first && cy === last) || (cx === last && cy === first);
      return !isFinder && Math.abs(x - cx) <= 2 && Math.abs(y - cy) <= 2;
    }),
  );
}

/** Blocks of level L: [count, bytes with error correction, data bytes], as in table 9 of the standard. */
const BLOCKS: Readonly<Record<number, readonly (readonly [number, number, number])[]>> = {
  1: [[1, 26, 19]],
  5: [[1, 134, 108]],
  6: [[2, 86, 68]],
  7: [[2, 98, 78]],
  10: [
    [2, 86, 68],
    [2, 87, 69],
  ],
  14: [
    [3, 145, 115],
    [1, 146, 116],
  ],
};

function correctedData(bytes: readonly number[], version: number): number[] {
  const shapes = (BLOCKS[version] ?? []).flatMap(([count, total, data]) =>
    Array.from({ length: count }, () => ({ total, data })),
  );
  const blocks = shapes.map(() => [] as number[]);
  let next = 0;
  const most = Math.max(...shapes.map(({ data }) => data));
  for (let index = 0; index < most; index += 1) {
    for (const [n, { data }] of shapes.entries()) if (index < data) blocks[n]?.push(bytes[next++] ?? 0);
  }
  const correction = (shapes[0]?.total ?? 0) - (shapes[0]?.data ?? 0);
  for (let index = 0; index < correction; index += 1)
    for (const block of blocks) block.push(bytes[next++] ?? 0);
  // A whole block is zero at every root of the generator.
  for (const block of blocks)
    for (let root = 0; root < correction; root += 1) expect(valueAt(block, root)).toBe(0);
  return blocks.flatMap((block, n) => block.slice(0, shapes[n]?.data));
}

const POWERS: number[] = [1];
while (POWERS.length < 255) {
  const doubled = (POWERS.at(-1) ?? 0) * 2;
  POWERS.push(doubled > 255 ? doubled ^ 0x11d : doubled);
}

function valueAt(block: readonly number[], root: number): number {
  return block.reduce((sum, byte) => {
    const shifted = sum === 0 ? 0 : (POWERS[(POWERS.indexOf(sum) + root) % 255] ?? 0);
    return shifted ^ byte;
  }, 0);
}

test.each([
  [1, 'HELLO'],
  [5, 'é'.repeat(50)],
  [
    6,
    'otpauth://totp/Turnpike:ada%40acme.example?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Turnpike&algorithm=SHA1',
  ],
  [7, 'z'.repeat(150)],
  [10, 'w'.repeat(260)],
  [14, 'abc '.repeat(110)],
])('a code of version %i decodes to its text, with every block intact', (version, text) => {
  const modules = qrModules(text);
  expect(modules.length).toBe(version * 4 + 17);
  expect(read(modules)).toBe(text);
});

test('a text that does not fit is refused', () => {
  expect(() => qrModules('x'.repeat(859))).toThrow('too long');
});
