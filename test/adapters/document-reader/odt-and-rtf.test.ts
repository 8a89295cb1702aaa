import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { readDocument } from '../../../src/adapters/document-reader/read-document.ts';
import { DOCUMENT_LIMITS, type DocumentLimits } from '../../../src/ports/document-reader.ts';
import {
  bullet,
  makeDocx,
  makeOdt,
  makeRtf,
  makeZip,
  paragraph,
  table,
} from '../../doubles/made-up-documents.ts';

const recorded = (kind: string) =>
  new Uint8Array(readFileSync(new URL(`../../recorded/documents/libreoffice.${kind}`, import.meta.url)));
const utf8 = (text: string) => new TextEncoder().encode(text);

const read = (bytes: Uint8Array, own: Partial<DocumentLimits> = {}) =>
  readDocument(bytes, { ...DOCUMENT_LIMITS, ...own });

async function textOf(bytes: Uint8Array): Promise<string> {
  const reading = await read(bytes);
  return reading.outcome === 'read' ? reading.text : `${reading.outcome}: ${reading.message}`;
}

/** One document in three kinds: headings, lists in lists, a table, tabs, a line break, a heading of its pages. */
const p = (text: string) => `<text:p>${text}</text:p>`;
const heading = (text: string) => paragraph(text, '<w:pStyle w:val="Heading1"/>');
const AS_DOCX = makeDocx(
  [
    ...[
      paragraph('Ada Lovelace'),
      paragraph('Analyst\tMay 2021'),
      paragraph(''),
      heading('Work'),
      paragraph('One'),
    ],
    ...[bullet('Engines &amp; cards'), bullet('Numbers'), heading('Study')],
    table([
      ['1842', 'Programmer'],
      ['', 'Author'],
    ]),
    ...['<w:p><w:r><w:t>Up</w:t><w:br/><w:t>down</w:t></w:r></w:p>', paragraph('End')],
  ].join(''),
  { header: paragraph('ada@lovelace.example'), footer: paragraph('Page 1') },
);
const AS_ODT = makeOdt(
  [
    ...[
      p('Ada Lovelace'),
      p('Analyst<text:tab/>May 2021'),
      p(''),
      '<text:h text:outline-level="1">Work</text:h>',
    ],
    `${p('One')}<text:list><text:list-item>${p('Engines &amp; <text:span>cards</text:span>')}</text:list-item>`,
    `<text:list-item><text:list><text:list-item>${p('Numbers')}</text:list-item></text:list></text:list-item></text:list>`,
    '<text:list><text:list-item><text:h text:outline-level="1">Study</text:h></text:list-item></text:list>',
    `<table:table><table:table-row><table:table-cell>${p('1842')}</table:table-cell><table:table-cell>${p('Programmer')}</table:table-cell></table:table-row>`,
    `<table:table-row><table:table-cell>${p('')}</table:table-cell><table:table-cell>${p('Author')}</table:table-cell></table:table-row></table:table>`,
    `${p('Up<text:line-break/>down')}${p('End')}`,
  ].join('\n '),
  {
    pages: `<style:master-page style:name="Standard"><style:header>${p('ada@lovelace.example')}</style:header><style:header-left style:display="false">${p('old')}</style:header-left><style:footer>${p('Page <text:page-number>1</text:page-number>')}</style:footer></style:master-page>`,
  },
);
const AS_RTF = makeRtf(
  [
    '{\\header\\pard ada@lovelace.example\\par}{\\footer\\pard Page {\\field{\\*\\fldinst PAGE}{\\fldrslt 1}}\\par}',
    '\\pard\\plain\\f0 Ada Lo{\\b ve}lace\\par Analyst\\tab May 2021\\par\\par',
    '\\pard\\s1 Work\\par\\pard One\\par',
    "{\\listtext\\f1\\'b7\\tab}\\pard\\ls1 Engines & cards\\par{\\pntext\\f1\\'b7\\tab}\\pard Numbers\\par",
    '{\\listtext 2.\\tab}\\pard\\outlinelevel0\\ls2 Study\\par',
    '\\trowd\\cellx1000\\cellx2000\\pard\\intbl 1842\\cell Programmer\\cell\\row',
    '\\trowd\\cellx1000\\cellx2000 \\cell Author\\cell{\\trowd\\cellx1000\\cellx2000\\row}',
    '\\pard Up\\line down\\par\\constructor End\\par',
  ].join('\n'),
);

describe('G-7 ODT and RTF', () => {
  test('G-7 headings, lists, tables, headers and footers are read as those of DOCX', async () => {
    const text = await textOf(AS_DOCX);
    expect(text).toBe(
      'ada@lovelace.example\n\nAda Lovelace\nAnalyst\tMay 2021\n\nWork\n\nOne\n\n• Engines & cards\n• Numbers\n\nStudy\n\n1842\tProgrammer\nAuthor\n\nUp\ndown\nEnd',
    );
    expect(await read(AS_ODT)).toEqual({ outcome: 'read', kind: 'odt', text, pages: null, warnings: [] });
    expect(await read(AS_RTF)).toEqual({ outcome: 'read', kind: 'rtf', text, pages: null, warnings: [] });
  });

  test('G-7 files of LibreOffice: a heading of pages, a box, notes, comments, changes, tables in tables', async () => {
    for (const kind of ['odt', 'rtf']) {
      const text = (await textOf(recorded(kind))).replace('n4\tright', 'n4\nright');
      expect(text).toBe(
        'ada@lovelace.example\t+44 1\n\nAda Lovelace x\nBox line one\nBox line two\n\nWork\n\nAnalyst\tMay 2021 after\n\nher page\nnext — “x” é Ж 東 😀\n\na\nmerged\nn1\tn2\nn3\tn4\nright\n\nEnd\n\n• The note',
      );
    }
  });
});

describe('G-7 ODT', () => {
  test('G-7 deleted and hidden text, comments and alternative texts are left out; boxes and notes follow', async () => {
    const body = [
      `<text:tracked-changes><text:changed-region><text:deletion>${p('deleted')}</text:deletion></text:changed-region></text:tracked-changes>`,
      p(
        `<draw:frame><draw:text-box>${p('In a box')}${p('of two lines')}</draw:text-box></draw:frame>Ada<text:s text:c="3"/><office:annotation>${p('a comment')}</office:annotation>Lovelace<text:note><text:note-citation>1</text:note-citation><text:note-body>${p('A note')}</text:note-body></text:note>,`,
      ),
      p('<draw:frame><draw:image/><svg:desc>a portrait</svg:desc></draw:frame>London\n   UK'),
      `<text:p text:style-name="P9">hidden</text:p><text:section text:display="none">${p('hidden')}</text:section>`,
      p('<text:span text:style-name="T9">hidden</text:span>Kent'),
    ];
    const hide = (name: string) =>
      `<style:style style:name="${name}"><style:text-properties text:display="none"/></style:style>`;
    const styles = `${hide('P9')}${hide('T9')}<style:style style:name="T1"><style:text-properties/></style:style>`;
    expect(await textOf(makeOdt(body.join(''), { styles }))).toBe(
      'Ada Lovelace,\nIn a box\nof two lines\nLondon UK\nKent\n\n• A note',
    );
  });

  test('G-7 a password, broken XML and other packages are named', async () => {
    const manifest = (text: string) => ({ 'META-INF/manifest.xml': utf8(text) });
    const secret = manifest('<manifest:encryption-data manifest:checksum="x"/>');
    const encrypted = {
      reason: 'encrypted',
      message: 'The ODT needs a password. Save it without one and send it again.',
    };
    expect(await read(makeOdt(p('x'), { files: secret }))).toMatchObject(encrypted);
    const whole = {
      mimetype: utf8('application/vnd.oasis.opendocument.text'),
      'encrypted-package': utf8('x'),
    };
    expect(await read(makeZip({ ...whole, ...manifest('<x/>') }))).toMatchObject(encrypted);
    expect(
      await read(makeOdt('', { files: { 'content.xml': utf8('<office:document-content><office:body>') } })),
    ).toMatchObject({ reason: 'broken', message: expect.stringContaining('The ODT is damaged') });
    expect(await read(makeOdt(p('x'), { type: 'spreadsheet' }))).toMatchObject({ reason: 'unknown-type' });
  });

  test('G-7 nesting, characters and unpacked bytes have bounds', async () => {
    const deep = (tag: string, times: number) =>
      `<${tag}>`.repeat(times) + p('x') + `</${tag}>`.repeat(times);
    expect(await read(makeOdt(deep('text:section', 5_000)))).toMatchObject({
      reason: 'broken',
      message: expect.stringContaining('nested too deep'),
    });
    expect(await textOf(makeOdt(p('a') + deep('draw:text-box', 400)))).toBe('a');
    const long = makeOdt(p('word '.repeat(30)).repeat(2_000));
    expect(await read(long, { maxCharacters: 100_000 })).toMatchObject({ outcome: 'too-large' });
    expect(await read(long, { maxInflatedBytes: 100_000 })).toMatchObject({
      outcome: 'too-large',
      message: expect.stringContaining('The ODT is too large: it unpacks to'),
    });
  });
});

describe('G-7 RTF', () => {
  test('G-7 letters: code pages of the document and of fonts, Unicode and what it replaces, symbols, raw UTF-8', async () => {
    const documents: [string, string][] = [
      ["Zo\\'eb Br\\'f6nte \\'96 5 \\'80", 'Zoë Brönte – 5 €'],
      ["{\\f2 \\'c8\\'e2\\'e0\\'ed} \\'e9", 'Иван é'],
      ["\\u321\\'a3ukasz {\\uc2\\u26481\\'93\\'8c}x {\\uc0\\u-3913 }y", 'Łukasz 東x •y'],
      ['a\\emdash b\\~c\\_d\\-e \\ldblquote x\\rdblquote\\{\\}\\\\', 'a—b c-de “x”{}\\'],
      ['Zo\xc3\xab', 'Zoë'],
      ["\\ansicpg1250 \\plain\\f9 \\'a3\\'f3d\\'9f", 'Łódź'],
    ];
    for (const [rtf, text] of documents) expect(await textOf(makeRtf(rtf))).toBe(text);
    expect(await read(makeRtf("\\pc\\f9 caf\\'82"))).toMatchObject({
      warnings: [expect.stringContaining('Accents may be wrong')],
    });
    expect(await read(makeRtf('\\pc cafe'))).toMatchObject({ warnings: [] });
  });

  test('G-7 what is not text is left out: pictures, objects, hidden and deleted text, comments, unknown groups', async () => {
    const picture = '{\\pict\\pngblip 89504e47}{\\*\\shppict{\\pict\\bin6 }}}{{}}}';
    const rtf = [
      `${picture}{\\object{\\*\\objdata 00}{\\result an object}}{\\*\\unknown {\\b x} y}Ada`,
      '{\\v hidden} {\\deleted gone}{\\b\\deleted gone\\deleted0 }Love{\\*\\bkmkstart _x}lace',
      '{\\*\\atnid A}{\\*\\annotation a comment}{\\footnote {\\super\\chftn} A note}',
      '{\\shp{\\*\\shpinst\\shpleft0{\\sp{\\sn name}{\\sv value}}{\\shptxt\\pard In a box\\par of two lines\\par}}{\\shprslt again}}',
      ' {\\field{\\*\\fldinst HYPERLINK "https://x.example"}{\\fldrslt {\\ul her page}}}{\\upr{ans}{\\*\\ud {\\u381?}}}\\par',
      '\\pard\\intbl\\itap2 Table: a\\nestcell b\\nestcell{\\*\\nesttableprops\\trowd\\nestrow}{\\nonesttables\\par}',
      'c\\nestcell{\\*\\nesttableprops\\nestrow}\\pard\\intbl\\cell\\row\\pard End',
    ];
    expect(await textOf(makeRtf(rtf.join('\n')))).toBe(
      'Ada Lovelace her pageŽ\nIn a box\nof two lines\n\nTable: a\tb\nc\n\nEnd\n\n• A note',
    );
  });

  test('G-7 a paragraph of TextEdit ends with a backslash, and a missing last brace is a warning', async () => {
    const cocoa =
      '{\\rtf1\\ansi\\ansicpg1252\\cocoartf2\n{\\fonttbl\\f0\\fswiss\\fcharset0 Helvetica;\\f1\\fnil\\fcharset2 Symbol;}\n\\pard\\f0 Ada\\\nLove\nlace\\\r\n\\\n';
    expect(await textOf(utf8(`${cocoa}{\\listtext\t\\uc0\\u8226 \t}Go}\0`))).toBe('Ada\nLovelace\n\n• Go');
    expect(await read(utf8(`\ufeff\n${cocoa}`))).toMatchObject({
      text: 'Ada\nLovelace',
      warnings: ['The end of the RTF is missing. What is there was read.'],
    });
    for (const cut of ['{\\b x', '\\bin2000000000 x'])
      expect(await read(utf8(`${cocoa}${cut}`))).toMatchObject({
        reason: 'broken',
        message: 'The RTF is damaged: its end is missing. Save it again and send it again.',
      });
  });

  test('G-7 nesting and characters have bounds', async () => {
    expect(await read(makeRtf('{'.repeat(2_000)))).toMatchObject({
      reason: 'broken',
      message: expect.stringContaining('nested too deep'),
    });
    expect(await textOf(makeRtf(`a${'{\\shptxt '.repeat(400)}x${'}'.repeat(400)}`))).toBe('a');
    expect(await read(makeRtf('word '.repeat(1_000)), { maxCharacters: 1_000 })).toMatchObject({
      outcome: 'too-large',
      message: expect.stringContaining('more than 1000 characters'),
    });
  });
});
