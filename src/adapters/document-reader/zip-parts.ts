import { Inflate } from 'fflate';

/** The text of a document that is a zip of XML, or why it has none. */
export type ZipText =
  | { readonly outcome: 'text'; readonly text: string; readonly isCut: boolean }
  | { readonly outcome: 'too-large'; readonly why: string }
  | { readonly outcome: 'encrypted' }
  | { readonly outcome: 'other-zip'; readonly names: readonly string[] }
  | { readonly outcome: 'broken'; readonly why: string };

/**
 * Reads the directory of a zip before anything is inflated, and inflates only the requested entries. The inflated bytes are
 * counted, because the sizes in the directory may be false. Nested zips are never opened.
 */
type ZipParts =
  | {
      readonly outcome: 'opened';
      readonly parts: Record<string, Uint8Array<ArrayBuffer>>;
      /** Of all entries. */
      readonly names: readonly string[];
    }
  | { readonly outcome: 'too-large'; readonly why: string }
  | { readonly outcome: 'broken'; readonly why: string }
  | { readonly outcome: 'encrypted' };

interface ZipBounds {
  readonly maxInflatedBytes: number;
}

interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly packedBytes: number;
  readonly declaredBytes: number;
  readonly headerAt: number;
}

const MOST_ENTRIES = 2_000;
/** Word's XML compresses 5 to 20 times, long tables up to 60. Beyond the first megabytes only bombs compress better. */
const MOST_RATIO = 150;
const RATIO_COUNTS_FROM_BYTES = 4_000_000;
const END_MARK = 0x06054b50;
const ENTRY_MARK = 0x02014b50;
const HEADER_MARK = 0x04034b50;
/** The end record has 22 bytes and a comment of at most 65,535 after it. */
const END_WITHIN = 22 + 65_535;
const FED_AT_ONCE = 16 * 1024;

/** The names in the directory; none if it is broken. */
export function zipNames(bytes: Uint8Array): readonly string[] {
  const entries = readDirectory(bytes);
  return typeof entries === 'string' ? [] : entries.map(({ name }) => name);
}

/** See `ZipParts`. */
export function openZip(bytes: Uint8Array, bounds: ZipBounds, isWanted: (name: string) => boolean): ZipParts {
  const entries = readDirectory(bytes);
  if (typeof entries === 'string') return { outcome: 'broken', why: entries };
  if (entries.length > MOST_ENTRIES) {
    return { outcome: 'too-large', why: `it holds more than ${MOST_ENTRIES} files` };
  }
  let declaredBytes = 0;
  for (const entry of entries) declaredBytes += entry.declaredBytes;
  if (declaredBytes > bounds.maxInflatedBytes) return tooMuch(bounds);
  const parts: Record<string, Uint8Array<ArrayBuffer>> = Object.create(null);
  let leftBytes = bounds.maxInflatedBytes;
  for (const entry of entries) {
    if (!isWanted(entry.name)) continue;
    if (entry.isEncrypted) return { outcome: 'encrypted' };
    const inflated = inflate(bytes, entry, leftBytes);
    if (inflated === 'too-large') return tooMuch(bounds);
    if (inflated === 'broken') return { outcome: 'broken', why: 'a file in it cannot be unpacked' };
    leftBytes -= inflated.length;
    parts[entry.name] = inflated;
  }
  return { outcome: 'opened', parts, names: entries.map(({ name }) => name) };
}

function tooMuch({ maxInflatedBytes }: ZipBounds): ZipParts {
  return {
    outcome: 'too-large',
    why: `it unpacks to more than ${maxInflatedBytes} bytes, or as no document does`,
  };
}

function readDirectory(bytes: Uint8Array): readonly ZipEntry[] | string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  const first = Math.max(0, bytes.length - END_WITHIN);
  while (end >= first && view.getUint32(end, true) !== END_MARK) end -= 1;
  if (end < first) return 'its end is missing';
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > end || view.getUint32(at, true) !== ENTRY_MARK) return 'its directory is broken';
    const nameLength = view.getUint16(at + 28, true);
    const behindName = view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    entries.push({
      name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      method: view.getUint16(at + 10, true),
      isEncrypted: (view.getUint16(at + 8, true) & 1) === 1,
      packedBytes: view.getUint32(at + 20, true),
      declaredBytes: view.getUint32(at + 24, true),
      headerAt: view.getUint32(at + 42, true),
    });
    at += 46 + nameLength + behindName;
    if (entries.length > MOST_ENTRIES) break;
  }
  return entries;
}

function inflate(
  bytes: Uint8Array,
  entry: ZipEntry,
  maxBytes: number,
): Uint8Array<ArrayBuffer> | 'too-large' | 'broken' {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { headerAt, packedBytes } = entry;
  if (headerAt + 30 > bytes.length || view.getUint32(headerAt, true) !== HEADER_MARK) return 'broken';
  const begin = headerAt + 30 + view.getUint16(headerAt + 26, true) + view.getUint16(headerAt + 28, true);
  if (begin + packedBytes > bytes.length) return 'broken';
  const packed = bytes.slice(begin, begin + packedBytes);
  if (entry.method === 0) return packed.length > maxBytes ? 'too-large' : packed;
  if (entry.method !== 8) return 'broken';
  const mostBytes = Math.min(maxBytes, Math.max(RATIO_COUNTS_FROM_BYTES, packed.length * MOST_RATIO));
  return inflateWithin(packed, mostBytes);
}

function inflateWithin(
  packed: Uint8Array,
  mostBytes: number,
): Uint8Array<ArrayBuffer> | 'too-large' | 'broken' {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const inflater = new Inflate((chunk) => {
    length += chunk.length;
    if (length <= mostBytes) chunks.push(chunk);
  });
  try {
    for (let at = 0; at < packed.length && length <= mostBytes; at += FED_AT_ONCE) {
      const next = Math.min(at + FED_AT_ONCE, packed.length);
      inflater.push(packed.subarray(at, next), next === packed.length);
    }
  } catch {
    return 'broken';
  }
  if (length > mostBytes) return 'too-large';
  const whole = new Uint8Array(length);
  let place = 0;
  for (const chunk of chunks) {
    whole.set(chunk, place);
    place += chunk.length;
  }
  return whole;
}
