import type { DocumentLimits } from '../../ports/document-reader.ts';
import { type Charset, charsetOfFont, charsetOfPage, decodeBytes, isUtf8, LATIN_1 } from './charsets.ts';
import { aroundTexts } from './docx-text.ts';
import { createRtfFlow, type RtfFlow } from './rtf-flow.ts';
import { type RtfHandler, readRtfTokens } from './rtf-tokens.ts';

type RtfText =
  | {
      readonly outcome: 'text';
      readonly text: string;
      readonly isCut: boolean;
      readonly warnings: readonly string[];
    }
  | { readonly outcome: 'broken'; readonly why: string };

const NO_END = 'The end of the RTF is missing. What is there was read.';
const NO_CODE_PAGE =
  'The RTF has letters in an unknown encoding; they were read as Latin-1. Accents may be wrong.';

/** Reads RTF as DOCX is read: its paragraphs, lists and tables become the same lines. */
export function rtfText(bytes: Uint8Array, limits: DocumentLimits): RtfText {
  const reader = createRtfReader(bytes, limits);
  const end = readRtfTokens(bytes, reader);
  if (end === 'too-deep') return { outcome: 'broken', why: 'it is nested too deep' };
  if (end === 'cut') return { outcome: 'broken', why: 'its end is missing' };
  const { text, isCut, hasUnknownPage } = reader.finish();
  const warnings = [...(end === 'unclosed' ? [NO_END] : []), ...(hasUnknownPage ? [NO_CODE_PAGE] : [])];
  return { outcome: 'text', text, isCut, warnings };
}

/**
 * What a group is for: `text` of the document; `structure`, which only contains other groups; the tables of `fonts` and
 * `styles`; anything else is `skipped`.
 */
type Purpose = 'text' | 'structure' | 'fonts' | 'styles' | 'skipped';

/** A group starts with the properties of the one around it. */
interface Group {
  purpose: Purpose;
  flow: RtfFlow;
  /** The number of characters after a `\u` that are for programs without Unicode. */
  substitutes: number;
  /** Null until the first use: the default font is named after the beginning of the document. */
  charset: Charset | null;
  isHidden: boolean;
  isDeleted: boolean;
  heading: number;
  isItem: boolean;
  isInTable: boolean;
  /** Of this group alone. */
  onEnd: (() => void) | null;
}

/** Without `\*` they are no less unknown to text. */
const SKIPPED = new Set([
  ...['colortbl', 'info', 'pict', 'object', 'filetbl', 'listtable', 'listoverridetable', 'revtbl', 'rsidtbl'],
  ...[
    'generator',
    'xmlnstbl',
    'fldinst',
    'shprslt',
    'nonshppict',
    'sp',
    'nonesttables',
    'annotation',
    'atnid',
  ],
  ...['atnauthor', 'bkmkstart', 'bkmkend', 'tc', 'tcn', 'xe', 'txe', 'rxe', 'ftnsep', 'ftnsepc', 'ftncn'],
  ...['aftnsep', 'aftnsepc', 'aftncn', 'formfield', 'datafield', 'listtext', 'pntext', 'themedata', 'pn'],
]);
const STRUCTURES = new Set(['shpinst', 'nesttableprops', 'upr']);
const HEADERS = new Set(['header', 'headerl', 'headerr', 'headerf']);
const FOOTERS = new Set(['footer', 'footerl', 'footerr', 'footerf']);
/** Characters that are written as words. */
const CHARACTERS: ReadonlyMap<string, string> = new Map([
  ['tab', '\t'],
  ['emdash', '\u2014'],
  ['endash', '\u2013'],
  ['emspace', ' '],
  ['enspace', ' '],
  ['qmspace', ' '],
  ['bullet', '\u2022'],
  ['lquote', '\u2018'],
  ['rquote', '\u2019'],
  ['ldblquote', '\u201c'],
  ['rdblquote', '\u201d'],
  ['zwj', '\u200d'],
  ['zwnj', '\u200c'],
]);
const PARAGRAPH_ENDS = new Set(['par', 'sect', 'page', 'column']);
const HEADING = /^heading ?([1-6])$/i;
const LONGEST_NAME = 100;
/** Bytes of text that wait for their decoder. */
const MOST_PENDING = 64 * 1024;
/** Text boxes in text boxes; each of them copies what is in it. */
const MOST_INNER_FLOWS = 4;
/** Boxes, notes, headers and footers, of which no CV has so many. */
const MOST_FLOWS = 10_000;

interface Finished {
  readonly text: string;
  readonly isCut: boolean;
  readonly hasUnknownPage: boolean;
}

function createRtfReader(bytes: Uint8Array, { maxCharacters }: DocumentLimits) {
  const body = createRtfFlow(maxCharacters);
  const headers: string[] = [];
  const footers: string[] = [];
  const notes: string[] = [];
  const fonts = createFontTable();
  const styles = createStyleTable();
  /** Programs that fill templates write UTF-8 into them, which RTF does not have. */
  const rawCharset = isUtf8(bytes) ? 'utf-8' : null;
  let group: Group = {
    ...{ purpose: 'text', flow: body, substitutes: 1, charset: null, isHidden: false, isDeleted: false },
    ...{ heading: 0, isItem: false, isInTable: false, onEnd: null },
  };
  const around: Group[] = [];
  let pending: number[] = [];
  let pendingCharset: Charset = LATIN_1;
  /** Characters to leave out: they say again what a `\u` said. */
  let substitutesLeft = 0;
  let [flows, innerFlows] = [0, 0];
  let hasAccents = false;
  let isFull = false;

  function flush(): void {
    if (pending.length === 0) return;
    const text = decodeBytes(pending, pendingCharset);
    pending = [];
    group.flow.write(text, group);
    isFull ||= group.flow.isFull();
  }

  function write(text: string): void {
    flush();
    if (group.purpose !== 'text' || group.isHidden || group.isDeleted) return;
    group.flow.write(text, group);
    isFull ||= group.flow.isFull();
  }

  function writeByte(byte: number, isRaw: boolean): void {
    if (substitutesLeft > 0) {
      substitutesLeft -= 1;
      return;
    }
    if (group.purpose === 'fonts') fonts.name(byte);
    if (group.purpose === 'styles') styles.name(byte);
    if (group.purpose !== 'text' || group.isHidden || group.isDeleted) return;
    group.charset ??= fonts.charset(null);
    const charset = isRaw && byte >= 0x80 && rawCharset !== null ? rawCharset : group.charset;
    if (charset !== pendingCharset || pending.length >= MOST_PENDING) flush();
    hasAccents ||= byte >= 0x80 && charset === group.charset;
    pendingCharset = charset;
    pending.push(byte);
  }

  /** A text of its own, which `onEnd` gets when its group ends. */
  function beginFlow(onEnd: (text: string) => void): void {
    if (innerFlows === MOST_INNER_FLOWS || flows === MOST_FLOWS) {
      group.purpose = 'skipped';
      return;
    }
    const flow = createRtfFlow(maxCharacters);
    Object.assign(group, { purpose: 'text', flow, heading: 0, isItem: false, isInTable: false });
    flows += 1;
    innerFlows += 1;
    group.onEnd = () => {
      innerFlows -= 1;
      const text = flow.finish();
      if (text !== '') onEnd(text);
    };
  }

  function beginDestination(name: string, isIgnorable: boolean): boolean {
    const { flow, purpose } = group;
    if (purpose === 'skipped') return true;
    if (name === 'listtext' || name === 'pntext') flow.mark();
    if (name === 'fonttbl') group.purpose = 'fonts';
    else if (name === 'stylesheet') group.purpose = 'styles';
    else if (STRUCTURES.has(name)) group.purpose = 'structure';
    else if (name === 'ud' && purpose === 'structure') group.purpose = 'text';
    else if (HEADERS.has(name)) beginFlow((text) => headers.push(text));
    else if (FOOTERS.has(name)) beginFlow((text) => footers.push(text));
    else if (name === 'footnote') beginFlow((text) => notes.push(text));
    else if (name === 'shptxt') beginFlow((text) => flow.addBox(text));
    else if (isIgnorable || SKIPPED.has(name)) group.purpose = 'skipped';
    else return false;
    return true;
  }

  function word(name: string, value: number | null, isIgnorable: boolean): void {
    flush();
    const character = CHARACTERS.get(name);
    if (character !== undefined && substitutesLeft > 0) {
      substitutesLeft -= 1;
      return;
    }
    substitutesLeft = 0;
    if (beginDestination(name, isIgnorable)) return;
    if (name === 'uc') group.substitutes = Math.max(0, value ?? 1);
    else if (name === 'u') writeUnicode(value ?? 0);
    else if (character !== undefined) write(character);
    else if (fonts.word(group, name, value) || styles.word(group, name, value)) return;
    else if (group.purpose === 'structure') {
      if (name === 'nestrow') group.flow.endInnerRow();
    } else if (group.purpose === 'text' && !changeGroup(group, name, value)) endPart(group, name);
  }

  function writeUnicode(value: number): void {
    const code = value < 0 ? value + 0x10000 : value;
    write(code >= 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '');
    substitutesLeft = group.substitutes;
  }

  const handler: RtfHandler = {
    open() {
      flush();
      substitutesLeft = 0;
      around.push(group);
      group = { ...group, onEnd: null };
    },
    close() {
      flush();
      substitutesLeft = 0;
      group.onEnd?.();
      group = around.pop() ?? group;
    },
    word,
    byte: writeByte,
    isFull: () => isFull,
  };

  function finish(): Finished {
    flush();
    const texts = [...aroundTexts(headers), body.finish(notes), ...aroundTexts(footers)];
    return { text: texts.join('\n\n'), isCut: isFull, hasUnknownPage: hasAccents && fonts.hasUnknownPage() };
  }

  return { ...handler, finish };
}

/** Whether the word is a property, of the group from here on. */
function changeGroup(group: Group, name: string, value: number | null): boolean {
  const isOn = value !== 0;
  if (name === 'v') group.isHidden = isOn;
  else if (name === 'deleted') group.isDeleted = isOn;
  else if (name === 'plain') Object.assign(group, { isHidden: false, isDeleted: false });
  else if (name === 'pard') Object.assign(group, { heading: 0, isItem: false, isInTable: false });
  else if (name === 'outlinelevel') group.heading = headingOf(value);
  else if (name === 'ls') group.isItem = (value ?? 0) > 0;
  else if (name === 'intbl') group.isInTable = isOn;
  else if (name === 'itap') group.isInTable = (value ?? 1) > 0;
  else return false;
  return true;
}

function endPart(group: Group, name: string): void {
  const { flow } = group;
  if (PARAGRAPH_ENDS.has(name)) flow.endParagraph(group);
  else if (name === 'line' || name === 'lbr') flow.breakLine(group);
  else if (name === 'cell') flow.endCell();
  else if (name === 'row') flow.endRow();
  else if (name === 'trowd') flow.expectRow();
  else if (name === 'nestcell') flow.endInnerCell();
  else if (name === 'nestrow') flow.endInnerRow();
}

/** Levels are counted from 0. */
function headingOf(level: number | null): number {
  return level !== null && level >= 0 && level <= 5 ? level + 1 : 0;
}

/** The fonts, of which only the encoding is used, and the encoding of the document. */
function createFontTable() {
  const known = new Map<number, Charset | null>();
  let byDefault: Charset = LATIN_1;
  let defaultFont: number | null = null;
  let hasUnknownPage = false;
  let font: { number: number; name: string; charset: number | null; page: number | null } | null = null;

  function choosePage(page: number): void {
    const charset = charsetOfPage(page);
    hasUnknownPage ||= charset === null && page !== 0;
    byDefault = charset ?? LATIN_1;
  }

  function charsetOf(number: number | null): Charset {
    return known.get(number ?? defaultFont ?? 0) ?? byDefault;
  }

  return {
    hasUnknownPage: () => hasUnknownPage,
    charset: charsetOf,
    name(byte: number): void {
      if (font === null) return;
      if (byte !== 0x3b) {
        if (font.name.length < LONGEST_NAME) font.name += String.fromCharCode(byte);
        return;
      }
      known.set(font.number, charsetOfFont(font));
      font = null;
    },
    /** Whether the word is about fonts. */
    word(group: Group, name: string, value: number | null): boolean {
      const isTable = group.purpose === 'fonts';
      if (name === 'f' && isTable) font = { number: value ?? 0, name: '', charset: null, page: null };
      else if (name === 'fcharset' && font !== null) font.charset = value;
      else if (name === 'cpg' && font !== null) font.page = value;
      else if (name === 'f') group.charset = charsetOf(value);
      else if (name === 'ansicpg') choosePage(value ?? 0);
      else if (name === 'mac') choosePage(10_000);
      else if (name === 'pc') choosePage(437);
      else if (name === 'pca') choosePage(850);
      else if (name === 'deff') defaultFont = value;
      else {
        if (name === 'plain') group.charset = charsetOf(null);
        return isTable;
      }
      return true;
    },
  };
}

/** The styles that are headings, by their level or their name. */
function createStyleTable() {
  const headings = new Map<number, number>();
  let style = { number: 0, level: 0, name: '' };
  return {
    name(byte: number): void {
      if (byte !== 0x3b) {
        if (style.name.length < LONGEST_NAME) style.name += String.fromCharCode(byte);
        return;
      }
      const named = Number(HEADING.exec(style.name.trim())?.[1] ?? 0);
      const heading = named > 0 ? named : style.level;
      if (heading > 0) headings.set(style.number, heading);
      style = { number: 0, level: 0, name: '' };
    },
    /** Whether the word is about styles. */
    word(group: Group, name: string, value: number | null): boolean {
      const isTable = group.purpose === 'styles';
      if (name === 's' && isTable) style.number = value ?? 0;
      else if (name === 'outlinelevel' && isTable) style.level = headingOf(value);
      else if (name === 's') group.heading = headings.get(value ?? 0) ?? 0;
      else return isTable;
      return true;
    },
  };
}
