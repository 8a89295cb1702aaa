import { definePDFJSModule, getDocumentProxy } from 'unpdf';
import type { DocumentLimits } from '../../ports/document-reader.ts';
import { hasUnmapped, textsOfUnmapped, withTexts } from './pdf-actual-text.ts';
import { joinLabels } from './pdf-labels.ts';
import { type Block, blocksOf } from './pdf-layout.ts';
import { type PdfPage, withoutRepeatedRows } from './pdf-repeats.ts';
import { type Fragment, fragmentsOf, type PdfItem } from './pdf-runs.ts';

type PdfText =
  | { readonly outcome: 'text'; readonly text: string; readonly pages: number; readonly unseen: number }
  | { readonly outcome: 'too-large'; readonly why: string }
  | { readonly outcome: 'encrypted' }
  | { readonly outcome: 'broken' };

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

/** Only the text is extracted: nothing in a document is executed, rendered or fetched. */
const OPTIONS = {
  isEvalSupported: false,
  disableFontFace: true,
  useSystemFonts: false,
  useWorkerFetch: false,
  disableAutoFetch: true,
  disableStream: true,
  disableRange: true,
  enableXfa: false,
  isOffscreenCanvasSupported: false,
  isImageDecoderSupported: false,
  maxImageSize: 1,
  verbosity: 0,
} as const;

/** A page of a book has about a thousand text items; a map may have ten times as many. */
const MOST_ITEMS_OF_A_PAGE = 200_000;

export async function pdfText(bytes: Uint8Array, limits: DocumentLimits): Promise<PdfText> {
  let pdf: Pdf;
  try {
    // The library transfers the buffer it is given, so it gets a copy.
    pdf = await getDocumentProxy(bytes.slice(), OPTIONS);
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException';
    return { outcome: isLocked ? 'encrypted' : 'broken' };
  }
  try {
    return await textOfPages(pdf, bytes, limits);
  } catch {
    return { outcome: 'broken' };
  } finally {
    await pdf.destroy().catch(() => {});
  }
}

async function textOfPages(pdf: Pdf, bytes: Uint8Array, limits: DocumentLimits): Promise<PdfText> {
  const { numPages } = pdf;
  if (numPages > limits.maxPages) {
    return { outcome: 'too-large', why: `it has ${numPages} pages, and ${limits.maxPages} are read at most` };
  }
  const pages: PdfPage[] = [];
  let [length, unseen] = [0, 0];
  let unmapped: Awaited<ReturnType<typeof textsOfUnmapped>> | undefined;
  for (let number = 1; number <= numPages; number += 1) {
    const page = await pdf.getPage(number);
    const read = await itemsOf(page, limits.maxCharacters - length);
    if (read === 'too-large') {
      return { outcome: 'too-large', why: `it has more than ${limits.maxCharacters} characters of text` };
    }
    if (unmapped === undefined && read.some(({ str }) => hasUnmapped(str))) {
      unmapped = await textsOfUnmapped(pdf, bytes, limits.maxCharacters);
    }
    const texts = unmapped?.get(number)?.values();
    const items =
      texts === undefined ? read : read.map((item) => ({ ...item, str: withTexts(item.str, texts) }));
    const { width, height, transform } = page.getViewport({ scale: 1 });
    const found = fragmentsOf(items, { width, height, transform });
    unseen += found.unseen;
    length += items.reduce((sum, { str }) => sum + str.length, 0);
    pages.push({ number, height, fragments: found.fragments });
    page.cleanup();
  }
  const texts = withoutRepeatedRows(pages).map((fragments) => textOfBlocks(blocksOf(fragments)));
  return { outcome: 'text', text: texts.filter((text) => text !== '').join('\n\n'), pages: numPages, unseen };
}

/** Streams the text, so that an endless page is stopped before all of it is in memory. */
async function itemsOf(page: Page, maxCharacters: number): Promise<readonly PdfItem[] | 'too-large'> {
  const items: PdfItem[] = [];
  let characters = 0;
  const reader = page.streamTextContent({ includeMarkedContent: false }).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return items;
    for (const item of value.items as readonly PdfItem[]) {
      characters += item.str.length;
      if (item.str !== '') items.push(item);
    }
    if (characters > maxCharacters || items.length > MOST_ITEMS_OF_A_PAGE) {
      await reader.cancel(new Error('enough')).catch(() => {});
      return 'too-large';
    }
  }
}

/** Loads the library before the first document, which would otherwise take 100 ms or more longer. */
export async function warmUpPdf(): Promise<void> {
  await definePDFJSModule(() => import('unpdf/pdfjs'));
}

type Line = Omit<Fragment, 'order' | 'isSpaced' | 'isCell'>;

const BULLET = /^(?:[\u2022\u25cf\u25aa\u25e6\u2013\u2014*\u00b7\u2023\uf0b7-]|\(?\d{1,2}[.)]|[a-z][.)])\s/;
const BROKEN_WORD = /(\p{L}{2,})[-\u2010\u00ad]$/u;
/** Shorter lines are entries of a list rather than text that had to be wrapped. */
const LEAST_WRAPPED_LENGTH = 32;
/** Prefixes that keep their hyphen at the end of a line, because they are whole words. */
const KEEPS_HYPHEN =
  /^(?:self|full|well|long|short|high|low|cross|hands|problem|detail|goal|result|customer|client|user|team|cloud|event|cost|front|award|first|second|third|two|three)$/i;

/** The lines of a page's blocks as text: wrapped lines and hyphenated words are joined, gaps become empty lines. */
function textOfBlocks(blocks: readonly Block[]): string {
  return blocks
    .map(textOfBlock)
    .filter((text) => text !== '')
    .join('\n\n');
}

function textOfBlock(block: Block): string {
  const lines = joinLabels(block).map(lineOf);
  const { usual: leading, median } = leadingOf(lines);
  let text = '';
  let last: Line | null = null;
  for (const [at, line] of lines.entries()) {
    const isApart =
      gapBefore(lines, at) > 1.45 * Math.max(leading, line.size) && !(leading < median && isEven(lines, at));
    if (last === null) text = line.text;
    else if (!isApart && continuesBroken(last, line)) text = mendWord(text, line.text);
    else if (!isApart && isWrapped(last, line, block)) text += ` ${line.text}`;
    else text += (isApart ? '\n\n' : '\n') + line.text;
    last = line;
  }
  return text;
}

function lineOf(row: readonly Fragment[]): Line {
  const [first] = row;
  const texts = row.map(({ text }) => text.trim());
  return {
    text: texts.join('\t'),
    left: first?.left ?? 0,
    right: row.at(-1)?.right ?? 0,
    base: Math.max(...row.map(({ base }) => base)),
    size: Math.max(...row.map(({ size }) => size)),
    font: row.length === 1 ? (first?.font ?? '') : '',
    endFont: row.length === 1 ? (first?.endFont ?? '') : '',
  };
}

/** The fewest lines at the same distance that make it usual. */
const LEAST_ALIKE = 3;

/**
 * The usual distance between lines: the most frequent one, but at most the median, or the median if none is frequent.
 */
function leadingOf(lines: readonly Line[]): { usual: number; median: number } {
  const gaps = lines
    .slice(1)
    .map((line, at) => line.base - (lines[at]?.base ?? 0))
    .sort((one, other) => one - other);
  const median = gaps[gaps.length >> 1] ?? 0;
  const alike = Map.groupBy(gaps, (gap) => Math.round(gap));
  const [most = []] = [...alike.values()].sort((one, other) => other.length - one.length);
  const isUsual = most.length >= LEAST_ALIKE && most.length >= gaps.length / 4;
  return { usual: isUsual ? Math.min(median, most[most.length >> 1] ?? median) : median, median };
}

function gapBefore(lines: readonly Line[], at: number): number {
  const [last, line] = [lines[at - 1], lines[at]];
  return last === undefined || line === undefined ? 0 : line.base - last.base;
}

/** Whether the line is one of several at equal distances: items of a list, at any spacing. */
function isEven(lines: readonly Line[], at: number): boolean {
  const gap = gapBefore(lines, at);
  return [at - 1, at + 1].some((other) => Math.abs(gapBefore(lines, other) - gap) <= 0.05 * gap);
}

function continuesBroken(last: Line, line: Line): boolean {
  return BROKEN_WORD.test(last.text) && /^\p{Ll}/u.test(line.text) && Math.abs(last.size - line.size) < 1;
}

function mendWord(text: string, next: string): string {
  const half = BROKEN_WORD.exec(text)?.[1] ?? '';
  const rest = /^\S*/.exec(next)?.[0] ?? '';
  // If the word also occurs with its hyphen within a line, the hyphen stays.
  const keeps = KEEPS_HYPHEN.test(half) || text.includes(`${half}-${rest.replace(/[.,;:)]+$/, '')}`);
  return (keeps ? `${text.slice(0, -1)}-` : text.slice(0, -1)) + next;
}

/** A line is wrapped if the first word of the next line would not have fitted. */
function isWrapped(last: Line, line: Line, block: Block): boolean {
  const isAlike = last.endFont !== '' && last.endFont === line.font && Math.abs(last.size - line.size) <= 0.5;
  if (!isAlike || line.left < last.left - 1) return false;
  if (last.text.length < LEAST_WRAPPED_LENGTH || /[:!?]$/.test(last.text) || BULLET.test(line.text))
    return false;
  const firstWord = /^\S+/.exec(line.text)?.[0] ?? '';
  const widthOfLetter = (line.right - line.left) / Math.max(1, line.text.length);
  return last.right + widthOfLetter * (firstWord.length + 1) > block.right + 1;
}
