import { afterAll, describe, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createDocumentReader } from '../../src/adapters/document-reader/reader-pool.ts';
import type { Clock } from '../../src/ports/clock.ts';
import {
  makeDocx,
  makeNestedZipBomb,
  makeOdt,
  makePdf,
  makePdfBomb,
  makeRtf,
  makeZipBomb,
  paragraph,
} from '../doubles/made-up-documents.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';

const { log, entries } = createRecordingLog();
const system = createSystemClock();
/** Five times the reader's own limit, which a busy machine may need for what is not about time. */
const clock: Clock = { ...system, after: (ms, work) => system.after(5 * ms, work) };
const reader = createDocumentReader({ clock, log });
afterAll(() => reader.close());

const utf8 = (text: string) => new TextEncoder().encode(text);
const good = makePdf([[{ x: 72, y: 700, text: 'Ada Lovelace' }]]);

async function expectItGoesOn(): Promise<void> {
  expect(await reader.read(good)).toMatchObject({ outcome: 'read', text: 'Ada Lovelace' });
}

describe('G-7 documents made to break the reader', () => {
  test('G-7 a zip bomb is refused by its directory, one with a false directory by its unpacked size', async () => {
    for (const bomb of [makeZipBomb(300), makeZipBomb(300, 1_000)]) {
      expect(bomb.length).toBeLessThan(400_000);
      expect(await reader.read(bomb)).toMatchObject({ outcome: 'too-large' });
    }
    await expectItGoesOn();
  });

  test('G-7 zips inside a document are never opened, and a zip of many files is refused', async () => {
    expect(await reader.read(makeNestedZipBomb())).toMatchObject({ outcome: 'read', text: 'a nested bomb' });
    const names = Array.from({ length: 2_100 }, (_, at) => [`word/media/${at}.png`, new Uint8Array(1)]);
    expect(await reader.read(makeDocx(paragraph('x'), { files: Object.fromEntries(names) }))).toMatchObject({
      outcome: 'too-large',
    });
  });

  test('G-7 a PDF stream that expands to a gigabyte ends its process, not the service', async () => {
    const before = process.memoryUsage.rss();
    expect(await reader.read(makePdfBomb(1_000))).toMatchObject({
      outcome: 'unreadable',
      reason: 'too-much-memory',
    });
    expect(process.memoryUsage.rss() - before).toBeLessThan(400_000_000);
    await expectItGoesOn();
  });

  test('G-7 endless nesting does not crash the reader: arrays, dictionaries, forms, pages, XML, tags', async () => {
    const text = [{ x: 72, y: 700, text: 'still here' }];
    const form =
      '100 0 obj << /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 100 0 R >> >> /Length 5 >> stream\n/F Do\nendstream endobj';
    const nested = [
      makePdf([text], { content: '['.repeat(300_000) }),
      makePdf([text], { resources: `/X ${'<< /A '.repeat(200_000)}` }),
      makePdf([text], { content: '/F Do', resources: '/XObject << /F 100 0 R >>', objects: [form] }),
      utf8(
        '%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF',
      ),
      makeDocx(
        `${'<w:sdt><w:sdtContent>'.repeat(20_000)}${paragraph('x')}${'</w:sdtContent></w:sdt>'.repeat(20_000)}`,
      ),
    ];
    for (const bytes of nested)
      expect(await reader.read(bytes)).toMatchObject({ outcome: expect.any(String) });
    expect(await reader.read(makeRtf('{\\shptxt\\trowd\\cell x'.repeat(20_000)))).toMatchObject({
      reason: 'broken',
    });
    expect(await reader.read(makeRtf('\\bin2147483647 x'))).toMatchObject({ reason: 'broken' });
    const tags = utf8(`<html>${'<div>'.repeat(300_000)}deep`);
    expect(await reader.read(tags)).toMatchObject({ outcome: 'read', text: 'deep' });
    await expectItGoesOn();
  });

  test('G-7 every prefix of a file, and every file with some bytes changed, gets a response', async () => {
    const random = createSeededRandom(42);
    const docx = makeDocx(paragraph('Ada Lovelace'));
    const odt = makeOdt('<text:p>Ada Lovelace</text:p>');
    const rtf = makeRtf('Ada Lovelace\\par');
    const html = utf8('<html><body><p>Ada Lovelace</p></body></html>');
    const outcomes = new Set<string>();
    for (let round = 0; round < 300; round += 1) {
      const whole = random.pick([good, docx, html, odt, rtf]);
      const bytes = round % 3 === 0 ? whole.slice(0, random.below(whole.length)) : whole.slice();
      if (round % 3 === 1)
        for (let times = 0; times < 8; times += 1) bytes[random.below(bytes.length)] = random.below(256);
      if (round % 3 === 2) for (let at = 0; at < bytes.length; at += 1) bytes[at] = random.below(256);
      const reading = await reader.read(bytes);
      outcomes.add(reading.outcome === 'unreadable' ? reading.reason : reading.outcome);
      if (reading.outcome === 'read') expect(reading.text).not.toMatch(/\p{Cc}(?<![\n\t])/u);
    }
    for (const outcome of ['broken', 'read', 'unknown-type']) expect(outcomes).toContain(outcome);
    for (const outcome of ['busy', 'took-too-long', 'too-much-memory'])
      expect(outcomes).not.toContain(outcome);
    await expectItGoesOn();
  });

  test('G-7 the log has no word of a document', () => {
    expect(entries.length).toBeGreaterThan(0);
    expect(JSON.stringify(entries)).not.toMatch(/Lovelace|nested|bomb/);
  });
});
