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
    const { createTokenScores } = await import('../src/adapters/networks/token-scores.ts');
    const begun = performance.now();
    const tokenScores = createTokenScores({ onUnavailable: (reason) => console.error(reason) });
    const engine = createEmbeddedEngine({ tokenScores });
    const openedMs = performance.now() - begun;
    const [cvs, postings] = [textsOf('cvs'), textsOf('postings')];
    for (const text of cvs) engine.parseCv(text, TODAY);
    for (const text of postings) engine.parsePosting(text);
    const held = settledMb() - before;
    for (const text of cvs) await engine.readCv(text, TODAY);
    const heldWithNetwork = settledMb() - before;
    return [
      await rate('CVs, by the linear tagger alone', cvs, (text) => engine.parseCv(text, TODAY)),
      await rate('CVs', cvs, (text) => engine.readCv(text, TODAY)),
      await rate('postings, by the linear tagger alone', postings, (text) => engine.parsePosting(text)),
      await rate('postings', postings, (text) => engine.readPosting(text)),
      { label: 'the engine opened, once', value: openedMs, unit: 'ms' },
      { label: 'memory that the engine adds', value: Math.max(0, held), unit: 'MB' },
      { label: 'memory that it adds with the network', value: Math.max(0, heldWithNetwork), unit: 'MB' },
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

async function rate(label: string, texts: readonly string[], read: (text: string) => unknown): Promise<Row> {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // The core's own time: what else runs on the machine must not count.
    const begun = process.cpuUsage();
    let count = 0;
    for (; count < 40; count++) await read(texts[count % texts.length] ?? '');
    const { user, system } = process.cpuUsage(begun);
    rates.push((count * 1_000_000) / (user + system));
  }
  return { label, value: median(rates), unit: '/s', range: [Math.min(...rates), Math.max(...rates)] };
}

function settledMb(): number {
  Bun.gc(true);
  return process.memoryUsage().rss / 1_000_000;
}
