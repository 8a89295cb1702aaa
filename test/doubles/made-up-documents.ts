import { constants, deflateRawSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';

/** Documents of our own making, built in code: what a test says is all that is in them. */

export interface PlacedText {
  readonly x: number;
  /** From the bottom of the page, as PDF counts. */
  readonly y: number;
  readonly text: string;
  readonly size?: number;
  readonly bold?: boolean;
}

const PAGE_WIDTH = 595;
const PAGE_HEIGHT = 842;
/** Widths of Helvetica in thousandths of its size: good enough to wrap lines by. */
const NARROW = new Set([...'ijl.,:;!|\'" ()[]-ft']);

export function widthOf(text: string, size = 10): number {
  let thousandths = 0;
  for (const letter of text) thousandths += NARROW.has(letter) ? 300 : 560;
  return (thousandths * size) / 1_000;
}

/** Words into lines of a width, the first line at `y`. */
export function wrapped(
  text: string,
  at: { x: number; y: number; width: number; size?: number; leading?: number },
): PlacedText[] {
  const { size = 10, leading = 13 } = at;
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && widthOf(longer, size) > at.width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.map((line, index) => ({ x: at.x, y: at.y - index * leading, text: line, size }));
}

/** One text under the other. */
export function stacked(texts: readonly string[], at: { x: number; y: number; size?: number }): PlacedText[] {
  const { x, y, size = 10 } = at;
  return texts.map((text, index) => ({ x, y: y - index * 14, text, size }));
}

function pageContent(texts: readonly PlacedText[]): string {
  return texts
    .map(({ x, y, text, size = 10, bold = false }) => {
      const escaped = text.replace(/[\\()]/g, '\\$&');
      return `BT /F${bold ? 2 : 1} ${size} Tf 1 0 0 1 ${x} ${y} Tm (${escaped}) Tj ET`;
    })
    .join('\n');
}

export interface PdfExtras {
  /** Operators put before the texts of every page. */
  readonly content?: string;
  readonly rotate?: number;
  /** Objects with numbers from 100 on, as they are. */
  readonly objects?: readonly string[];
  /** Put into the trailer. */
  readonly trailer?: string;
  /** Further fonts of each page. */
  readonly fonts?: string;
  /** Put into each page's resources. */
  readonly resources?: string;
}

/** Each page a list of texts, in the order in which the file has them. Letters of Latin-1 only. */
export function makePdf(pages: readonly (readonly PlacedText[])[], extras: PdfExtras = {}): Uint8Array {
  const kids = pages.map((_, at) => `${5 + 2 * at} 0 R`).join(' ');
  const fonts = `/Font << /F1 3 0 R /F2 4 0 R ${extras.fonts ?? ''} >>`;
  const objects = [
    '1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj',
    `2 0 obj << /Type /Pages /Kids [${kids}] /Count ${pages.length} >> endobj`,
    '3 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> endobj',
    '4 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >> endobj',
    ...pages.flatMap((texts, at) => {
      const content = `${extras.content ?? ''}\n${pageContent(texts)}`;
      const [page, stream] = [5 + 2 * at, 6 + 2 * at];
      return [
        `${page} 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE_WIDTH} ${PAGE_HEIGHT}] /Rotate ${extras.rotate ?? 0} /Resources << ${fonts} ${extras.resources ?? ''} >> /Contents ${stream} 0 R >> endobj`,
        `${stream} 0 obj << /Length ${content.length} >> stream\n${content}\nendstream endobj`,
      ];
    }),
    ...(extras.objects ?? []),
  ];
  let text = '%PDF-1.7\n';
  const places = objects.map((object) => {
    const place = text.length;
    text += `${object}\n`;
    return { number: Number.parseInt(object, 10), place };
  });
  const start = text.length;
  const table = places.map(
    ({ number, place }) => `${number} 1\n${String(place).padStart(10, '0')} 00000 n \n`,
  );
  text += `xref\n0 1\n0000000000 65535 f \n${table.join('')}`;
  text += `trailer << /Root 1 0 R /Size ${objects.length + 200} ${extras.trailer ?? ''} >>\nstartxref\n${start}\n%%EOF\n`;
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/** A PDF with an unknown password. */
export function makeEncryptedPdf(): Uint8Array {
  const secret = 'ab'.repeat(32);
  return makePdf([[{ x: 72, y: 700, text: 'unreachable' }]], {
    objects: [`100 0 obj << /Filter /Standard /V 1 /R 2 /O <${secret}> /U <${secret}> /P -4 >> endobj`],
    trailer: '/Encrypt 100 0 R /ID [<0123456789abcdef0123456789abcdef> <0123456789abcdef0123456789abcdef>]',
  });
}

/** Megabytes of blanks, packed: one megabyte's worth again and again, which takes no time to make. */
function packedBlanks(megabytes: number): Uint8Array {
  const block = deflateRawSync(new Uint8Array(1_000_000).fill(0x20), { finishFlush: constants.Z_FULL_FLUSH });
  return new Uint8Array(
    Buffer.concat([...Array.from({ length: megabytes }, () => block), Buffer.from([3, 0])]),
  );
}

/** A content stream that is about a thousandth of its size in the file. */
export function makePdfBomb(megabytes: number): Uint8Array {
  const stream = `x\x9c${String.fromCharCode(...packedBlanks(1))}`.slice(0, -2);
  const packed = stream + stream.slice(2).repeat(megabytes - 1);
  const form = `100 0 obj << /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Filter /FlateDecode /Length ${packed.length} >> stream\n${packed}\nendstream endobj`;
  return makePdf([[{ x: 72, y: 700, text: 'a bomb' }]], {
    content: '/Bomb Do',
    resources: '/XObject << /Bomb 100 0 R >>',
    objects: [form],
  });
}

const MAIN = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export const paragraph = (text: string, properties = '') =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
export const bullet = (text: string) =>
  paragraph(text, '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>');
export const table = (rows: readonly (readonly string[])[]) =>
  `<w:tbl>${rows
    .map((cells) => `<w:tr>${cells.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr>`)
    .join('')}</w:tbl>`;

interface DocxParts {
  readonly header?: string;
  readonly footer?: string;
  /** Further files in the zip. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

function docxFiles(body: string, parts: DocxParts = {}): Record<string, Uint8Array> {
  const around = (['header', 'footer'] as const).filter((name) => parts[name] !== undefined);
  const overrides = around.map(
    (name) =>
      `<Override PartName="/word/${name}1.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.${name}+xml"/>`,
  );
  const files: Record<string, string> = {
    '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="${MAIN}"/>${overrides.join('')}</Types>`,
    '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${RELATIONSHIPS}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/numbering.xml': `<w:numbering ${W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`,
    'word/document.xml': `<w:document ${W}><w:body>${body}</w:body></w:document>`,
  };
  if (parts.header !== undefined) files['word/header1.xml'] = `<w:hdr ${W}>${parts.header}</w:hdr>`;
  if (parts.footer !== undefined) files['word/footer1.xml'] = `<w:ftr ${W}>${parts.footer}</w:ftr>`;
  const bytes = Object.entries(files).map(([name, text]) => [name, strToU8(text)] as const);
  return { ...Object.fromEntries(bytes), ...parts.files };
}

export const makeZip = (files: Record<string, Uint8Array>) => zipSync(files, { level: 9 });
export const makeDocx = (body: string, parts: DocxParts = {}) => makeZip(docxFiles(body, parts));

const ODF = ['office', 'style', 'text', 'table', 'draw', 'manifest']
  .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .join(' ');

interface OdtParts {
  /** Styles of the content, and those of pages with their headers and footers. */
  readonly styles?: string;
  readonly pages?: string;
  readonly type?: string;
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

/** OpenDocument text as LibreOffice packs it, without what a reader does not need. */
export function makeOdt(body: string, { styles = '', pages = '', type = 'text', files }: OdtParts = {}) {
  const texts = {
    mimetype: `application/vnd.oasis.opendocument.${type}`,
    'META-INF/manifest.xml': `<manifest:manifest ${ODF}/>`,
    'styles.xml': `<office:document-styles ${ODF}><office:master-styles>${pages}</office:master-styles></office:document-styles>`,
    'content.xml': `<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content ${ODF}><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:${type}>${body}</office:${type}></office:body></office:document-content>`,
  };
  const packed = Object.entries(texts).map(([name, text]) => [name, strToU8(text)] as const);
  return makeZip({ ...Object.fromEntries(packed), ...files });
}

/** RTF of Windows, with a font of text, one of symbols, and a heading. */
export function makeRtf(body: string): Uint8Array {
  const head =
    '{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}{\\f1\\fnil\\fcharset2 Symbol;}{\\f2\\fcharset204 Arial Cyr;}{\\f3\\fcharset128 MS Mincho;}}{\\colortbl;\\red0\\green0\\blue0;}{\\stylesheet{\\s0 Normal;}{\\s1\\sbasedon0 heading 1;}}{\\info{\\title Secret title}}\n';
  return Uint8Array.from(`${head}${body}}`, (letter) => letter.charCodeAt(0));
}

/** A zip whose document is blanks; its directory says so, or `declaredBytes`. */
export function makeZipBomb(megabytes: number, declaredBytes = megabytes * 1_000_000): Uint8Array {
  const packed = packedBlanks(megabytes);
  const zip = zipSync({ ...docxFiles(paragraph('small')), 'word/document.xml': packed }, { level: 0 });
  const view = new DataView(zip.buffer);
  // Stored as it was packed before, now marked as compressed with its uncompressed length.
  for (let at = 0; at + 46 < zip.length; at += 1) {
    const offset =
      view.getUint32(at, true) === 0x02014b50 ? 10 : view.getUint32(at, true) === 0x04034b50 ? 8 : 0;
    if (offset === 0 || view.getUint32(at + offset + 14, true) !== packed.length) continue;
    view.setUint16(at + offset, 8, true);
    view.setUint32(at + offset + 14, declaredBytes, true);
  }
  return zip;
}

/** Zips in zips, ten in each, five deep: a terabyte when all are unpacked. */
export function makeNestedZipBomb(): Uint8Array {
  let inner = makeZip({ 'zeros.bin': new Uint8Array(10_000_000) });
  for (let depth = 0; depth < 5; depth += 1) {
    inner = makeZip(Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`${at}.zip`, inner])));
  }
  return makeDocx(paragraph('a nested bomb'), { files: { 'word/embeddings/inner.zip': inner } });
}
