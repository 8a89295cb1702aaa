import type {
  DocumentKind,
  DocumentLimits,
  DocumentReading,
  UnreadableReason,
} from '../../ports/document-reader.ts';
import { docxText } from './docx-text.ts';
import { htmlText } from './html-text.ts';
import { pdfText } from './pdf-text.ts';

/** The result of each type, before it is cleaned and measured. */
interface Found {
  readonly kind: DocumentKind;
  readonly text: string;
  readonly pages: number | null;
  readonly warnings: readonly string[];
}

const READABLE = 'Send plain text, PDF, DOCX or HTML.';

/** Reads a document. The limits of time and memory are enforced by the process. */
export async function readDocument(bytes: Uint8Array, limits: DocumentLimits): Promise<DocumentReading> {
  const kind = kindOf(bytes);
  if (typeof kind === 'object') return unreadable('unknown-type', `The file is ${kind.unknown}. ${READABLE}`);
  if (kind === 'pdf') return readPdf(bytes, limits);
  if (kind === 'docx') return readDocx(bytes, limits);
  return readText(bytes, limits);
}

async function readPdf(bytes: Uint8Array, limits: DocumentLimits): Promise<DocumentReading> {
  const pdf = await pdfText(bytes, limits);
  if (pdf.outcome === 'too-large') return tooLarge(`The PDF is too large: ${pdf.why}.`);
  if (pdf.outcome === 'encrypted') {
    return unreadable('encrypted', 'The PDF needs a password. Save it without one and send it again.');
  }
  if (pdf.outcome === 'broken') {
    return unreadable('broken', 'The PDF is damaged or incomplete. Create it again and send it again.');
  }
  const warnings = pdf.unseen > 0 ? ['Text outside of the page, or too small to be read, was left out.'] : [];
  return finished({ kind: 'pdf', text: pdf.text, pages: pdf.pages, warnings }, limits);
}

async function readDocx(bytes: Uint8Array, limits: DocumentLimits): Promise<DocumentReading> {
  const docx = await docxText(bytes, limits);
  switch (docx.outcome) {
    case 'too-large':
      return tooLarge(`The DOCX is too large: ${docx.why}.`);
    case 'encrypted':
      return unreadable('encrypted', 'The DOCX needs a password. Save it without one and send it again.');
    case 'other-zip':
      return unreadable('unknown-type', `The file is a zip archive, but no DOCX. ${READABLE}`);
    case 'broken':
      return unreadable('broken', `The DOCX is damaged: ${docx.why}. Save it again and send it again.`);
    case 'text':
      if (docx.isCut) return tooManyCharacters(limits);
      return finished({ kind: 'docx', text: docx.text, pages: null, warnings: [] }, limits);
  }
}

function readText(bytes: Uint8Array, limits: DocumentLimits): DocumentReading {
  const decoded = decodeText(bytes);
  if (decoded === null)
    return unreadable('unknown-type', `The file is no text and no known document. ${READABLE}`);
  const { text, encoding } = decoded;
  const warnings =
    encoding === 'windows-1252'
      ? ['The text is not UTF-8; it was read as Latin-1. Accents may be wrong.']
      : [];
  if (!isHtml(text)) return finished({ kind: 'text', text, pages: null, warnings }, limits);
  const page = htmlText(text.replace(PAGE_SETTINGS, ''), limits.maxCharacters);
  if (page.isCut) return tooManyCharacters(limits);
  return finished({ kind: 'html', text: page.text, pages: null, warnings }, limits);
}

function finished({ kind, text, pages, warnings }: Found, limits: DocumentLimits): DocumentReading {
  const clean = cleanText(text, { keepsGaps: kind === 'text' });
  if (clean.length > limits.maxCharacters) return tooManyCharacters(limits);
  if (!/[\p{L}\p{N}]/u.test(clean)) {
    const message =
      kind === 'pdf'
        ? 'The PDF has no text in it, only images: it is probably a scan. Send a PDF with text, or the text itself.'
        : 'There is no text in the document.';
    return unreadable('no-text', message);
  }
  return { outcome: 'read', kind, text: clean, pages, warnings };
}

function tooManyCharacters({ maxCharacters }: DocumentLimits): DocumentReading {
  return tooLarge(
    `The document has more than ${maxCharacters} characters of text: send the part that matters.`,
  );
}

function tooLarge(message: string): DocumentReading {
  return { outcome: 'too-large', message };
}

function unreadable(reason: UnreadableReason, message: string): DocumentReading {
  return { outcome: 'unreadable', reason, message };
}

/** Detects the type from the first bytes. `text` is decided by decoding, and DOCX by the directory of the zip. */
type ContentKind = DocumentKind | { readonly unknown: string };

/** PDF allows other bytes before its signature, within the first kilobyte. */
const PDF_MARK_WITHIN = 1_024;
const HTML_LOOKED_AT = 4_096;

const KNOWN_OTHERS: readonly { readonly mark: readonly number[]; readonly name: string }[] = [
  {
    mark: [0xd0, 0xcf, 0x11, 0xe0],
    name: 'an old Office file (such as .doc), or an Office file with a password',
  },
  { mark: [0x7b, 0x5c, 0x72, 0x74, 0x66], name: 'an RTF file' },
  { mark: [0x89, 0x50, 0x4e, 0x47], name: 'an image (PNG)' },
  { mark: [0xff, 0xd8, 0xff], name: 'an image (JPEG)' },
  { mark: [0x47, 0x49, 0x46, 0x38], name: 'an image (GIF)' },
  { mark: [0x49, 0x49, 0x2a, 0x00], name: 'an image (TIFF)' },
  { mark: [0x4d, 0x4d, 0x00, 0x2a], name: 'an image (TIFF)' },
  { mark: [0x1f, 0x8b], name: 'a gzip archive' },
  { mark: [0x52, 0x61, 0x72, 0x21], name: 'a RAR archive' },
  { mark: [0x37, 0x7a, 0xbc, 0xaf], name: 'a 7z archive' },
];

function kindOf(bytes: Uint8Array): ContentKind {
  if (startsWith(bytes, [0x50, 0x4b, 0x03, 0x04]) || startsWith(bytes, [0x50, 0x4b, 0x05, 0x06]))
    return 'docx';
  if (latin(bytes, PDF_MARK_WITHIN).includes('%PDF-')) return 'pdf';
  const other = KNOWN_OTHERS.find(({ mark }) => startsWith(bytes, mark));
  return other === undefined ? 'text' : { unknown: other.name };
}

/** How HTML pages begin. */
const PAGE_SETTINGS = /^\s*---\r?\n[\s\S]{0,2000}?\n---\r?\n/;

/** Whether a text is an HTML page, or plain text that may mention a tag. */
function isHtml(text: string): boolean {
  const beginning = text
    .slice(0, HTML_LOOKED_AT)
    .replace(/^\ufeff/, '')
    .replace(PAGE_SETTINGS, '')
    .replace(/^(?:\s|<!--[\s\S]{0,2000}?-->|<\?xml[^>]{0,200}>)+/, '');
  return /^<(?:!doctype\s+html|(?:html|head|body|meta|title|style|div|p|table|section|article|main|header|h[1-6]|ul|ol|span|font|center|b|strong|script|link|nav|aside|a|img|address)\b[^>]{0,500}>)/i.test(
    beginning,
  );
}

function startsWith(bytes: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, at) => bytes[at] === byte);
}

function latin(bytes: Uint8Array, length: number): string {
  return String.fromCharCode(...bytes.subarray(0, length));
}

/**
 * Decodes bytes of an unknown encoding: by the byte order mark, by the zero bytes of UTF-16 between Latin letters, as UTF-8
 * if it is valid, and otherwise as windows-1252, a superset of Latin-1 in which every byte is a character. Null if it is not
 * text: too many control characters.
 */
interface DecodedText {
  readonly text: string;
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';
}

const LOOKED_AT = 64 * 1024;
/** Text files have none; old word processors write a few. */
const MOST_CONTROLS = 0.01;

function decodeText(bytes: Uint8Array): DecodedText | null {
  const encoding = encodingOf(bytes);
  const text = new TextDecoder(encoding).decode(bytes);
  return isText(text) ? { text, encoding } : null;
}

function encodingOf(bytes: Uint8Array): DecodedText['encoding'] {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const zeros = countZeros(bytes.subarray(0, LOOKED_AT));
  if (zeros.odd > zeros.pairs * 0.4 && zeros.even < zeros.pairs * 0.1) return 'utf-16le';
  if (zeros.even > zeros.pairs * 0.4 && zeros.odd < zeros.pairs * 0.1) return 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

function countZeros(bytes: Uint8Array): { even: number; odd: number; pairs: number } {
  const counts = { even: 0, odd: 0, pairs: bytes.length >> 1 };
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    if (bytes[at] === 0) counts.even += 1;
    if (bytes[at + 1] === 0) counts.odd += 1;
  }
  return counts;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function isText(text: string): boolean {
  const looked = text.slice(0, LOOKED_AT);
  let controls = 0;
  for (let at = 0; at < looked.length; at += 1) {
    const code = looked.charCodeAt(at);
    const isSpace = code >= 9 && code <= 13;
    if ((code < 32 && !isSpace) || (code >= 0x7f && code < 0xa0) || code === 0xfffd) controls += 1;
  }
  return controls <= looked.length * MOST_CONTROLS;
}

// Written as escapes: as characters they would be invisible here too.
const LINE_ENDS = /\r\n?|[\u0085\u2028\u2029\v\f]/g;
/**
 * Control characters except tab and line feed, format characters except the two joiners that some scripts need,
 * private-use characters (known bullets are replaced first), and the replacement character.
 */
const UNSEEN = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Variation_Selector}\ufffd]/gu;
const FONT_BULLETS = /[\uf0a7\uf0b7\uf076\uf0d8\uf0fc\u25cf\u25aa\u25a0\u2023\u2043]/g;
const LIGATURES = /[\ufb00-\ufb06]/g;
const SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;

/** A shorter indent is decoration. A longer one may be an empty cell of the previous column. */
const COLUMN_INDENT = 8;

/**
 * Removes what must not be in records, prompts and databases: control characters, invisible and direction-changing
 * characters (they hide words from people but not from programs), and unpaired surrogates.
 *
 * `keepsGaps` is for plain text, in which only blanks separate columns. Other types mark cells explicitly.
 */
function cleanText(text: string, { keepsGaps }: { readonly keepsGaps: boolean }): string {
  const clean = text
    .toWellFormed()
    .replace(LINE_ENDS, '\n')
    .replace(FONT_BULLETS, '\u2022')
    .replace(LIGATURES, (ligature) => ligature.normalize('NFKC'))
    .replace(UNSEEN, '')
    .replace(SPACES, ' ')
    .normalize('NFC')
    .replace(/ *\t[\t ]*/g, '\t')
    .replace(/[ \t]+$/gm, '');
  const spaced = keepsGaps
    ? clean.replace(/^ +/gm, (indent) => (indent.length < COLUMN_INDENT ? '' : indent))
    : clean.replace(/ {2,}/g, ' ').replace(/^ +/gm, '');
  return spaced.replace(/\n{3,}/g, '\n\n').trim();
}
