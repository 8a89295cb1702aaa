import { isAscii, isUtf8 as isValidUtf8 } from 'node:buffer';

/** Native search and copy for large bodies: tens of times as fast as a loop over their bytes. */

/** Takes 15 µs for a megabyte of ASCII, up to 170 µs for other alphabets. */
export function isUtf8(bytes: Uint8Array): boolean {
  return isValidUtf8(bytes);
}

/** Includes DEL, which JSON allows. */
const CONTROL = /\p{Cc}/u;
const CONTROL_CHARACTERS = 0x20;
/** The size of pieces that are searched as text: they stay in the processor's cache. */
const PIECE = 32 * 1024;

/**
 * Returns false only if no byte is below 0x20; in ASCII, DEL counts too. ASCII is searched as text: 150 µs for a megabyte.
 * The search in text is slow if bytes from 0x80 to 0x9f are frequent, so other bytes are searched for each of the 32 codes:
 * 500 µs.
 */
export function mayHaveControlCharacter(bytes: Uint8Array): boolean {
  if (!isAscii(bytes)) {
    for (let code = 0; code < CONTROL_CHARACTERS; code += 1) if (bytes.indexOf(code) !== -1) return true;
    return false;
  }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += PIECE) {
    if (CONTROL.test(buffer.toString('latin1', at, Math.min(at + PIECE, bytes.length)))) return true;
  }
  return false;
}

/** Smaller results are copied faster by a loop. */
const LARGE = 16 * 1024;

/**
 * Joins all pieces; a single one is returned as it is. `size` is their total length. A large result is not filled with zeros
 * first, which would take five times as long.
 */
export function joinBytes(pieces: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const [only] = pieces;
  if (only !== undefined && pieces.length === 1) return only as Uint8Array<ArrayBuffer>;
  if (size >= LARGE) return Buffer.concat(pieces as Uint8Array[], size);
  const joined = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
