import type { DocumentKind } from '../../ports/document-reader.ts';

/** What the first bytes say; `text` is decided by decoding. A zip may be a DOCX: its directory tells. */
export type ContentKind = DocumentKind | { readonly unknown: string };

/** PDF allows other bytes before its mark, within the first kilobyte. */
const PDF_MARK_WITHIN = 1_024;
const HTML_LOOKED_AT = 4_096;

const KNOWN_OTHERS: readonly { readonly mark: readonly number[]; readonly name: string }[] = [
  {
    mark: [0xd0, 0xcf, 0x11, 0xe0],
    name: 'an old Office file (such as .doc), or an Office file with a password',
  },
  { mark: [0x7b, 0x5c, 0x72, 0x74, 0x66], name: 'an RTF file' },
  { mark: [0x89, 0x50, 0x4e, 0x47], name: 'an image (PNG)' },
  { mark: [0xff, 0xd8, 0xff], name: 'an image (JPEG)' },
  { mark: [0x47, 0x49, 0x46, 0x38], name: 'an image (GIF)' },
  { mark: [0x49, 0x49, 0x2a, 0x00], name: 'an image (TIFF)' },
  { mark: [0x4d, 0x4d, 0x00, 0x2a], name: 'an image (TIFF)' },
  { mark: [0x1f, 0x8b], name: 'a gzip archive' },
  { mark: [0x52, 0x61, 0x72, 0x21], name: 'a RAR archive' },
  { mark: [0x37, 0x7a, 0xbc, 0xaf], name: 'a 7z archive' },
];

export function kindOf(bytes: Uint8Array): ContentKind {
  if (startsWith(bytes, [0x50, 0x4b, 0x03, 0x04]) || startsWith(bytes, [0x50, 0x4b, 0x05, 0x06]))
    return 'docx';
  if (latin(bytes, PDF_MARK_WITHIN).includes('%PDF-')) return 'pdf';
  const other = KNOWN_OTHERS.find(({ mark }) => startsWith(bytes, mark));
  return other === undefined ? 'text' : { unknown: other.name };
}

/** Of a text: whether it is a page of HTML or somebody's words, in which a tag may well be mentioned. */
export function isHtml(text: string): boolean {
  const beginning = text
    .slice(0, HTML_LOOKED_AT)
    .replace(/^\ufeff/, '')
    .replace(/^(?:\s|<!--[\s\S]{0,2000}?-->|<\?xml[^>]{0,200}>)+/, '');
  return /^<(?:!doctype\s+html|(?:html|head|body|meta|title|style|div|p|table|section|article|main|header|h[1-6]|ul|ol|span|font|center|b|strong)\b[^>]{0,500}>)/i.test(
    beginning,
  );
}

function startsWith(bytes: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, at) => bytes[at] === byte);
}

function latin(bytes: Uint8Array, length: number): string {
  return String.fromCharCode(...bytes.subarray(0, length));
}
