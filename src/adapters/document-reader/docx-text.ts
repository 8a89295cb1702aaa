import { zipSync } from 'fflate';
import { Parser } from 'htmlparser2';
import mammoth from 'mammoth';
import type { DocumentLimits } from '../../ports/document-reader.ts';
import { htmlText } from './html-text.ts';
import { openZip } from './zip-parts.ts';

export type DocxText =
  | { readonly outcome: 'text'; readonly text: string; readonly isCut: boolean }
  | { readonly outcome: 'too-large'; readonly why: string }
  | { readonly outcome: 'encrypted' }
  | { readonly outcome: 'other-zip' }
  | { readonly outcome: 'broken'; readonly why: string };

/**
 * The parts with words in them. Images, fonts, themes and embedded files stay packed: what nobody unpacks cannot
 * explode.
 */
const PART = /^(?:\[Content_Types\]\.xml|_rels\/\.rels|word\/(?:_rels\/)?[\w-]+\.xml(?:\.rels)?)$/;
const AROUND = /^word\/(header|footer)\d*\.xml$/;
/** Tables come as HTML and are read as such; empty image sources keep pictures from being unpacked. */
const OPTIONS = {
  includeEmbeddedStyleMap: false,
  externalFileAccess: false,
  convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
};

/**
 * Through mammoth to HTML, and from there to text, so that lists and tables look alike in both kinds. What it reads is
 * a zip of our own, packed anew from the parts that were counted. Headers and footers, which it leaves out and in
 * which many CVs have their name and address, are read here.
 */
export async function docxText(bytes: Uint8Array, limits: DocumentLimits): Promise<DocxText> {
  const zip = openZip(bytes, limits, (name) => PART.test(name));
  if (zip.outcome !== 'opened') return zip;
  const { parts } = zip;
  if (parts['[Content_Types].xml'] === undefined) return { outcome: 'other-zip' };
  if (!Object.keys(parts).some((name) => name.startsWith('word/'))) return { outcome: 'other-zip' };
  const headers = aroundTexts(parts, 'header');
  const footers = aroundTexts(parts, 'footer');
  const counted = zipSync({ ...parts }, { level: 0 });
  let html: string;
  try {
    html = (await mammoth.convertToHtml({ buffer: Buffer.from(counted.buffer) }, OPTIONS)).value;
  } catch (error) {
    return {
      outcome: 'broken',
      why: error instanceof RangeError ? 'it is nested too deep' : 'its XML is broken',
    };
  }
  const body = htmlText(html, limits.maxCharacters);
  return { outcome: 'text', text: [...headers, body.text, ...footers].join('\n\n'), isCut: body.isCut };
}

/** Each different text once: first pages, odd and even ones have headers of their own that say the same. */
function aroundTexts(
  parts: Readonly<Record<string, Uint8Array>>,
  kind: 'header' | 'footer',
): readonly string[] {
  const texts = Object.keys(parts)
    .filter((name) => AROUND.exec(name)?.[1] === kind)
    .sort()
    .map((name) => wordsOf(new TextDecoder().decode(parts[name])))
    .filter((text) => text !== '' && !/^(?:page|seite)?\s*\d*(?:\s*(?:\/|of|von)\s*\d+)?$/i.test(text));
  return [...new Set(texts)];
}

/** `w:t` holds words, `w:p` is a paragraph; deleted text has a tag of its own and so stays out. */
function wordsOf(xml: string): string {
  const words: string[] = [];
  let isText = false;
  const parser = new Parser(
    {
      onopentag(name) {
        if (name === 'w:t') isText = true;
        if (name === 'w:tab') words.push('\t');
        if (name === 'w:br' || name === 'w:cr') words.push('\n');
      },
      ontext(text) {
        if (isText) words.push(text);
      },
      onclosetag(name) {
        if (name === 'w:t') isText = false;
        if (name === 'w:p') words.push('\n');
      },
    },
    { xmlMode: true },
  );
  parser.write(xml);
  parser.end();
  return words.join('').trim();
}
