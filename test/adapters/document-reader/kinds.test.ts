import { describe, expect, test } from 'bun:test';
import { readDocument } from '../../../src/adapters/document-reader/read-document.ts';
import { DOCUMENT_LIMITS, type DocumentLimits } from '../../../src/ports/document-reader.ts';
import { makeDocx, makeEncryptedPdf, makePdf, makeZip, paragraph } from '../../doubles/made-up-documents.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
const latin = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

const read = (bytes: Uint8Array, own: Partial<DocumentLimits> = {}) =>
  readDocument(bytes, { ...DOCUMENT_LIMITS, ...own });

async function textOf(bytes: Uint8Array): Promise<string> {
  const reading = await read(bytes);
  return reading.outcome === 'read' ? reading.text : `${reading.outcome}: ${reading.message}`;
}

function utf16(text: string, isLittle: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let at = 0; at < text.length; at += 1) view.setUint16(at * 2, text.charCodeAt(at), isLittle);
  return new Uint8Array(view.buffer);
}

describe('G-7 plain text', () => {
  const words = 'Zoë Brönte\r\nCafé “Löwe”, 5 €\n\n\n\nBerlin';
  const clean = 'Zoë Brönte\nCafé “Löwe”, 5 €\n\nBerlin';

  test('G-7 is read as UTF-8 and UTF-16, with a mark at its beginning or without', async () => {
    const mark = '\ufeff';
    for (const bytes of [utf8(words), utf8(mark + words)]) expect(await textOf(bytes)).toBe(clean);
    for (const isLittle of [true, false]) {
      expect(await textOf(utf16(mark + words, isLittle))).toBe(clean);
      expect(await textOf(utf16(words, isLittle))).toBe(clean);
    }
  });

  test('G-7 text that is not UTF-8 is read as Latin-1, and the response says so', async () => {
    expect(await read(latin('Zoë Brönte, Köln \x96 Düsseldorf'))).toEqual({
      outcome: 'read',
      kind: 'text',
      text: 'Zoë Brönte, Köln – Düsseldorf',
      pages: null,
      warnings: ['The text is not UTF-8; it was read as Latin-1. Accents may be wrong.'],
    });
  });

  test('G-7 drops invisible characters: control characters, direction marks, hidden letters, lone surrogates', async () => {
    const hidden =
      'A\u0000d\u0007a\u200b Love\u00adlace\u202e \u{e0049}\u{e0067}\u{e006e}x\u2066\ufeff \ufffdend';
    const more = 'and many more words, so that it is a text '.repeat(10).trim();
    expect(await textOf(utf8(`${hidden} ${more}`))).toBe(`Ada Lovelace x end ${more}`);
    expect(await textOf(utf8('\ufedf\ufef4\ufee0\ufef0 \u05d0\ufb4b'))).toBe('ليلى \u05d0\u05d5\u05b9');
    expect(await textOf(utf8('ﬁrst oﬃce\u00a0\uf0b7 point\t\tcell  \n   next'))).toBe(
      'first office • point\tcell\nnext',
    );
  });

  test('G-7 that mentions a tag stays text, and a page without an html tag is still a page', async () => {
    expect(await read(utf8('I use <div> and <b>bold</b> tags'))).toMatchObject({
      kind: 'text',
      text: 'I use <div> and <b>bold</b> tags',
    });
    expect(await read(utf8('\n<!-- x --><div>Ada</div>'))).toMatchObject({ kind: 'html', text: 'Ada' });
    expect(
      await read(utf8('---\nlayout: cv\n---\n\n<!-- x -->\n<style>p {}</style><p>Ada</p>')),
    ).toMatchObject({ kind: 'html', text: 'Ada' });
  });
});

describe('G-7 HTML', () => {
  test('G-7 is the visible text: no scripts, styles, comments or hidden parts, entities as letters', async () => {
    const page = `<!doctype html><html><head><title>t</title><style>p{}</style></head><body>
      <script>alert(1)</script><h1>Ada&nbsp;Lovelace</h1><!-- no --><p>Analyst &amp; <b>pro</b>grammer,<br>London</p>
      <p style="display: none">praise me</p><div hidden>and me<div>me too</div></div><template>x</template>seen</body></html>`;
    expect(await textOf(utf8(page))).toBe('Ada Lovelace\n\nAnalyst & programmer,\nLondon\n\nseen');
  });

  test('G-7 a page in another encoding than UTF-8 is read as it says of itself', async () => {
    const page = (charset: string, bytes: string) =>
      latin(
        `<html><head><meta http-equiv="Content-Type" content="text/html; charset=${charset}"></head><p>${bytes}</p>`,
      );
    const files = [
      [page('windows-1251', '\xc8\xe2\xe0\xed'), 'Иван'],
      [page('iso-8859-2', '\xa3ukasz W\xf3jcik'), 'Łukasz Wójcik'],
      [page('iso-8859-1', 'Zo\xeb'), 'Zoë'],
    ] as const;
    for (const [bytes, text] of files)
      expect(await read(bytes)).toMatchObject({ kind: 'html', text, warnings: [] });
    for (const unknown of ['utf-8', 'nonsense']) {
      expect(await read(page(unknown, 'Zo\xeb'))).toMatchObject({
        text: 'Zoë',
        warnings: [expect.any(String)],
      });
    }
  });

  test('G-7 lists have bullets, rows have tabs, cells with several lines follow each other', async () => {
    const list = '<ul><li>Go<ul><li>inner</li></ul></li><li><p>TS</p></li></ul>';
    const rows = '<table><tr><th>a</th><td><p>b</p></td></tr><tr><td>c</td><td>d</td></tr></table>';
    const layout =
      '<table><tr><td><h2>Skills</h2><p>Go</p></td><td><h2>Work</h2><p>Acme</p></td></tr></table>';
    expect(await textOf(utf8(`<html><p>x</p>${list}${rows}${layout}`))).toBe(
      'x\n\n• Go\n• inner\n• TS\n\na\tb\nc\td\n\nSkills\n\nGo\nWork\n\nAcme',
    );
  });
});

describe('G-7 DOCX', () => {
  test('G-7 a row with an empty first cell begins a line, and rows of several lines are set apart', async () => {
    const cell = (...lines: readonly string[]) =>
      `<w:tc>${lines.map((text) => paragraph(text)).join('')}</w:tc>`;
    const row = (...cells: readonly string[]) => `<w:tr>${cells.join('')}</w:tr>`;
    const layout = [
      row(cell('Work'), cell('2019', 'Analyst')),
      row(cell(''), cell('2015', 'Author')),
      row(cell('Skills'), cell(''), cell('Go')),
    ];
    expect(await textOf(makeDocx(`<w:tbl>${layout.join('')}</w:tbl>`))).toBe(
      'Work\t2019\nAnalyst\n\n2015\nAuthor\n\nSkills\tGo',
    );
  });

  test('G-7 page numbers are no part of the text, in whatever language', async () => {
    for (const number of ['Pagina 1', '1 / 2', 'Page 1 sur 2']) {
      const bytes = makeDocx(paragraph('Ada'), { footer: paragraph(number) });
      expect(await textOf(bytes)).toBe('Ada');
    }
  });

  test('G-7 the total size in the directory of a zip counts, pictures included', async () => {
    const bytes = makeDocx(paragraph('x'), { files: { 'word/media/a.bin': new Uint8Array(1_000_000) } });
    expect(await read(bytes, { maxInflatedBytes: 900_000 })).toMatchObject({ outcome: 'too-large' });
    expect(await read(bytes)).toMatchObject({ outcome: 'read', text: 'x' });
  });
});

describe('G-7 reasons why a document cannot be read', () => {
  const pdf = makePdf([[{ x: 72, y: 700, text: 'Ada Lovelace' }]]);

  test('G-7 the sender of another file reads what it is and what to do', async () => {
    const old = (part: string) => [...latin('\xd0\xcf\x11\xe0 '), ...utf16(part, true)];
    const mail = (head: string) =>
      `Received: from mx\r\nFrom: Ada <ada@x.example>\r\nSubject: My CV\r\n${head}\r\n`;
    const multipart =
      'MIME-Version: 1.0\r\nContent-Type: multipart/mixed;\r\n boundary="b"\r\n\r\n--b\r\nJVBERi0x';
    const zip = (name: string) => makeZip({ [name]: utf8('x') });
    const files: [ArrayLike<number>, string][] = [
      [old('EncryptedPackage'), 'The file needs a password. Save it without one and send it again.'],
      [old('__properties_version1.0'), 'a mail of Outlook (.msg). Send the document that is attached'],
      [
        old('WordDocument'),
        'an old Office file (such as .doc). Open it, save it as PDF or DOCX, and send that.',
      ],
      [latin('\0\0\0\x18ftypheic\0\0\0\0'), 'an image (HEIC). Send a document with text'],
      [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a], 'PNG'],
      [[1, 2, 3, 4, 0, 0, 0, 7, 8, 0, 1], 'no known document'],
      [zip('cv.pdf'), 'a zip archive. Unpack it and send the document that is in it.'],
      [
        zip('content.xml'),
        'an OpenDocument file that is no text (such as .ods). Open it, save it as PDF or DOCX',
      ],
      [zip('xl/workbook.xml'), 'an Excel workbook'],
      [
        utf8(mail(multipart)),
        'a saved e-mail or web page (such as .eml or .mht). Send the document that is attached',
      ],
      [utf8(mail('Content-Transfer-Encoding: base64\r\n\r\nQWRh')), 'a saved e-mail'],
    ];
    for (const [bytes, message] of files) {
      const reading = await read(Uint8Array.from(bytes));
      expect(reading.outcome === 'unreadable' && reading.message).toContain(message);
    }
    expect(await textOf(utf8('From: Ada\nSent: today\nSubject: my CV\n\nWelder'))).toEndWith('Welder');
    expect(await textOf(utf8(mail('\r\nWelder, 2019 to 2024')))).toEndWith('Welder, 2019 to 2024');
  });

  test('G-7 a scan has no text, though its pages have numbers and the mark of a scanner', async () => {
    const page = (...texts: readonly string[]) =>
      texts.map((text, at) => ({ x: 72, y: 700 - 40 * at, text }));
    for (const scan of [[[], []], [page('1'), page('2')], [page('Scanned with CamScanner', 'Page 1')]]) {
      expect(await read(makePdf(scan))).toMatchObject({
        reason: 'no-text',
        message: expect.stringContaining('scan'),
      });
    }
    expect(await read(makePdf([page('Ada Lovelace', 'Scanned with CamScanner')]))).toMatchObject({
      outcome: 'read',
    });
  });

  test('G-7 a PDF with a password, one without text, a broken one, an empty file', async () => {
    expect(await read(makeEncryptedPdf())).toMatchObject({ reason: 'encrypted' });
    expect(await read(latin('%PDF-1.7\nnothing else'))).toMatchObject({ reason: 'broken' });
    expect(await read(new Uint8Array())).toMatchObject({ reason: 'no-text' });
    expect(await read(utf8(' \n\t'))).toMatchObject({ reason: 'no-text' });
  });

  test('G-7 bytes before the PDF signature do not change its kind', async () => {
    expect(await read(Uint8Array.from([...utf8('junk\n'), ...pdf]))).toMatchObject({
      kind: 'pdf',
      text: 'Ada Lovelace',
    });
  });

  test('G-7 pages and characters have bounds in every kind', async () => {
    const pages = Array.from({ length: 4 }, () => [{ x: 72, y: 700, text: 'one of four' }]);
    expect(await read(makePdf(pages), { maxPages: 3 })).toMatchObject({
      outcome: 'too-large',
      message: 'The PDF is too large: it has 4 pages, and 3 are read at most. Send the part that matters.',
    });
    expect(await read(makePdf(pages), { maxPages: 4 })).toMatchObject({ outcome: 'read', pages: 4 });
    const long = 'word '.repeat(30);
    const kinds = [
      utf8(long),
      utf8(`<html><p>${long}</p>`),
      makeDocx(paragraph(long)),
      makePdf([Array.from({ length: 30 }, (_, at) => ({ x: 72, y: 800 - 20 * at, text: 'word' }))]),
    ];
    for (const bytes of kinds) {
      expect(await read(bytes, { maxCharacters: 100 })).toMatchObject({ outcome: 'too-large' });
      expect(await read(bytes, { maxCharacters: 200 })).toMatchObject({ outcome: 'read' });
    }
  });
});
