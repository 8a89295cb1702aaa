/** The label of a TextDecoder, or what stands for fonts whose bytes are pictures. */
export type Charset = string;

export const SYMBOLS: Charset = 'symbols';
export const LATIN_1: Charset = 'windows-1252';

/** Code pages with a decoder. 437 and 850, of DOS, have none. */
const CODE_PAGES: Readonly<Record<number, Charset>> = {
  874: 'windows-874',
  866: 'ibm866',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  1250: 'windows-1250',
  1251: 'windows-1251',
  1252: LATIN_1,
  1253: 'windows-1253',
  1254: 'windows-1254',
  1255: 'windows-1255',
  1256: 'windows-1256',
  1257: 'windows-1257',
  1258: 'windows-1258',
  10000: 'macintosh',
  10001: 'shift_jis',
  10007: 'x-mac-cyrillic',
  20866: 'koi8-r',
  21866: 'koi8-u',
  28592: 'iso-8859-2',
  28595: 'iso-8859-5',
  28605: 'iso-8859-15',
  54936: 'gb18030',
  65001: 'utf-8',
};

/** The code pages of `\fcharset`. Those that are missing are the default of the document. */
const PAGE_OF_CHARSET: Readonly<Record<number, number>> = {
  0: 1252,
  77: 10000,
  78: 10001,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};
const SYMBOL_CHARSET = 2;
/** Text fonts are marked as such too, by mistake. */
const SYMBOL_FONT = /symbol|dings|marlett/i;

/** Null if its letters above ASCII are not known. */
export function charsetOfPage(page: number): Charset | null {
  return CODE_PAGES[page] ?? null;
}

interface Font {
  readonly name: string;
  readonly charset: number | null;
  readonly page: number | null;
}

/** Null for the charset of the document. */
export function charsetOfFont({ name, charset, page }: Font): Charset | null {
  if (charset === SYMBOL_CHARSET) return SYMBOL_FONT.test(name) ? SYMBOLS : null;
  const known = page ?? (charset === null ? null : (PAGE_OF_CHARSET[charset] ?? null));
  return known === null ? null : charsetOfPage(known);
}

/** Where fonts of symbols have their pictures; the bullets among them are replaced later. */
const SYMBOLS_FROM = 0xf000;
const decoders = new Map<Charset, TextDecoder>();

export function decodeBytes(bytes: readonly number[], charset: Charset): string {
  if (charset === SYMBOLS) return bytes.map(symbol).join('');
  const decoder = decoders.get(charset) ?? new TextDecoder(charset);
  decoders.set(charset, decoder);
  return decoder.decode(Uint8Array.from(bytes));
}

function symbol(byte: number): string {
  return byte <= 0x20 ? String.fromCharCode(byte) : String.fromCharCode(SYMBOLS_FROM + byte);
}

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
