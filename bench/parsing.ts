import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Measurement, Row } from './frame/measurement.ts';
import { median } from './frame/median.ts';

const ROUNDS = 5;
const TODAY = { year: 2025, month: 1 };
const RECORDED = join(import.meta.dir, '../test/recorded');
/** About what a CV of two pages has; the recorded ones are short, so each is read with others behind it. */
const LENGTH = 5_000;

export const parsing: Measurement = {
  name: 'parsing',
  what: `CVs and postings of ${LENGTH} characters a second through the embedded engine, on one core, and what it keeps in memory`,
  async run() {
    // Loaded here and not at the top, because its word lists and weights are what is to be measured.
    const before = settledMb();
    const { createEmbeddedEngine } = await import('../src/domain/documents/embedded-engine.ts');
    const begun = performance.now();
    const engine = createEmbeddedEngine();
    const openedMs = performance.now() - begun;
    const [cvs, postings] = [textsOf('cvs'), textsOf('postings')];
    for (const text of cvs) engine.parseCv(text, TODAY);
    for (const text of postings) engine.parsePosting(text);
    const held = settledMb() - before;
    return [
      rate('CVs', cvs, (text) => engine.parseCv(text, TODAY)),
      rate('postings', postings, (text) => engine.parsePosting(text)),
      { label: 'the engine opened, once', value: openedMs, unit: 'ms' },
      { label: 'memory that the engine adds', value: Math.max(0, held), unit: 'MB' },
    ];
  },
};

function textsOf(folder: string): string[] {
  const texts = readdirSync(join(RECORDED, folder))
    .filter((name) => name.endsWith('.txt'))
    .map((name) => readFileSync(join(RECORDED, folder, name), 'utf8'));
  return texts.map((_, at) => {
    let text = '';
    for (let next = at; text.length < LENGTH; next++) text += `${texts[next % texts.length]}\n\n`;
    return text.slice(0, LENGTH);
  });
}

function rate(label: string, texts: readonly string[], read: (text: string) => unknown): Row {
  const rates = Array.from({ length: ROUNDS }, () => {
    // The core's own time: what else runs on the machine must not count.
    const begun = process.cpuUsage();
    let count = 0;
    for (; count < 40; count++) read(texts[count % texts.length] ?? '');
    const { user, system } = process.cpuUsage(begun);
    return (count * 1_000_000) / (user + system);
  });
  return { label, value: median(rates), unit: '/s', range: [Math.min(...rates), Math.max(...rates)] };
}

function settledMb(): number {
  Bun.gc(true);
  return process.memoryUsage().rss / 1_000_000;
}
