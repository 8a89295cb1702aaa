import type {
  DocumentKind,
  DocumentLimits,
  DocumentReading,
  UnreadableReason,
} from '../../ports/document-reader.ts';
import { cleanText } from './clean-text.ts';
import { decodeText } from './decode-text.ts';
import { isHtml, kindOf } from './document-kind.ts';
import { docxText } from './docx-text.ts';
import { htmlText } from './html-text.ts';
import { pdfText } from './pdf-text.ts';

/** What every kind ends in, before it is cleaned and measured. */
interface Found {
  readonly kind: DocumentKind;
  readonly text: string;
  readonly pages: number | null;
  readonly warnings: readonly string[];
}

const READABLE = 'Send plain text, PDF, DOCX or HTML.';

/** Reads a document without any bound on time and memory: those are for the process around it. */
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
    return unreadable('broken', 'The PDF is damaged or cut off. Make it anew and send it again.');
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
      return unreadable('broken', `The DOCX is damaged: ${docx.why}. Save it anew and send it again.`);
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
  const page = htmlText(text, limits.maxCharacters);
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
