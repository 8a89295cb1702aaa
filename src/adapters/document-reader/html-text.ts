import { Parser } from 'htmlparser2';

/**
 * Extracts the visible text of a page, in blocks, without scripts, styles, comments and hidden parts. The parser emits tags
 * as events and no tree is built, so a million nested tags need little memory.
 */
interface HtmlText {
  readonly text: string;
  readonly isCut: boolean;
}

const UNSEEN = new Set([
  ...['script', 'style', 'template', 'noscript', 'head', 'title', 'svg', 'math', 'iframe', 'object', 'embed'],
  ...['audio', 'video', 'canvas', 'datalist', 'select', 'dialog'],
]);
/** Block elements start a new line. Some are surrounded by empty lines. */
const WIDE = new Set([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'dl', 'table', 'blockquote', 'pre', 'section'],
  ...['article', 'header', 'footer', 'main', 'aside', 'nav', 'figure', 'form', 'fieldset', 'address', 'hr'],
]);
const NARROW = new Set([
  ...['div', 'li', 'tr', 'dt', 'dd', 'thead', 'tbody', 'tfoot', 'caption', 'figcaption', 'legend'],
  ...['summary', 'details', 'option', 'body', 'html', 'center'],
]);
const HIDDEN_STYLE =
  /display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])/i;
/** Void elements: a hidden one does not hide what follows. */
const VOID = new Set([
  'br',
  'hr',
  'img',
  'input',
  'meta',
  'link',
  'wbr',
  'col',
  'area',
  'base',
  'source',
  'track',
]);

interface HtmlOptions {
  /** As in word processors: a paragraph is a line, an empty one an empty line, and tabs are kept. */
  readonly paragraphsAreLines?: boolean;
}

export function htmlText(html: string, maxCharacters: number, options: HtmlOptions = {}): HtmlText {
  const page = createPage(maxCharacters, options);
  /** The number of open tags from the hidden element inwards; 0 if the content is visible. */
  let hiddenDepth = 0;
  let preDepth = 0;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (hiddenDepth > 0 || UNSEEN.has(name) || isHidden(attributes)) {
        if (!VOID.has(name)) hiddenDepth += 1;
        return;
      }
      if (name === 'pre') preDepth += 1;
      page.open(name);
      if (name === 'img' && attributes.alt) page.write(` ${attributes.alt} `, false);
    },
    ontext(text) {
      if (hiddenDepth === 0) page.write(text, preDepth > 0);
    },
    onclosetag(name) {
      if (hiddenDepth > 0) {
        if (!VOID.has(name)) hiddenDepth -= 1;
        return;
      }
      if (name === 'pre') preDepth = Math.max(0, preDepth - 1);
      page.close(name);
    },
  });
  for (let at = 0; at < html.length && !page.isFull(); at += CHUNK) parser.write(html.slice(at, at + CHUNK));
  if (!page.isFull()) parser.end();
  return { text: page.text(), isCut: page.isFull() };
}

const CHUNK = 64 * 1024;

function isHidden(attributes: Readonly<Record<string, string>>): boolean {
  return 'hidden' in attributes || HIDDEN_STYLE.test(attributes.style ?? '');
}

export type Page = ReturnType<typeof createPage>;

/** A text box as paragraphs of the page around it. */
export function writeLines(page: Page, text: string): void {
  for (const line of text.split('\n')) {
    page.open('p');
    page.write(line, false);
    page.close('p');
  }
}

/** Footnotes, after everything else. */
export function writeNotes(page: Page, notes: readonly string[]): void {
  page.open('ul');
  for (const note of notes) {
    page.open('li');
    page.write(note.replaceAll('\n', ' '), false);
    page.close('li');
  }
  page.close('ul');
}

/**
 * Collects the text from events that are named after tags, which ODT and RTF give too. A cell is separated from the previous
 * one by a tab, or by a line feed if the previous one has several lines: the table then serves the layout, its cells are
 * read one after the other, and its rows are separated by an empty line.
 */
export function createPage(maxCharacters: number, { paragraphsAreLines = false }: HtmlOptions) {
  const parts: string[] = [];
  let length = 0;
  /** White space before the next word. */
  let ahead = '';
  /** At the start of a cell or after a bullet, a paragraph starts on the same line. */
  let isInPlace = false;
  let place: 'table' | 'row' | 'cell' = 'table';
  let [rowHasText, rowLines] = [false, 0];
  let [cellHasText, cellLines] = [false, 0];
  let paragraphHasText = true;
  let listDepth = 0;

  function breakLine(feeds: string): void {
    if (length > 0 && !isInPlace && feeds.length > ahead.replace(/[^\n]/g, '').length) ahead = feeds;
  }

  function block(name: string): void {
    const isInnerList = (name === 'ul' || name === 'ol') && listDepth > 0;
    const isLine = name === 'p' && paragraphsAreLines;
    if (WIDE.has(name) && !isInnerList && !isLine) breakLine('\n\n');
    else if (isLine || NARROW.has(name) || isInnerList) breakLine('\n');
  }

  function add(text: string): void {
    if (cellHasText && ahead.startsWith('\n')) [cellLines, rowLines] = [cellLines + 1, rowLines + 1];
    [cellHasText, rowHasText, paragraphHasText] = [true, true, true];
    parts.push(ahead, text);
    length += ahead.length + text.length;
    ahead = '';
    isInPlace = false;
  }

  function openRow(): void {
    if (place !== 'table') ahead = rowLines > 0 ? '\n\n' : '\n';
    place = 'row';
    [rowHasText, rowLines] = [false, 0];
    [cellHasText, cellLines] = [false, 0];
  }

  function openCell(): void {
    // After empty cells only, the row has not started yet.
    if (cellHasText && rowHasText) ahead = cellLines > 0 ? '\n' : '\t';
    place = 'cell';
    [cellHasText, cellLines] = [false, 0];
    isInPlace = true;
  }

  return {
    open(name: string): void {
      if (name === 'p') paragraphHasText = false;
      if (name === 'br') breakLine(ahead.startsWith('\n') ? '\n\n' : '\n');
      block(name);
      if (name === 'ul' || name === 'ol') listDepth += 1;
      if (name === 'table') place = 'table';
      if (name === 'tr') openRow();
      if (name === 'td' || name === 'th') openCell();
      if (name !== 'li') return;
      add('\u2022 ');
      isInPlace = true;
    },
    close(name: string): void {
      if (name === 'td' || name === 'th' || name === 'li') isInPlace = false;
      if (name === 'ul' || name === 'ol') listDepth = Math.max(0, listDepth - 1);
      if (name === 'p' && paragraphsAreLines && !paragraphHasText) breakLine('\n\n');
      if (name !== 'br') block(name);
    },
    write(text: string, isPre: boolean): void {
      const blanks = paragraphsAreLines ? /[ \r\n\f\u00a0]+/g : /[ \t\r\n\f\u00a0]+/g;
      const words = isPre ? text : text.replace(blanks, ' ');
      const trimmed = isPre ? text : words.replace(/^ +| +$/g, '');
      if (words.startsWith(' ') && ahead === '' && length > 0) ahead = ' ';
      if (trimmed === '') return;
      add(trimmed);
      if (!isPre && words.endsWith(' ')) ahead = ' ';
    },
    isFull: () => length > maxCharacters,
    text: () => parts.join(''),
  };
}
