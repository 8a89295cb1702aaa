/**
 * `bun quality/match-weights.ts FOLDER…` learns what the parts of a score weigh from judged pairs and prints it: for
 * `DEFAULT_WEIGHTS` (src/domain/matching/weights.ts) and `SHARES` (scoring/score-pair.ts). Each folder, and each folder in it
 * that has jobs, CVs and judgements, is a source (quality/match-ranking.ts has their form).
 *
 * What is made as large as possible is the mean over the sources of the logarithm of MAP by BM25's MAP: no source counts more
 * because it has more pairs or is easier, and one on which BM25 is poor does not decide for the others (`MOST_GAIN`). Weights are tried one after the other, from a fixed list of values and a fixed start,
 * until none of them helps: the same folders give the same weights. Then each source is left out in turn, weights are learnt
 * from the others, and it is measured with them; only that says what to expect of texts that nothing was learnt from.
 *
 * No judgement says anything about places, languages and degrees, so their weights are no lower than the least of the list.
 */
import { type Shares, scoreOf } from '../src/domain/matching/scoring/score-pair.ts';
import { PARTS, type Weights } from '../src/domain/matching/weights.ts';
import { type JudgedSource, judgedFolders, readJudged } from './match-folder.ts';
import { meanPrecision, openVectors } from './match-ranking.ts';

/** The weights in the order of PARTS, then the two shares. */
type Setting = readonly number[];

const TRIED: readonly (readonly number[])[] = [
  [4, 8, 12, 16, 24, 32],
  [4, 8, 12, 16, 24, 32],
  [4, 8, 12],
  [4, 8],
  [4, 8, 12],
  [4, 8],
  [16, 32, 48, 64, 80],
  [0.2, 0.3, 0.4, 0.5, 0.6, 0.8],
  [0.5, 0.7, 0.9, 1],
];
const START: Setting = [16, 16, 8, 4, 4, 4, 48, 0.4, 0.9];
/** What helps by less is taken for chance. */
const LEAST_GAIN = 0.002;
/** Of a source: half as much again as BM25 is as good as more. */
const MOST_GAIN = Math.log(1.5);

interface Learnable extends JudgedSource {
  readonly bm25: number;
}

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.error('usage: bun quality/match-weights.ts FOLDER…');
  process.exit(2);
}
const { embed, close } = openVectors();
const sources: Learnable[] = [];
for (const [name, path] of folders.flatMap(judgedFolders)) {
  const source = await readJudged(name, path, embed);
  sources.push({ ...source, bm25: meanPrecision(source.queries, (document) => document.bm25) });
}
await close();

const learnt = learn(sources);
console.log('learnt from all of them:', worded(learnt));
console.log(`${'source'.padEnd(28)}${'BM25'.padStart(8)}${'learnt'.padStart(8)}${'left out'.padStart(10)}`);
for (const source of sources) {
  const others = learn(sources.filter((one) => one !== source));
  const figures = [precisionOf(source, learnt), precisionOf(source, others)];
  const cells = figures.map((figure) => figure.toFixed(3));
  const ratio = `${(100 * ((figures[1] ?? 0) / source.bm25 - 1)).toFixed(0)} %`;
  console.log(
    `${source.name.padEnd(28)}${source.bm25.toFixed(3).padStart(8)}${cells.map((cell) => cell.padStart(9)).join('')}  ${ratio} over BM25 with ${worded(others)}`,
  );
}

function learn(from: readonly Learnable[]): Setting {
  let [best, gain] = [START, gainOf(from, START)];
  for (let isBetter = true; isBetter; ) {
    isBetter = false;
    for (const [at, values] of TRIED.entries()) {
      for (const value of values) {
        const other = best.with(at, value);
        const own = gainOf(from, other);
        if (own > gain + LEAST_GAIN) [best, gain, isBetter] = [other, own, true];
      }
    }
  }
  return best;
}

function gainOf(from: readonly Learnable[], setting: Setting): number {
  const gains = from.map((source) =>
    Math.min(MOST_GAIN, Math.log(precisionOf(source, setting) / source.bm25)),
  );
  return gains.reduce((sum, one) => sum + one, 0) / gains.length;
}

function precisionOf(source: Learnable, setting: Setting): number {
  const { weights, shares } = read(setting);
  return meanPrecision(source.queries, ({ pair }) =>
    pair === null ? -1 : scoreOf(pair, weights, shares).score,
  );
}

function read(setting: Setting): { readonly weights: Weights; readonly shares: Shares } {
  const weights = Object.fromEntries(PARTS.map((part, at) => [part, setting[at] ?? 0])) as unknown as Weights;
  const [words = 0, withoutReadMusts = 0] = setting.slice(PARTS.length);
  return { weights, shares: { words, withoutReadMusts } };
}

function worded(setting: Setting): string {
  const { weights, shares } = read(setting);
  const sum = PARTS.reduce((total, part) => total + weights[part], 0);
  const parts = PARTS.map((part) => `${part} ${Math.round((100 * weights[part]) / sum)}`);
  return `${parts.join(', ')}; words ${shares.words}, without read must-haves ${shares.withoutReadMusts}`;
}
