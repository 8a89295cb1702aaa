/**
 * A raw key is `tpk_`, 43 base62 characters that hold 256 random bits, and 6 that hold the CRC-32 of what stands
 * before them. The prefix lets secret scanners find a key that leaked; the checksum tells a typing error from
 * an unknown key without a look-up.
 */
const PREFIX = 'tpk_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const KEY_BYTES = 32;
const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}$`);

export function rawKeyFrom(bytes: Uint8Array): string {
  if (bytes.length !== KEY_BYTES) throw new Error(`a raw key is made of ${KEY_BYTES} bytes`);
  const number = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const body = PREFIX + base62(number, RANDOM_CHARACTERS);
  return body + checksum(body);
}

/** Whether this can be a key at all: its form, and its checksum. */
export function isWellFormed(rawKey: string): boolean {
  if (!SHAPE.test(rawKey)) return false;
  const body = rawKey.slice(0, -CHECKSUM_CHARACTERS);
  return rawKey.endsWith(checksum(body));
}

export async function keyHash(rawKey: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(rawKey)));
}

/** What may be shown of a key for recognition. */
export function recognition(rawKey: string): { prefix: string; lastFour: string } {
  return { prefix: rawKey.slice(0, PREFIX.length + 4), lastFour: rawKey.slice(-4) };
}

function checksum(body: string): string {
  return base62(BigInt(crc32(new TextEncoder().encode(body))), CHECKSUM_CHARACTERS);
}

function base62(number: bigint, width: number): string {
  let digits = '';
  for (let rest = number; rest > 0n; rest /= 62n) digits = ALPHABET[Number(rest % 62n)] + digits;
  return digits.padStart(width, '0');
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}
