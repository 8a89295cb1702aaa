import type {
  DocumentKind,
  DocumentLimits,
  DocumentReading,
  UnreadableReason,
} from '../../ports/document-reader.ts';
import { isUtf8 } from './charsets.ts';
import { docxText, PAGE_NUMBER } from './docx-text.ts';
import { htmlText } from './html-text.ts';
import { isOpenDocument, odtText } from './odt-text.ts';
import { type OtherFile, otherFile, otherZip, savedMail, UNKNOWN } from './other-files.ts';
import { pdfText } from './pdf-text.ts';
import { rtfText } from './rtf-text.ts';

/** The result of each type, before it is cleaned and measured. */
interface Found {
  readonly kind: DocumentKind;
  readonly text: string;
  readonly pages: number | null;
  readonly warnings: readonly string[];
}

const SHORTEN = 'Send the part that matters.';
const SAVE_AGAIN = 'Save it again and send it again.';

/** Reads a document. The limits of time and memory are enforced by the process. */
export async function readDocument(bytes: Uint8Array, limits: DocumentLimits): Promise<DocumentReading> {
  const kind = kindOf(bytes);
  if (typeof kind === 'object') return { outcome: 'unreadable', ...kind };
  if (kind === 'pdf') return readPdf(bytes, limits);
  if (kind === 'docx') return readZip(bytes, limits);
  if (kind === 'rtf') return readRtf(bytes, limits);
  return readText(bytes, limits);
}

async function readPdf(bytes: Uint8Array, limits: DocumentLimits): Promise<DocumentReading> {
  const pdf = await pdfText(bytes, limits);
  if (pdf.outcome === 'too-large') return tooLarge(`The PDF is too large: ${pdf.why}. ${SHORTEN}`);
  if (pdf.outcome === 'encrypted') {
    return unreadable('encrypted', 'The PDF needs a password. Save it without one and send it again.');
  }
  if (pdf.outcome === 'broken') {
    return unreadable('broken', 'The PDF is damaged or incomplete. Create it again and send it again.');
  }
  if (ADOBE_ONLY.test(pdf.text)) {
    const message =
      'The PDF shows its content in Adobe programs only. Print it to a PDF there and send that.';
    return unreadable('no-text', message);
  }
  const warnings = pdf.unseen > 0 ? ['Text outside of the page, or too small to be read, was left out.'] : [];
  return finished({ kind: 'pdf', text: pdf.text, pages: pdf.pages, warnings }, limits);
}

/** What other programs are shown of a dynamic form and of a portfolio. */
const ADOBE_ONLY =
  /^\s*(?:please wait(?:\.{3}|…)\s+if this message is not eventually replaced|for the best experience, open this pdf portfolio)/i;

async function readZip(bytes: Uint8Array, limits: DocumentLimits): Promise<DocumentReading> {
  const kind = isOpenDocument(bytes) ? 'odt' : 'docx';
  const name = kind.toUpperCase();
  const zip = kind === 'odt' ? odtText(bytes, limits) : await docxText(bytes, limits);
  switch (zip.outcome) {
    case 'too-large':
      return tooLarge(`The ${name} is too large: ${zip.why}. ${SHORTEN}`);
    case 'encrypted':
      return unreadable('encrypted', `The ${name} needs a password. Save it without one and send it again.`);
    case 'other-zip':
      return { outcome: 'unreadable', ...otherZip(zip.names) };
    case 'broken':
      return unreadable('broken', `The ${name} is damaged: ${zip.why}. ${SAVE_AGAIN}`);
    case 'text':
      if (zip.isCut) return tooManyCharacters(limits);
      return finished({ kind, text: zip.text, pages: null, warnings: [] }, limits);
  }
}

function readRtf(bytes: Uint8Array, limits: DocumentLimits): DocumentReading {
  const rtf = rtfText(bytes, limits);
  if (rtf.outcome === 'broken') return unreadable('broken', `The RTF is damaged: ${rtf.why}. ${SAVE_AGAIN}`);
  if (rtf.isCut) return tooManyCharacters(limits);
  return finished({ kind: 'rtf', text: rtf.text, pages: null, warnings: rtf.warnings }, limits);
}

function readText(bytes: Uint8Array, limits: DocumentLimits): DocumentReading {
  const decoded = decodeText(bytes);
  if (decoded === null) return { outcome: 'unreadable', ...UNKNOWN };
  const { text, isGuess } = decoded;
  const mail = savedMail(text);
  if (mail !== null) return { outcome: 'unreadable', ...mail };
  const warnings = isGuess ? ['The text is not UTF-8; it was read as Latin-1. Accents may be wrong.'] : [];
  if (!isHtml(text)) return finished({ kind: 'text', text, pages: null, warnings }, limits);
  const page = htmlText(text.replace(PAGE_SETTINGS, ''), limits.maxCharacters);
  if (page.isCut) return tooManyCharacters(limits);
  return finished({ kind: 'html', text: page.text, pages: null, warnings }, limits);
}

/** What the programs of phones write on the pages of a scan. */
const OF_A_SCANNER =
  /^.*(?:cam ?scanner|adobe scan|genius scan|tap ?scanner|tiny ?scanner|clear ?scanner|doc ?scanner|turbo ?scan|scanbot|(?:office|microsoft) lens).*$/gim;
const LONGEST_MARK = 60;

function finished({ kind, text, pages, warnings }: Found, limits: DocumentLimits): DocumentReading {
  const clean = cleanText(text, { keepsGaps: kind === 'text' });
  if (clean.length > limits.maxCharacters) return tooManyCharacters(limits);
  const isScan = kind === 'pdf' && !hasLetters(clean);
  if (isScan || !/[\p{L}\p{N}]/u.test(clean)) {
    const message =
      kind === 'pdf'
        ? 'The PDF has no text in it, only images: it is probably a scan. Send a PDF with text, or the text itself.'
        : 'There is no text in the document.';
    return unreadable('no-text', message);
  }
  return { outcome: 'read', kind, text: clean, pages, warnings };
}

/** Numbers of pages and the mark of a scanner are no text of a document. */
function hasLetters(text: string): boolean {
  const own = text.replace(OF_A_SCANNER, (line) => (line.length <= LONGEST_MARK ? '' : line));
  return own.split('\n').some((line) => /\p{L}/u.test(line) && !PAGE_NUMBER.test(line.trim()));
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

/** Detects the type from the first bytes. `text` is decided by decoding, and DOCX or ODT by the directory of the zip. */
type ContentKind = DocumentKind | OtherFile;

/** PDF allows other bytes before its signature, within the first kilobyte. */
const PDF_MARK_WITHIN = 1_024;
const RTF_MARK = /^(?:\xef\xbb\xbf)?\s*\{\\rtf/;
const RTF_MARK_WITHIN = 64;
const HTML_LOOKED_AT = 4_096;

function kindOf(bytes: Uint8Array): ContentKind {
  if (startsWith(bytes, [0x50, 0x4b, 0x03, 0x04]) || startsWith(bytes, [0x50, 0x4b, 0x05, 0x06]))
    return 'docx';
  if (RTF_MARK.test(latin(bytes, RTF_MARK_WITHIN))) return 'rtf';
  if (latin(bytes, PDF_MARK_WITHIN).includes('%PDF-')) return 'pdf';
  return otherFile(bytes) ?? 'text';
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
 * if it is valid, as what a page says of itself, and otherwise as windows-1252, a superset of Latin-1 in which every byte is
 * a character. Null if it is not text: too many control characters.
 */
interface DecodedText {
  readonly text: string;
  /** Whether nothing says that it is Latin-1. */
  readonly isGuess: boolean;
}

const LOOKED_AT = 64 * 1024;
/** Text files have none; old word processors write a few. */
const MOST_CONTROLS = 0.01;
const LATIN_1 = 'windows-1252';

function decodeText(bytes: Uint8Array): DecodedText | null {
  const sure = encodingOf(bytes) ?? declaredDecoder(bytes);
  const decoder = sure ?? new TextDecoder(LATIN_1);
  const text = decoder.decode(bytes);
  return isText(text) ? { text, isGuess: sure === null } : null;
}

function encodingOf(bytes: Uint8Array): TextDecoder | null {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be');
  const zeros = countZeros(bytes.subarray(0, LOOKED_AT));
  if (zeros.odd > zeros.pairs * 0.4 && zeros.even < zeros.pairs * 0.1) return new TextDecoder('utf-16le');
  if (zeros.even > zeros.pairs * 0.4 && zeros.odd < zeros.pairs * 0.1) return new TextDecoder('utf-16be');
  return isUtf8(bytes) ? new TextDecoder('utf-8') : null;
}

const DECLARED =
  /<meta\b[^>]{0,200}?\bcharset\s*=\s*["']?\s*([\w-]{2,30})|<\?xml\b[^>]{0,100}?\bencoding\s*=\s*["']([\w-]{2,30})/i;

/** Null if the page names no encoding that is known, or UTF-8, which it is not. */
function declaredDecoder(bytes: Uint8Array): TextDecoder | null {
  const [, inPage, inXml] = DECLARED.exec(latin(bytes, HTML_LOOKED_AT)) ?? [];
  const name = (inPage ?? inXml)?.toLowerCase();
  if (name === undefined || name.startsWith('utf')) return null;
  try {
    return new TextDecoder(name);
  } catch {
    return null;
  }
}

function countZeros(bytes: Uint8Array): { even: number; odd: number; pairs: number } {
  const counts = { even: 0, odd: 0, pairs: bytes.length >> 1 };
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    if (bytes[at] === 0) counts.even += 1;
    if (bytes[at + 1] === 0) counts.odd += 1;
  }
  return counts;
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
/** Joined letters, and the shapes of Hebrew and Arabic letters as fonts have them. */
const LIGATURES = /[\ufb00-\ufb06\ufb1d-\ufdcf\ufdf0-\ufdff\ufe80-\ufefc]/g;
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
