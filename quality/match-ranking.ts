/**
 * `bun quality/match-ranking.ts [FOLDER] [--queries]`: how well matching orders the CVs of a folder for its jobs, beside
 * BM25 on the same texts, and with `--queries` for each job by itself. FOLDER (quality/matches by default) and each folder in it that has them hold jobs/*.txt, cvs/*.txt and
 * judgements.tsv with lines of job, CV and grade, 0 to 3; a pair without a line is a 0. Each folder is a source and is
 * measured by itself. Where a folder has more jobs than CVs, jobs are ordered for each CV.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { createEmbeddedUpstream } from '../src/adapters/model-upstream/embedded.ts';
import { createTextVectors } from '../src/adapters/networks/text-vectors.ts';
import { meanVector } from '../src/domain/matching/facts/facts.ts';
import { type Comparison, scoreOf } from '../src/domain/matching/scoring/score-pair.ts';
import { DEFAULT_WEIGHTS } from '../src/domain/matching/weights.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { textIn } from '../test/doubles/upstream-body.ts';
import {
  type Embed,
  type JudgedDocument,
  type JudgedQuery,
  type JudgedSource,
  judgedFolders,
  RELEVANT,
  readJudged,
} from './match-folder.ts';
import { averagePrecision, normalisedGain } from './ranking-figures.ts';
import { bounds, shareReaching } from './sources/intervals.ts';

type Scorer = (document: JudgedDocument) => number;

const RANKINGS: readonly (readonly [string, Scorer])[] = [
  ['matching', ofPair((pair) => scoreOf(pair, DEFAULT_WEIGHTS).score)],
  ['matching, no vectors', ofPair((pair) => scoreOf({ ...pair, byVectors: null }, DEFAULT_WEIGHTS).score)],
  ['words of matching alone', ofPair(({ byWords }) => byWords ?? 0)],
  ['BM25 on the texts', ({ bm25 }) => bm25],
];
const bm25: Scorer = (document) => document.bm25;
const GAIN_PLACES = 10;
/** How far matching should be above BM25. */
const AIM = 1.15;

function ofPair(score: (pair: Comparison) => number): Scorer {
  return ({ pair }) => (pair === null ? -1 : score(pair));
}

export async function measureMatches(folder: string, isByQuery = false): Promise<readonly string[]> {
  const { embed, close } = openVectors();
  const lines: string[] = [];
  for (const [name, path] of judgedFolders(folder)) {
    const source = await readJudged(name, path, embed);
    lines.push(...linesOf(source), ...(isByQuery ? queryLines(source) : []));
  }
  await close();
  return lines;
}

export function linesOf({ name, jobs, cvs, refused, isByCv, queries }: JudgedSource): readonly string[] {
  const ordered = isByCv ? 'jobs ordered for each CV' : 'CVs ordered for each job';
  const head = `\nmatches, ${name}: ${jobs} jobs, ${cvs} CVs (${refused} not taken for CVs), ${ordered}, ${queries.length} judged`;
  const columns = ['MAP', '95 %', 'nDCG@10', '95 %', 'MAP / BM25', '95 %', `draws ≥ ${AIM}`];
  const baseline = measured(queries, bm25);
  const rows = RANKINGS.map(([ranking, scorer]) => {
    const own = measured(queries, scorer);
    const precision = interval(own, (draw) => own.precision(draw));
    const gain = interval(own, (draw) => own.gain(draw));
    const ratioOf = (draw: Drawn) => own.precision(draw) / baseline.precision(draw);
    const ratio = [...interval(own, ratioOf), reaching(own, ratioOf)];
    return [ranking.padEnd(24), ...precision, ...gain, ...ratio].map((cell) => cell.padStart(14)).join('');
  });
  return [head, ['ranking'.padEnd(24), ...columns].map((cell) => cell.padStart(14)).join(''), ...rows];
}

/** Of each query: the average precision of matching and of BM25, and how many documents are right for it. */
function queryLines({ queries }: JudgedSource): readonly string[] {
  const scorers = [RANKINGS[0]?.[1] ?? bm25, bm25];
  const rows = queries.map((query) => {
    const figures = scorers.map((scorer) => meanPrecision([query], scorer).toFixed(3));
    const right = query.documents.filter(({ grade }) => grade >= RELEVANT).length;
    return [query.name.padEnd(24), ...figures, String(right)].map((cell) => cell.padStart(14)).join('');
  });
  return [
    ['query'.padEnd(24), 'matching', 'BM25', 'right'].map((cell) => cell.padStart(14)).join(''),
    ...rows,
  ];
}

type Drawn = readonly number[];

/** The figures of a ranking over a drawing of what is drawn: queries, or the documents of the only one. */
interface Measured {
  readonly count: number;
  precision(draw: Drawn): number;
  gain(draw: Drawn): number;
}

/** Everything is scored once; a drawing only picks from it. */
function measured(queries: readonly JudgedQuery[], scorer: Scorer): Measured {
  const [only] = queries;
  if (queries.length === 1 && only !== undefined) {
    const scored = scoredDocuments(only, scorer);
    const grades = (draw: Drawn) => inOrder(draw.flatMap((at) => scored[at] ?? []));
    return {
      count: scored.length,
      precision: (draw) => averagePrecision(grades(draw), RELEVANT),
      gain: (draw) => normalisedGain(grades(draw), GAIN_PLACES),
    };
  }
  const orders = queries.map((query) => inOrder(scoredDocuments(query, scorer)));
  const precisions = orders.map((order) => averagePrecision(order, RELEVANT));
  const gains = orders.map((order) => normalisedGain(order, GAIN_PLACES));
  return {
    count: queries.length,
    precision: (draw) => mean(draw.map((at) => precisions[at] ?? 0)),
    gain: (draw) => mean(draw.map((at) => gains[at] ?? 0)),
  };
}

function interval({ count }: Measured, figure: (draw: Drawn) => number): readonly string[] {
  const all = Array.from({ length: count }, (_, at) => at);
  const { low, high } = bounds(all, (draw) => figure(all.map(draw)));
  return [figure(all).toFixed(3), `${low.toFixed(3)}–${high.toFixed(3)}`];
}

function reaching({ count }: Measured, ratio: (draw: Drawn) => number): string {
  const all = Array.from({ length: count }, (_, at) => at);
  return shareReaching(AIM, all, (draw) => ratio(all.map(draw))).toFixed(3);
}

export function meanPrecision(queries: readonly JudgedQuery[], scorer: Scorer): number {
  return mean(queries.map((query) => averagePrecision(inOrder(scoredDocuments(query, scorer)), RELEVANT)));
}

interface ScoredDocument {
  readonly grade: number;
  readonly score: number;
}

function scoredDocuments({ documents }: JudgedQuery, scorer: Scorer): readonly ScoredDocument[] {
  return documents.map((document) => ({ grade: document.grade, score: scorer(document) }));
}

function inOrder(documents: readonly ScoredDocument[]): readonly number[] {
  return documents.toSorted((one, other) => other.score - one.score).map(({ grade }) => grade);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Of the embedded model, as the embed alias has it without a provider. */
export function openVectors(): { readonly embed: Embed; close(): Promise<void> } {
  const [clock, log] = [createSystemClock(), createSilentLog()];
  const upstream = createEmbeddedUpstream({ clock, log, encoder: createTextVectors({ clock, log }) });
  const target = { id: 'embedded', baseUrl: null, model: 'embedded', apiKey: null };
  return {
    async embed(texts) {
      if (texts.length === 0) return null;
      const body = new TextEncoder().encode(JSON.stringify({ model: 'embedded', input: texts }));
      const { signal } = new AbortController();
      const answer = await upstream.send(target, { endpoint: 'embeddings', body, headers: {}, signal });
      const read = JSON.parse(await textIn(answer.body)) as {
        readonly data: readonly { readonly embedding: readonly number[] }[];
        readonly system_fingerprint?: string | null;
      };
      return meanVector(
        read.system_fingerprint ?? 'embedded',
        read.data.map(({ embedding }) => embedding),
      );
    },
    close: () => upstream.close(),
  };
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { queries: { type: 'boolean' } },
  });
  const folder = positionals[0] ?? join(import.meta.dir, 'matches');
  for (const line of await measureMatches(folder, values.queries)) console.log(line);
}
