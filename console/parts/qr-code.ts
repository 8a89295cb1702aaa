/**
 * QR codes (ISO/IEC 18004) for text: byte mode, error correction level L, versions 1 to 20, which is up to 858 bytes.
 * This is enough for an `otpauth:` address with the longest email address. Drawn in the browser, because the secret
 * must not be sent to an external service.
 */
const EC_BYTES = [0, 7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28];
const BLOCKS = [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8];
const LAST_VERSION = BLOCKS.length - 1;
const LEVEL_L = 1;

/** The dark modules, row by row, without the quiet zone. */
export function qrModules(text: string): readonly (readonly boolean[])[] {
  const bytes = new TextEncoder().encode(text);
  const version = versionFor(bytes.length);
  const bits = withErrorCorrection(dataBytes(bytes, version), version);
  const candidates = Array.from({ length: 8 }, (_, mask) => draw(version, bits, mask));
  const penalties = candidates.map(penaltyOf);
  const best = candidates[penalties.indexOf(Math.min(...penalties))];
  if (best === undefined) throw new Error('no mask was drawn');
  return best;
}

function versionFor(length: number): number {
  for (let version = 1; version <= LAST_VERSION; version += 1) {
    if (length + (version < 10 ? 2 : 3) <= dataSize(version)) return version;
  }
  throw new RangeError('the text is too long for a QR code');
}

const at = (list: readonly number[], index: number) => list[index] ?? 0;

/** The number of bytes in all modules that are not patterns. */
function rawSize(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const alignments = Math.floor(version / 7) + 2;
    modules -= (25 * alignments - 10) * alignments - 55;
    if (version >= 7) modules -= 36;
  }
  return Math.floor(modules / 8);
}

function dataSize(version: number): number {
  return rawSize(version) - at(EC_BYTES, version) * at(BLOCKS, version);
}

/** Mode, length, the bytes, and padding to the full size. */
function dataBytes(bytes: Uint8Array, version: number): number[] {
  const lengthBits = version < 10 ? 8 : 16;
  let bits = `0100${bytes.length.toString(2).padStart(lengthBits, '0')}`;
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  const size = dataSize(version);
  bits += '0'.repeat(Math.min(4, size * 8 - bits.length));
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0');
  const data = (bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2));
  for (let pad = 0xec; data.length < size; pad ^= 0xec ^ 0x11) data.push(pad);
  return data;
}

/** Each block gets its Reed-Solomon remainder; then the blocks are interleaved byte by byte. */
function withErrorCorrection(data: readonly number[], version: number): number[] {
  const [count, ecBytes, raw] = [at(BLOCKS, version), at(EC_BYTES, version), rawSize(version)];
  const short = Math.floor(raw / count) - ecBytes;
  const longFrom = count - (raw % count);
  const divisor = generator(ecBytes);
  const blocks: { readonly data: readonly number[]; readonly ec: readonly number[] }[] = [];
  for (let block = 0, start = 0; block < count; block += 1) {
    const length = short + (block >= longFrom ? 1 : 0);
    const own = data.slice(start, start + length);
    blocks.push({ data: own, ec: remainder(own, divisor) });
    start += length;
  }
  const mixed: number[] = [];
  for (let index = 0; index <= short; index += 1) {
    for (const { data: own } of blocks) if (index < own.length) mixed.push(at(own, index));
  }
  for (let index = 0; index < ecBytes; index += 1) for (const { ec } of blocks) mixed.push(at(ec, index));
  return mixed;
}

/** In GF(256) with the polynomial 0x11d. */
function multiply(one: number, other: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((other >>> bit) & 1) * one;
  }
  return product;
}

function generator(degree: number): number[] {
  const result = [...new Array<number>(degree - 1).fill(0), 1];
  let root = 1;
  for (let step = 0; step < degree; step += 1) {
    for (let index = 0; index < degree; index += 1) {
      result[index] = multiply(at(result, index), root) ^ at(result, index + 1);
    }
    root = multiply(root, 2);
  }
  return result;
}

function remainder(data: readonly number[], divisor: readonly number[]): number[] {
  const result = new Array<number>(divisor.length).fill(0);
  for (const byte of data) {
    const factor = byte ^ (result.shift() ?? 0);
    result.push(0);
    for (const [index, value] of divisor.entries())
      result[index] = at(result, index) ^ multiply(value, factor);
  }
  return result;
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** Draws the patterns first, then the data in a zigzag from the lower right, inverted where the mask applies. */
function draw(version: number, bytes: readonly number[], mask: number): boolean[][] {
  const size = version * 4 + 17;
  const dark = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const fixed = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const set = (x: number, y: number, isDark: boolean) => {
    const [row, fixedRow] = [dark[y], fixed[y]];
    if (row === undefined || fixedRow === undefined || x < 0 || x >= size) return;
    row[x] = isDark;
    fixedRow[x] = true;
  };
  drawPatterns(version, size, set);
  drawFormat(size, mask, set);
  const isMasked = MASKS[mask] ?? (() => false);
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      for (const x of [right, right - 1]) {
        const y = ((right + 1) & 2) === 0 ? size - 1 - step : step;
        const [row, fixedRow] = [dark[y], fixed[y]];
        if (row === undefined || fixedRow?.[x] !== false) continue;
        const isDark = ((at(bytes, bit >>> 3) >>> (7 - (bit & 7))) & 1) === 1;
        row[x] = isDark !== isMasked(x, y);
        bit += 1;
      }
    }
  }
  return dark;
}

type SetModule = (x: number, y: number, isDark: boolean) => void;

function drawPatterns(version: number, size: number, set: SetModule): void {
  for (let index = 0; index < size; index += 1) {
    set(6, index, index % 2 === 0);
    set(index, 6, index % 2 === 0);
  }
  const finder = (left: number, top: number) => {
    for (let y = -4; y <= 4; y += 1) {
      for (let x = -4; x <= 4; x += 1) {
        const ring = Math.max(Math.abs(x), Math.abs(y));
        set(left + x, top + y, ring !== 2 && ring !== 4);
      }
    }
  };
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const) {
    finder(x, y);
  }
  const places = alignmentPlaces(version, size);
  const last = places.length - 1;
  for (const [row, y] of places.entries()) {
    for (const [column, x] of places.entries()) {
      if ((row === 0 && (column === 0 || column === last)) || (row === last && column === 0)) continue;
      for (let dy = -2; dy <= 2; dy += 1) {
        for (let dx = -2; dx <= 2; dx += 1) set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
      }
    }
  }
  if (version >= 7) drawVersion(version, size, set);
}

function alignmentPlaces(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  const places = Array.from({ length: count - 1 }, (_, index) => size - 7 - index * step);
  return [6, ...places.reverse()];
}

function drawVersion(version: number, size: number, set: SetModule): void {
  let rest = version;
  for (let step = 0; step < 12; step += 1) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25);
  const bits = (version << 12) | rest;
  for (let index = 0; index < 18; index += 1) {
    const [far, near] = [size - 11 + (index % 3), Math.floor(index / 3)];
    set(far, near, ((bits >>> index) & 1) === 1);
    set(near, far, ((bits >>> index) & 1) === 1);
  }
}

function drawFormat(size: number, mask: number, set: SetModule): void {
  const data = (LEVEL_L << 3) | mask;
  let rest = data;
  for (let step = 0; step < 10; step += 1) rest = (rest << 1) ^ ((rest >>> 9) * 0x537);
  const bits = ((data << 10) | rest) ^ 0x5412;
  const isDark = (index: number) => ((bits >>> index) & 1) === 1;
  for (let index = 0; index <= 5; index += 1) set(8, index, isDark(index));
  set(8, 7, isDark(6));
  set(8, 8, isDark(7));
  set(7, 8, isDark(8));
  for (let index = 9; index < 15; index += 1) set(14 - index, 8, isDark(index));
  for (let index = 0; index < 8; index += 1) set(size - 1 - index, 8, isDark(index));
  for (let index = 8; index < 15; index += 1) set(8, size - 15 + index, isDark(index));
  set(8, size - 8, true);
}

/**
 * Scores what makes a code hard to read: long runs, squares of one colour, finder-like shapes, too much of one colour.
 */
function penaltyOf(modules: readonly (readonly boolean[])[]): number {
  const size = modules.length;
  const columns = Array.from({ length: size }, (_, x) => modules.map((row) => row[x] === true));
  let penalty = 0;
  for (const line of [...modules, ...columns]) {
    const text = line.map((isDark) => (isDark ? '1' : '0')).join('');
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2;
    penalty += 40 * (text.match(/(?=00001011101|10111010000)/g) ?? []).length;
  }
  let darkCount = 0;
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const here = modules[y]?.[x];
      if (here === true) darkCount += 1;
      const square = [modules[y]?.[x + 1], modules[y + 1]?.[x], modules[y + 1]?.[x + 1]];
      if (square.every((other) => other === here)) penalty += 3;
    }
  }
  return penalty + 10 * Math.floor(Math.abs((darkCount * 100) / size ** 2 - 50) / 5);
}
