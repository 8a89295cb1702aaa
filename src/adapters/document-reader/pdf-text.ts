import { definePDFJSModule, getDocumentProxy } from 'unpdf';
import type { DocumentLimits } from '../../ports/document-reader.ts';
import { blocksOf } from './pdf-columns.ts';
import { fragmentsOf, type PdfItem } from './pdf-fragments.ts';
import { textOfBlocks } from './pdf-paragraphs.ts';

export type PdfText =
  | { readonly outcome: 'text'; readonly text: string; readonly pages: number; readonly unseen: number }
  | { readonly outcome: 'too-large'; readonly why: string }
  | { readonly outcome: 'encrypted' }
  | { readonly outcome: 'broken' };

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

/** Nothing of a document is run, drawn or fetched: only its text is asked for. */
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

/** A page of a book has some thousand pieces of text; a map may have ten times that. */
const MOST_ITEMS_OF_A_PAGE = 200_000;

export async function pdfText(bytes: Uint8Array, limits: DocumentLimits): Promise<PdfText> {
  let pdf: Pdf;
  try {
    // The library takes what it is given away from its giver, so it gets a copy.
    pdf = await getDocumentProxy(bytes.slice(), OPTIONS);
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException';
    return { outcome: isLocked ? 'encrypted' : 'broken' };
  }
  try {
    return await textOfPages(pdf, limits);
  } catch {
    return { outcome: 'broken' };
  } finally {
    await pdf.destroy().catch(() => {});
  }
}

async function textOfPages(pdf: Pdf, limits: DocumentLimits): Promise<PdfText> {
  const { numPages } = pdf;
  if (numPages > limits.maxPages) {
    return { outcome: 'too-large', why: `it has ${numPages} pages, and ${limits.maxPages} are read at most` };
  }
  const texts: string[] = [];
  let [length, unseen] = [0, 0];
  for (let number = 1; number <= numPages; number += 1) {
    const page = await pdf.getPage(number);
    const items = await itemsOf(page, limits.maxCharacters - length);
    if (items === 'too-large') {
      return { outcome: 'too-large', why: `it has more than ${limits.maxCharacters} characters of text` };
    }
    const { width, height, transform } = page.getViewport({ scale: 1 });
    const found = fragmentsOf(items, { width, height, transform });
    unseen += found.unseen;
    const text = textOfBlocks(blocksOf(found.fragments));
    length += text.length;
    if (text !== '') texts.push(text);
    page.cleanup();
  }
  return { outcome: 'text', text: texts.join('\n\n'), pages: numPages, unseen };
}

/** Piece by piece, so that a page without end is not gathered whole before it is found to be too much. */
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

/** Loads the library ahead of the first document: 100 ms and more that nobody then waits for. */
export async function warmUpPdf(): Promise<void> {
  await definePDFJSModule(() => import('unpdf/pdfjs'));
}
