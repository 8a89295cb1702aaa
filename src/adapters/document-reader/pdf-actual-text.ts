import { inflateSync } from 'node:zlib';
import type { getDocumentProxy } from 'unpdf';

/** What the library returns for a glyph without a character of its own: in many fonts, the ligature of "fi". */
const UNMAPPED = '\0';
const EVERY_UNMAPPED = /\0/g;

/**
 * Chromium's PDFs give such a glyph its text beside the glyph (`/Span<</ActualText (fi)>> BDC`), which the library does not
 * read. The spans of all pages are matched with those in the file by their order, and only if each has its counterpart.
 * Returns the text of every unmapped glyph, by the number of its page, or null.
 */
export async function textsOfUnmapped(
  pdf: Pdf,
  bytes: Uint8Array,
  maxCharacters: number,
): Promise<ReadonlyMap<number, readonly string[]> | null> {
  const texts = actualTexts(bytes);
  const spans: Span[] = [];
  const found = new Map<number, Unmapped[]>();
  let length = 0;
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await unmappedOf(await pdf.getPage(number), spans, maxCharacters - length);
    if (page === null || spans.length > texts.length) return null;
    length += page.length;
    found.set(number, page.unmapped);
  }
  if (spans.length !== texts.length) return null;
  if (!spans.every(({ shown }, at) => isPossible(shown, texts[at] ?? ''))) return null;
  const textOf = ({ span, isFirst }: Unmapped) => {
    if (span === null) return UNMAPPED;
    return isFirst ? (texts[span] ?? '') : '';
  };
  return new Map([...found].map(([number, all]) => [number, all.map(textOf)]));
}

/** `text` with the next of `texts` for each unmapped glyph. */
export function withTexts(text: string, texts: Iterator<string>): string {
  return text.replace(EVERY_UNMAPPED, () => texts.next().value ?? UNMAPPED);
}

export function hasUnmapped(text: string): boolean {
  return text.includes(UNMAPPED);
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

interface Span {
  /** As the library reads its glyphs. */
  shown: string;
  hasUnmapped: boolean;
}

interface Unmapped {
  /** The place of its span among all, or null if it is outside of them. */
  readonly span: number | null;
  /** The text of a span belongs to its first glyph. */
  readonly isFirst: boolean;
}

type ContentItem =
  | { readonly str: string }
  | { readonly type: string; readonly tag?: string; readonly id?: string | null };

/** Adds the page's spans to `spans`. Null if the page has more characters than allowed. */
async function unmappedOf(
  page: Page,
  spans: Span[],
  maxCharacters: number,
): Promise<{ readonly unmapped: Unmapped[]; readonly length: number } | null> {
  const unmapped: Unmapped[] = [];
  const open: (number | null)[] = [];
  let length = 0;
  const reader = page.streamTextContent({ includeMarkedContent: true }).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (const item of value.items as readonly ContentItem[]) {
      length += 'str' in item ? item.str.length : 1;
      noteItem(item, open, spans, unmapped);
    }
    if (length > maxCharacters) {
      await reader.cancel(new Error('enough')).catch(() => {});
      return null;
    }
  }
  page.cleanup();
  return { unmapped, length };
}

/** `open` are the spans, or other marked content (null), that the item is in. */
function noteItem(item: ContentItem, open: (number | null)[], spans: Span[], unmapped: Unmapped[]): void {
  if (!('str' in item)) {
    if (item.type === 'endMarkedContent') open.pop();
    // One with an id is a part of the document's structure.
    else
      open.push(
        item.tag === 'Span' && item.id == null ? spans.push({ shown: '', hasUnmapped: false }) - 1 : null,
      );
    return;
  }
  const place = open.findLast((one) => one !== null) ?? null;
  const span = place === null ? undefined : spans[place];
  for (const letter of item.str) {
    const isUnmapped = letter === UNMAPPED;
    if (isUnmapped) unmapped.push({ span: place, isFirst: span?.hasUnmapped === false });
    if (span === undefined) continue;
    span.shown += letter;
    span.hasUnmapped ||= isUnmapped;
  }
}

/** False if the span shows letters that are not its text: then the order is another one. */
function isPossible(shown: string, text: string): boolean {
  const letters = shown.trim().normalize('NFKC');
  return !/^\p{L}+$/u.test(letters) || letters === text.normalize('NFKC');
}

const MOST_BYTES = 64 * 1024 * 1024;
const MOST_STREAM_BYTES = 8 * 1024 * 1024;
const STREAM = Buffer.from('stream');
const END_OF_STREAM = Buffer.from('endstream');
const SPAN_TEXT = /\/Span\s*<<\s*\/ActualText\s*(\((?:\\[\s\S]|[^\\()])*\)|<[\da-fA-F\s]*>)\s*>>\s*BDC/g;

/** The texts of all spans, in the order of the file. */
function actualTexts(bytes: Uint8Array): string[] {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts: string[] = [];
  let left = MOST_BYTES;
  let at = file.indexOf(STREAM);
  while (at !== -1 && left > 0) {
    const start = at + STREAM.length;
    const end = file.indexOf(END_OF_STREAM, start);
    if (end === -1) break;
    const content = contentOf(file.subarray(start, end), Math.min(left, MOST_STREAM_BYTES));
    left -= content.length;
    for (const [, text = ''] of content.toString('latin1').matchAll(SPAN_TEXT)) texts.push(decoded(text));
    at = file.indexOf(STREAM, end + END_OF_STREAM.length);
  }
  return texts;
}

const NOTHING = Buffer.alloc(0);

/** Compressed or not. `stream` begins with a line end. */
function contentOf(stream: Buffer, maxOutputLength: number): Buffer {
  const content = stream.subarray(stream[0] === 0x0d ? 2 : 1);
  // The header of zlib: deflate, and a multiple of 31.
  if (content.length < 2 || (content.readUInt8(0) & 0x0f) !== 8 || content.readUInt16BE(0) % 31 !== 0) {
    return content.subarray(0, maxOutputLength);
  }
  try {
    return inflateSync(content, { maxOutputLength });
  } catch {
    return NOTHING;
  }
}

/** A string of a PDF, as `(fi)` or as `<FEFF00660069>`: UTF-16 after a byte order mark, Latin-1 otherwise. */
function decoded(text: string): string {
  const inner = text.slice(1, -1);
  const bytes = text.startsWith('<')
    ? Buffer.from(inner.replace(/\s/g, ''), 'hex')
    : Buffer.from(inner.replace(/\\([()\\])/g, '$1'), 'latin1');
  if (bytes[0] !== 0xfe || bytes[1] !== 0xff) return bytes.toString('latin1');
  return bytes
    .subarray(2, bytes.length - (bytes.length % 2))
    .swap16()
    .toString('utf16le');
}
