import { Parser } from 'htmlparser2';
import type { DocumentLimits } from '../../ports/document-reader.ts';
import { aroundTexts } from './docx-text.ts';
import { createPage, type Page, writeLines, writeNotes } from './html-text.ts';
import { openZip, type ZipText, zipNames } from './zip-parts.ts';

const MANIFEST = 'META-INF/manifest.xml';
const PARTS = new Set(['mimetype', 'content.xml', 'styles.xml']);
/** Texts, their templates and web pages; not spreadsheets and presentations. */
const TEXT_TYPE = 'application/vnd.oasis.opendocument.text';
/** A package that is encrypted as a whole has this entry instead of its content. */
const WHOLE = 'encrypted-package';

/** Whether a zip is an OpenDocument package, by its directory. */
export function isOpenDocument(bytes: Uint8Array): boolean {
  const names = zipNames(bytes);
  const isPackage = names.includes('mimetype') || names.includes(MANIFEST);
  return isPackage && (names.includes('content.xml') || names.includes(WHOLE));
}

/**
 * Reads OpenDocument text as DOCX is read: the same events lead to the same lines, lists and tables. The XML is read as a
 * stream of tags, of which no tree is built, with the prefixes that all programs write.
 */
export function odtText(bytes: Uint8Array, limits: DocumentLimits): ZipText {
  const manifest = openZip(bytes, limits, (name) => name === MANIFEST);
  if (manifest.outcome !== 'opened') return manifest;
  const { names } = manifest;
  const listed = Buffer.from(manifest.parts[MANIFEST] ?? []);
  if (names.includes(WHOLE) || listed.includes('encryption-data')) return { outcome: 'encrypted' };
  const zip = openZip(bytes, limits, (name) => PARTS.has(name));
  if (zip.outcome !== 'opened') return zip;
  const { mimetype, 'content.xml': content, 'styles.xml': styles } = zip.parts;
  const type = mimetype === undefined ? TEXT_TYPE : Buffer.from(mimetype).toString('latin1');
  if (content === undefined || !type.startsWith(TEXT_TYPE)) return { outcome: 'other-zip', names };

  const story = createStories(limits.maxCharacters);
  const outcomes = [styles ?? null, content].map((xml) => (xml === null ? 'read' : walk(xml, story)));
  if (outcomes.includes('too-deep')) return { outcome: 'broken', why: 'it is nested too deep' };
  if (outcomes.includes('broken')) return { outcome: 'broken', why: 'its XML is broken' };
  if (story.isFull()) return { outcome: 'text', text: '', isCut: true };
  const { headers, footers, body } = story;
  if (body() === null) return { outcome: 'other-zip', names };
  const texts = [...aroundTexts(headers), body(), ...aroundTexts(footers)];
  return { outcome: 'text', text: texts.join('\n\n'), isCut: false };
}

type Attributes = Readonly<Record<string, string>>;

interface Visitor {
  open(name: string, attributes: Attributes): void;
  text(text: string): void;
  close(name: string): void;
  isFull(): boolean;
}

const FED_AT_ONCE = 64 * 1024;
const MOST_DEPTH = 1_000;

function walk(xml: Uint8Array, visitor: Visitor): 'read' | 'too-deep' | 'broken' {
  let depth = 0;
  let isTooDeep = false;
  let isWhole = false;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        isTooDeep ||= depth > MOST_DEPTH;
        if (!isTooDeep) visitor.open(name, attributes);
      },
      ontext(text) {
        if (!isTooDeep) visitor.text(text);
      },
      onclosetag(name) {
        depth -= 1;
        if (!isTooDeep) visitor.close(name);
        isWhole ||= depth === 0;
      },
    },
    { xmlMode: true },
  );
  const decoder = new TextDecoder();
  for (let at = 0; at < xml.length; at += FED_AT_ONCE) {
    parser.write(decoder.decode(xml.subarray(at, at + FED_AT_ONCE), { stream: true }));
    if (isTooDeep) return 'too-deep';
    if (visitor.isFull()) return 'read';
  }
  // The end of the parser closes what is still open.
  const outcome = isWhole ? 'read' : 'broken';
  parser.end();
  return outcome;
}

/** What is not part of the text as it is printed, or is repeated in it. */
const SKIPPED = new Set([
  ...['text:tracked-changes', 'office:annotation', 'text:note-citation', 'text:ruby-text', 'text:script'],
  ...['office:forms', 'office:binary-data', 'draw:object', 'draw:object-ole', 'draw:image', 'math:math'],
  ...['svg:title', 'svg:desc', 'table:covered-table-cell', 'office:scripts'],
]);
const SOURCE = /^text:.*-source$/;
/** Texts of their own: footnotes, and shapes, whose text follows the paragraph that they are anchored to. */
const INNER = new Set([
  'text:note-body',
  ...['draw:text-box', 'draw:custom-shape', 'draw:rect', 'draw:ellipse', 'draw:circle', 'draw:polygon'],
  ...['draw:regular-polygon', 'draw:polyline', 'draw:path', 'draw:line', 'draw:connector', 'draw:caption'],
]);
/** Text boxes in text boxes; each of them copies what is in it. */
const MOST_OPEN = 5;
/** Boxes, notes, headers and footers, of which no CV has so many. */
const MOST_STORIES = 10_000;
const AROUND = /^style:(header|footer)(?:-left|-first)?$/;
const TAGS: ReadonlyMap<string, string> = new Map([
  ['text:list', 'ul'],
  ['table:table', 'table'],
  ['table:table-row', 'tr'],
  ['table:table-cell', 'td'],
]);
const PARAGRAPHS = new Set(['text:p', 'text:h']);

/** A text of its own: the body, a header, a footer, a footnote, a text box. */
interface Story {
  /** The element that contains it. */
  readonly root: string;
  readonly page: Page;
  /** The tag of the paragraph that is open. */
  tag: string | null;
  /** Texts of boxes in the paragraph. */
  readonly boxes: string[];
  /** Of each open item of a list and each open cell, whether its next paragraph has a bullet. */
  readonly items: boolean[];
}

function createStories(maxCharacters: number) {
  const headers: string[] = [];
  const footers: string[] = [];
  const notes: string[] = [];
  const open: Story[] = [];
  const hidden = createHiddenStyles();
  let body: string | null = null;
  /** The number of open elements from the skipped one inwards. */
  let skippedDepth = 0;
  let stories = 0;
  let isFull = false;

  function begin(root: string): void {
    if (open.length === MOST_OPEN || stories === MOST_STORIES) {
      skippedDepth = 1;
      return;
    }
    stories += 1;
    open.push({ root, page: createPage(maxCharacters, PAGE), tag: null, boxes: [], items: [] });
  }

  function end({ root, page }: Story): void {
    open.pop();
    if (root === 'office:text' && notes.length > 0) writeNotes(page, notes);
    isFull ||= page.isFull();
    const text = page.text().trim();
    const around = AROUND.exec(root)?.[1];
    if (around === 'header') headers.push(text);
    else if (around === 'footer') footers.push(text);
    else if (root === 'office:text') body = text;
    else if (text === '') return;
    else if (root === 'text:note-body') notes.push(text);
    else addBox(text);
  }

  function addBox(text: string): void {
    const story = open.at(-1);
    if (story === undefined) return;
    if (story.tag === null) writeLines(story.page, text);
    else story.boxes.push(text);
  }

  return {
    headers,
    footers,
    body: () => body,
    isFull: () => isFull,
    open(name: string, attributes: Attributes): void {
      if (skippedDepth > 0 || isSkipped(name, attributes) || hidden.has(attributes['text:style-name'])) {
        skippedDepth += 1;
        return;
      }
      hidden.open(name, attributes);
      const story = open.at(-1);
      const isOwn = name === 'office:text' || AROUND.test(name);
      if (isOwn || (story !== undefined && INNER.has(name))) begin(name);
      else if (story !== undefined) openIn(story, name, attributes);
    },
    text(text: string): void {
      const story = open.at(-1);
      if (skippedDepth > 0 || story === undefined || story.tag === null) return;
      story.page.write(text.replace(/[\t\r\n]+/g, ' '), false);
      isFull ||= story.page.isFull();
    },
    close(name: string): void {
      if (skippedDepth > 0) {
        skippedDepth -= 1;
        return;
      }
      const story = open.at(-1);
      if (story === undefined) return;
      if (name === story.root) end(story);
      else closeIn(story, name);
    },
  };
}

const PAGE = { paragraphsAreLines: true };

function isSkipped(name: string, attributes: Attributes): boolean {
  if (SKIPPED.has(name) || SOURCE.test(name)) return true;
  if (AROUND.test(name)) return attributes['style:display'] === 'false';
  return attributes['text:is-hidden'] === 'true' || (name === 'text:section' && isHiding(attributes));
}

function isHiding(attributes: Attributes): boolean {
  return attributes['text:display'] === 'none';
}

/** The names of the styles that hide their text. */
function createHiddenStyles() {
  const names = new Set<string>();
  let current: string | undefined;
  return {
    open(name: string, attributes: Attributes): void {
      if (name === 'style:style') current = attributes['style:name'];
      if (name === 'style:text-properties' && current !== undefined && isHiding(attributes))
        names.add(current);
    },
    has: (name: string | undefined) => name !== undefined && names.has(name),
  };
}

function openIn(story: Story, name: string, attributes: Attributes): void {
  const { page, items } = story;
  if (PARAGRAPHS.has(name)) openParagraph(story, name, attributes);
  if (name === 'text:tab') write(story, '\t');
  if (name === 'text:s') write(story, ' ');
  if (name === 'text:line-break' && story.tag !== null) page.open('br');
  if (name === 'text:list-item') items.push(true);
  if (name === 'table:table-cell') items.push(false);
  const tag = TAGS.get(name);
  if (tag !== undefined) page.open(tag);
}

/** As in DOCX: a heading with a number is a heading, and the first paragraph of an item has the bullet. */
function openParagraph(story: Story, name: string, attributes: Attributes): void {
  if (story.tag !== null) return;
  const { page, items } = story;
  const hasBullet = items.at(-1) === true;
  if (items.length > 0) items[items.length - 1] = false;
  const level = Math.min(6, Math.max(1, Number(attributes['text:outline-level']) || 1));
  story.tag = name === 'text:h' ? `h${level}` : hasBullet ? 'li' : 'p';
  page.open(story.tag);
}

function closeIn(story: Story, name: string): void {
  const { page, items, tag, boxes } = story;
  if (PARAGRAPHS.has(name) && tag !== null) {
    page.close(tag);
    story.tag = null;
    for (const text of boxes.splice(0)) writeLines(page, text);
  }
  if (name === 'text:list-item' || name === 'table:table-cell') items.pop();
  const closed = TAGS.get(name);
  if (closed !== undefined) page.close(closed);
}

function write(story: Story, text: string): void {
  if (story.tag !== null) story.page.write(text, false);
}
