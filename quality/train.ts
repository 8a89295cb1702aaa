/**
 * `bun quality/train.ts FOLDER [--choosing]`: trains the taggers of the embedded engine and writes their weights into it.
 * The one for CVs learns from the tuning part of FOLDER/cv-entities/cvs.zip (with --choosing a part of that is left out,
 * to choose on), the one for postings from FOLDER/job-skills/train.json; each is trained where its file is there. The
 * same folder gives the same weights; `npm run format` lays their files out.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CV_KINDS, labelCount, POSTING_KINDS } from '../src/domain/documents/tagger/decode.ts';
import {
  createFeatureReader,
  type FeatureReach,
  MOST_FEATURES,
} from '../src/domain/documents/tagger/features.ts';
import { type LaidOutText, layOut } from '../src/domain/documents/text/layout.ts';
import { type LabelledCv, partOf, readLabelledCvs } from './labelled-cvs.ts';
import { allowedInCv, allowedInSentence } from './labels.ts';
import { type Field, type FieldRow, trainField } from './sequence-field.ts';
import { readSentences, type TaggedSentence } from './tagged-sentences.ts';
import { readWrittenCvs } from './written-cvs.ts';

/** Features of a line before they are numbered. */
interface Example {
  readonly hashes: readonly Int32Array[];
  readonly allowed: Int32Array;
}

const LEAST_SEEN = 2;
/** Runs whose weights are averaged: one model, steadier than each. */
const RUNS = 2;

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: bun quality/train.ts FOLDER [--choosing]');
  process.exit(2);
}
const cvs = join(folder, 'cv-entities', 'cvs.zip');
if (existsSync(cvs) && !process.argv.includes('--postings')) {
  const isChoosing = process.argv.includes('--choosing');
  const chosen = readLabelledCvs(cvs).filter(
    ({ name }) => partOf(name) === 'train' || (partOf(name) === 'choose' && !isChoosing),
  );
  const examples = [
    ...chosen.flatMap((cv) => examplesOfCv(cv, false)),
    ...readWrittenCvs().flatMap((cv) => examplesOfCv(cv, true)),
  ];
  train('cv-weights.json', examples, CV_KINDS, 40_000);
}
const sentences = join(folder, 'job-skills', 'train.json');
if (existsSync(sentences) && !process.argv.includes('--cvs'))
  train('posting-weights.json', readSentences(sentences).flatMap(examplesOfSentence), POSTING_KINDS, 40_000);

function examplesOfCv({ text, spans }: LabelledCv, isComplete: boolean): Example[] {
  const laidOut = layOut(text);
  const allowed = allowedInCv(laidOut, spans, isComplete);
  return linesOf(laidOut, 'document', (at) => allowed[at] ?? 1);
}

function examplesOfSentence(sentence: TaggedSentence): Example[] {
  const laidOut = layOut(sentence.text);
  const allowed = allowedInSentence(laidOut, sentence);
  return linesOf(laidOut, 'line', (at) => allowed[at] ?? 1);
}

function linesOf(laidOut: LaidOutText, reach: FeatureReach, allowedAt: (token: number) => number): Example[] {
  const reader = createFeatureReader(laidOut, reach);
  const into = new Int32Array(MOST_FEATURES);
  return laidOut.segments.flatMap((_, line): Example[] => {
    const [from, to] = [laidOut.tokenStarts[line] ?? 0, laidOut.tokenStarts[line + 1] ?? 0];
    if (to === from) return [];
    const hashes: Int32Array[] = [];
    for (let at = from; at < to; at++) hashes.push(into.slice(0, reader.read(at, into)));
    return [{ hashes, allowed: Int32Array.from(hashes, (__, at) => allowedAt(from + at)) }];
  });
}

function train(
  file: string,
  examples: readonly Example[],
  kinds: readonly string[],
  keptFeatures: number,
): void {
  const seen = new Map<number, number>();
  for (const { hashes } of examples)
    for (const one of hashes) for (const hash of one) seen.set(hash, (seen.get(hash) ?? 0) + 1);
  const numbers = new Map<number, number>();
  for (const [hash, count] of seen) if (count >= LEAST_SEEN) numbers.set(hash, numbers.size);
  const rows: FieldRow[] = examples.map(({ hashes, allowed }) => ({
    features: hashes.map((one) =>
      Int32Array.from(one, (hash) => numbers.get(hash) ?? -1).filter((at) => at >= 0),
    ),
    allowed,
  }));
  const labels = labelCount(kinds);
  let field: Field | null = null;
  for (let run = 1; run <= RUNS; run++) {
    const one = trainField(rows, numbers.size, labels, {
      rounds: 12,
      rate: 0.05,
      shrink: 0.006,
      hidden: 0.5,
      random: sequence(run * 77),
    });
    console.log(`${file}: run ${run} of ${RUNS}, ${rows.length} lines, ${numbers.size} features`);
    field =
      field === null
        ? one
        : { weights: added(field.weights, one.weights), steps: added(field.steps, one.steps) };
  }
  if (field !== null) write(file, field, numbers, seen, labels, keptFeatures);
}

function sequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function added(one: Float32Array, other: Float32Array): Float32Array {
  return one.map((value, at) => value + (other[at] ?? 0));
}

/** What is kept of the features, by the size of their weights: the file stays small, and rare features go. */
function write(
  file: string,
  { weights, steps }: Field,
  numbers: ReadonlyMap<number, number>,
  seen: ReadonlyMap<number, number>,
  labels: number,
  keptFeatures: number,
): void {
  const kept = [...numbers]
    .map(([hash, at]) => {
      const values = weights.subarray(at * labels, (at + 1) * labels).map((value) => value / RUNS);
      const largest = values.reduce((top, value) => Math.max(top, Math.abs(value)), 0);
      return { hash, values, size: largest * Math.min(2, Math.log10(1 + (seen.get(hash) ?? 0))) };
    })
    .sort((one, other) => other.size - one.size || one.hash - other.hash)
    .slice(0, keptFeatures)
    .sort((one, other) => one.hash - other.hash);
  const largest = kept.reduce(
    (top, { values }) => values.reduce((most, value) => Math.max(most, Math.abs(value)), top),
    0,
  );
  const scale = largest / 127;
  const bytes = new Uint8Array(kept.length * (4 + labels));
  const view = new DataView(bytes.buffer);
  kept.forEach(({ hash, values }, at) => {
    view.setUint32(at * 4, hash);
    values.forEach((value, label) => {
      view.setInt8(kept.length * 4 + at * labels + label, Math.round(value / scale));
    });
  });
  const content = {
    features: kept.length,
    scale: Number(scale.toPrecision(6)),
    steps: [...steps].map((value) => Number((value / RUNS).toFixed(3))),
    rows: Buffer.from(bytes).toString('base64'),
  };
  writeFileSync(
    join(import.meta.dir, '../src/domain/documents/tagger', file),
    `${JSON.stringify(content)}\n`,
  );
  console.log(
    `${file}: ${kept.length} features kept, largest weight ${largest.toFixed(2)}, ${content.rows.length} characters`,
  );
}
