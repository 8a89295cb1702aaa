import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { createTextVectors } from '../src/adapters/networks/text-vectors.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { median } from './frame/median.ts';

const ROUNDS = 5;
const TITLES = [
  'Senior software engineer',
  'Registered nurse, intensive care',
  'Head of procurement',
  'Fork-lift driver',
];
const CVS = join(import.meta.dir, '../test/recorded/cvs');
/** Of characters: about what matching embeds of a talent, and a text of more than one window. */
const PROFILE = 600;
const LONG = 5_000;

export const embeddings: Measurement = {
  name: 'embeddings',
  what: 'processor time of the embedded encoder for a title, a profile and a long text, how long it takes to open, and the memory that it adds',
  async run({ signal, whenEnding }) {
    const text = readdirSync(CVS).map((name) => readFileSync(join(CVS, name), 'utf8'));
    const all = text.join('\n').replaceAll(/\s+/g, ' ');
    const before = settledMb();
    const encoder = createTextVectors({ clock: createSystemClock(), log: createSilentLog() });
    whenEnding(() => encoder.close());
    const embed = async (one: string) => {
      const { outcome } = await encoder.embed([one], signal);
      if (outcome !== 'embedded') throw new Error(`the encoder: ${outcome}`);
    };
    const begun = performance.now();
    await embed('first');
    const openedMs = performance.now() - begun;
    const rows = [
      await cost('a title', 40, (at) => embed(TITLES[at % TITLES.length] ?? '')),
      await cost(`a profile of ${PROFILE} characters`, 10, (at) =>
        embed(all.slice(at * 50, at * 50 + PROFILE)),
      ),
      await cost(`a text of ${LONG} characters`, 3, (at) => embed(all.slice(at * 9, at * 9 + LONG))),
    ];
    return [
      ...rows,
      { label: 'the encoder opened, once', value: openedMs, unit: 'ms' },
      {
        label: 'memory that it adds',
        value: Math.max(0, settledMb() - before),
        unit: 'MB',
        aim: { below: 200 },
      },
    ];
  },
};

/** The cores' own time: what else runs on the machine must not count. */
async function cost(label: string, count: number, embed: (at: number) => Promise<void>): Promise<Row> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = process.cpuUsage();
    for (let at = 0; at < count; at += 1) await embed(at);
    const { user, system } = process.cpuUsage(begun);
    times.push((user + system) / 1_000 / count);
  }
  return { label, value: median(times), unit: 'ms', range: [Math.min(...times), Math.max(...times)] };
}

function settledMb(): number {
  Bun.gc(true);
  return process.memoryUsage().rss / 1_000_000;
}
