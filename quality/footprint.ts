/**
 * What a process costs that reads CVs with the network beside the linear tagger and embeds what matching compares:
 * processor time of one core for a CV of 5,000 characters, and the memory of the process with both networks open. `npm run quality` starts
 * it as a process of its own, so that the labelled documents are not in its memory; `bun quality/footprint.ts` prints it alone. The CVs are
 * synthetic: the same on every machine.
 */
import { createTokenScores } from '../src/adapters/networks/token-scores.ts';
import { createEmbeddedEngine } from '../src/domain/documents/embedded-engine.ts';
import { openVectors } from './match-ranking.ts';
import { syntheticCv } from './synthetic/cv.ts';

const CHARACTERS = 5_000;
const CVS = 20;
const TODAY = { year: 2026, month: 11 };
/** What matching embeds of a talent. */
const PROFILE = 1_200;
const MOST_MS = 300;
const MOST_MB = 350;

interface Footprint {
  readonly linearMs: number;
  readonly networkMs: number;
  readonly embedMs: number;
  readonly megabytes: number;
}

async function measured(): Promise<Footprint> {
  const texts = cvTexts();
  const tokenScores = createTokenScores({
    onUnavailable: (reason) => {
      throw new Error(reason);
    },
  });
  const engine = createEmbeddedEngine({ tokenScores });
  const vectors = openVectors();
  try {
    const linearMs = await perText(texts, (text) => engine.parseCv(text, TODAY));
    const networkMs = await perText(texts, (text) => engine.readCv(text, TODAY));
    const embedMs = await perText(texts, (text) => vectors.embed([text.slice(0, PROFILE)]));
    Bun.gc(true);
    return { linearMs, networkMs, embedMs, megabytes: process.memoryUsage().rss / 1_000_000 };
  } finally {
    await vectors.close();
  }
}

/** English CVs, each cut at 5,000 characters; shorter ones are left out. */
function cvTexts(): string[] {
  const texts: string[] = [];
  for (let seed = 1; texts.length < CVS; seed++) {
    const { text, language } = syntheticCv(seed);
    if (language === 'en' && text.length >= CHARACTERS) texts.push(text.slice(0, CHARACTERS));
  }
  return texts;
}

/** The median of the cores' own time; the first text warms up and does not count. */
async function perText(texts: readonly string[], read: (text: string) => unknown): Promise<number> {
  const times: number[] = [];
  for (const text of [texts[0] ?? '', ...texts]) {
    const begun = process.cpuUsage();
    await read(text);
    const { user, system } = process.cpuUsage(begun);
    times.push((user + system) / 1000);
  }
  const sorted = times.slice(1).sort((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? 0;
}

const { linearMs, networkMs, embedMs, megabytes } = await measured();
console.log(`\none process with both networks, CVs of ${CHARACTERS.toLocaleString('en')} characters`);
console.log(`reading, linear tagger alone    ${linearMs.toFixed(0)} ms of one core`);
console.log(`reading, with the network       ${networkMs.toFixed(0)} ms of one core (aim: below ${MOST_MS})`);
console.log(`embedding ${PROFILE.toLocaleString('en')} characters      ${embedMs.toFixed(0)} ms of one core`);
console.log(`memory of the process           ${megabytes.toFixed(0)} MB (aim: below ${MOST_MB})`);
process.exit(0);
