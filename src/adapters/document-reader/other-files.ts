import type { UnreadableReason } from '../../ports/document-reader.ts';

/** A file that is none of the kinds that are read: what it is, and what its sender can do. */
export interface OtherFile {
  readonly reason: UnreadableReason;
  readonly message: string;
}

const ADVICE = {
  program: 'Open it, save it as PDF or DOCX, and send that.',
  picture: 'Send a document with text as PDF or DOCX, or the text itself.',
  archive: 'Unpack it and send the document that is in it.',
  mail: 'Send the document that is attached to it, or the text itself.',
  other: 'Send plain text, PDF, DOCX, ODT, RTF or HTML.',
} as const;

function other(name: string, advice: keyof typeof ADVICE): OtherFile {
  return { reason: 'unknown-type', message: `The file is ${name}. ${ADVICE[advice]}` };
}

export const UNKNOWN: OtherFile = other('no text and no known document', 'other');
const NEEDS_PASSWORD: OtherFile = {
  reason: 'encrypted',
  message: 'The file needs a password. Save it without one and send it again.',
};

/** The first bytes of a file, behind `at` others. */
interface Signature {
  readonly mark: string;
  readonly at?: number;
  readonly file: OtherFile;
}

const SIGNATURES: readonly Signature[] = [
  { mark: '%!PS', file: other('a PostScript file', 'program') },
  { mark: '\x78\x9f\x3e\x22', file: other('an attachment of Outlook (winmail.dat)', 'mail') },
  { mark: '\x89PNG', file: other('an image (PNG)', 'picture') },
  { mark: '\xff\xd8\xff', file: other('an image (JPEG)', 'picture') },
  { mark: 'GIF8', file: other('an image (GIF)', 'picture') },
  { mark: 'II*\0', file: other('an image (TIFF)', 'picture') },
  { mark: 'MM\0*', file: other('an image (TIFF)', 'picture') },
  { mark: 'WEBP', at: 8, file: other('an image (WebP)', 'picture') },
  ...['heic', 'heix', 'hevc', 'mif1', 'msf1'].map((brand) => ({
    ...{ mark: `ftyp${brand}`, at: 4, file: other('an image (HEIC)', 'picture') },
  })),
  { mark: '\x1f\x8b', file: other('a gzip archive', 'archive') },
  { mark: 'Rar!', file: other('a RAR archive', 'archive') },
  { mark: '7z\xbc\xaf', file: other('a 7z archive', 'archive') },
];

const OLD_OFFICE = '\xd0\xcf\x11\xe0';

/** By the first bytes; null if they are of no other file that is known. */
export function otherFile(bytes: Uint8Array): OtherFile | null {
  const begins = (mark: string, at = 0) =>
    Buffer.from(bytes.subarray(at, at + mark.length)).equals(Buffer.from(mark, 'latin1'));
  if (begins(OLD_OFFICE)) return oldOfficeFile(bytes);
  return SIGNATURES.find(({ mark, at }) => begins(mark, at))?.file ?? null;
}

/** Old Office files, mails of Outlook, and DOCX with a password are containers, whose parts are named in UTF-16. */
function oldOfficeFile(bytes: Uint8Array): OtherFile {
  const container = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const has = (part: string) => container.includes(Buffer.from(part, 'utf16le'));
  if (has('EncryptedPackage')) return NEEDS_PASSWORD;
  if (has('__properties_version')) return other('a mail of Outlook (.msg)', 'mail');
  return other('an old Office file (such as .doc)', 'program');
}

const ZIPS: readonly (readonly [name: RegExp, file: OtherFile])[] = [
  [/^xl\/workbook\./, other('an Excel workbook', 'program')],
  [/^ppt\/presentation\./, other('a PowerPoint presentation', 'program')],
  [
    /^(?:Index\/|Index\.zip$|index\.(?:xml|apxl)(?:\.gz)?$)/,
    other('a document of Apple Pages, Numbers or Keynote', 'program'),
  ],
  [/^META-INF\/container\.xml$/, other('an e-book', 'program')],
  [/^content\.xml$/, other('an OpenDocument file that is no text (such as .ods)', 'program')],
];

/** A zip that is no DOCX and no ODT, by the names of its entries. */
export function otherZip(names: readonly string[]): OtherFile {
  const known = ZIPS.find(([name]) => names.some((one) => name.test(one)));
  return known?.[1] ?? other('a zip archive', 'archive');
}

const HEADER_LINES = /^(?:From .*\r?\n)?(?:[A-Za-z][A-Za-z0-9-]{0,60}:.*\r?\n(?:[ \t].*\r?\n)*){3,200}/;
const LONGEST_HEADER = 64 * 1024;
/** The text of other mails can be read as it is. */
const HAS_PARTS = /^content-type:\s*multipart\/|^content-transfer-encoding:\s*(?:base64|quoted-printable)/im;
const OF_A_MAIL = /^(?:message-id|received|return-path|delivered-to|mime-version):/im;

/** A mail or a web page as it is saved by mail programs and browsers (.eml, .mht): its parts are encoded. */
export function savedMail(text: string): OtherFile | null {
  const header = HEADER_LINES.exec(text.slice(0, LONGEST_HEADER).replace(/^\ufeff/, ''))?.[0];
  if (header === undefined || !OF_A_MAIL.test(header) || !HAS_PARTS.test(header)) return null;
  return other('a saved e-mail or web page (such as .eml or .mht)', 'mail');
}
