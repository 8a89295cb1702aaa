import { zipSync } from 'fflate';
import { Parser } from 'htmlparser2';
import mammoth from 'mammoth';
import type { DocumentLimits } from '../../ports/document-reader.ts';
import { htmlText } from './html-text.ts';
import { openZip, type ZipText } from './zip-parts.ts';

/**
 * The parts that contain text. Images, fonts, themes and embedded files are never decompressed, so they cannot be
 * decompression bombs.
 */
const PART = /^(?:\[Content_Types\]\.xml|_rels\/\.rels|word\/(?:_rels\/)?[\w-]+\.xml(?:\.rels)?)$/;
const AROUND = /^word\/(header|footer)\d*\.xml$/;
/** A line with nothing but the number of its page. */
export const PAGE_NUMBER =
  /^(?:page|seite|p[aá]gina|strana|str[aá]nka|strona|sid[ae]|sayfa|oldal|sivu)?\s*\d*(?:\s*(?:\/|\||of|von|sur|de|di|van|av|af|z|ze|din)\s*\d+)?$/i;
/** Tables are converted to HTML and read as such. Empty image sources prevent images from being decompressed. */
const OPTIONS = {
  includeEmbeddedStyleMap: false,
  externalFileAccess: false,
  ignoreEmptyParagraphs: false,
  convertImage: mammoth.images.imgElement(async () => ({ src: '' })),
};

/**
 * Converts DOCX to HTML with mammoth and then to text, so that lists and tables look the same as in HTML. mammoth reads a
 * zip that we repack from the parts whose sizes were checked. It ignores headers and footers, where many CVs have the name
 * and address, so they are read here.
 */
export async function docxText(bytes: Uint8Array, limits: DocumentLimits): Promise<ZipText> {
  const zip = openZip(bytes, limits, (name) => PART.test(name));
  if (zip.outcome !== 'opened') return zip;
  const { parts, names } = zip;
  const isDocx =
    parts['[Content_Types].xml'] !== undefined && Object.keys(parts).some((name) => name.startsWith('word/'));
  if (!isDocx) return { outcome: 'other-zip', names };
  const headers = aroundTexts(partsAround(parts, 'header'));
  const footers = aroundTexts(partsAround(parts, 'footer'));
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
  const body = htmlText(html, limits.maxCharacters, { paragraphsAreLines: true });
  return { outcome: 'text', text: [...headers, body.text, ...footers].join('\n\n'), isCut: body.isCut };
}

/** Headers or footers. Those of first, odd and even pages often repeat each other: each distinct text once. */
export function aroundTexts(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.filter((text) => text !== '' && !PAGE_NUMBER.test(text)))];
}

function partsAround(
  parts: Readonly<Record<string, Uint8Array>>,
  kind: 'header' | 'footer',
): readonly string[] {
  return Object.keys(parts)
    .filter((name) => AROUND.exec(name)?.[1] === kind)
    .sort()
    .map((name) => wordsOf(new TextDecoder().decode(parts[name])));
}

/** `w:t` contains text, `w:p` is a paragraph. Deleted text has another tag and is ignored. */
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
