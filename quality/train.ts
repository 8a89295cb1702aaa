/**
 * `bun quality/train.ts FOLDER [--choosing]`: trains the tagger of the embedded engine on the tuning part of FOLDER's labelled CVs
 * and writes its weights into the engine; with --choosing a part is left out, to choose on. The same folder gives the same weights, byte for byte.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFeatureReader, MOST_FEATURES } from '../src/domain/documents/tagger/features.ts';
import { firstLabel, LABEL_COUNT, type MentionKind } from '../src/domain/documents/tagger/labels.ts';
import { layOut } from '../src/domain/documents/text/lay-out.ts';
import { type LabelledCv, partOf, readLabelledCvs } from './labelled-cvs.ts';
import { type Example, trainPerceptron } from './perceptron.ts';

const KIND_OF: Readonly<Record<string, MentionKind>> = {
  Name: 'name',
  Designation: 'title',
  'Companies worked at': 'company',
  'College Name': 'school',
  Degree: 'degree',
  Location: 'place',
  'Tech Tools': 'skill',
  'Job Specific Skills': 'skill',
  'Soft Skills': 'skill',
};

const ROUNDS = 8;
/** What is kept of the features, by the size of their weights: the file stays small, and rare features go. */
const KEPT_FEATURES = 11_000;
const LEAST_SEEN = 2;

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: bun quality/train.ts FOLDER');
  process.exit(2);
}
const cvs = readLabelledCvs(join(folder, 'cv-entities', 'cvs.zip')).filter(
  ({ name }) =>
    partOf(name) === 'train' || (partOf(name) === 'choose' && !process.argv.includes('--choosing')),
);
const examples = cvs.flatMap(examplesOf);
console.log(`${cvs.length} CVs, ${examples.length} rows`);
let state = 20_240_501;
const model = trainPerceptron(examples, ROUNDS, () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
});
write();

function examplesOf({ text, spans }: LabelledCv): Example[] {
  const laidOut = layOut(text);
  const reader = createFeatureReader(laidOut);
  const labels = new Int8Array(laidOut.tokens.length);
  for (const { type, start, end } of spans) {
    const kind = KIND_OF[type];
    if (kind === undefined) continue;
    let segment = -1;
    laidOut.tokens.forEach((token, at) => {
      if (token.start < start || token.end > end || token.kind === 'email' || token.kind === 'date') return;
      labels[at] = firstLabel(kind) + (token.segment === segment ? 1 : 0);
      segment = token.segment;
    });
  }
  const into = new Int32Array(MOST_FEATURES * 2);
  return laidOut.segments.flatMap((_, at): Example[] => {
    const [from, to] = [laidOut.tokenStarts[at] ?? 0, laidOut.tokenStarts[at + 1] ?? 0];
    if (to === from) return [];
    const features: Int32Array[] = [];
    for (let token = from; token < to; token++) features.push(into.slice(0, reader.read(token, into)));
    return [{ features, labels: labels.slice(from, to) }];
  });
}

function write(): void {
  const seen = new Map<number, number>();
  for (const { features } of examples)
    for (const one of features) for (const feature of one) seen.set(feature, (seen.get(feature) ?? 0) + 1);
  const kept = [...model]
    .map(([feature, values]) => ({
      feature,
      values,
      size: Math.max(...values.map(Math.abs)) * Math.min(1, Math.log10(1 + (seen.get(feature) ?? 0))),
    }))
    .filter(({ feature }) => (seen.get(feature) ?? 0) >= LEAST_SEEN)
    .sort((one, other) => other.size - one.size || one.feature - other.feature)
    .slice(0, KEPT_FEATURES)
    .sort((one, other) => one.feature - other.feature);
  const steps = [...(model.steps ?? [])];
  const largest = kept.reduce((top, { values }) => Math.max(top, ...values.map(Math.abs)), 0);
  const scale = largest / 127;
  const bytes = new Uint8Array(kept.length * (4 + LABEL_COUNT));
  const view = new DataView(bytes.buffer);
  kept.forEach(({ feature, values }, at) => {
    view.setUint32(at * 4, feature);
    values.forEach((value, label) => {
      view.setInt8(kept.length * 4 + at * LABEL_COUNT + label, Math.round(value / scale));
    });
  });
  const file = join(import.meta.dir, '../src/domain/documents/tagger/weights.json');
  const content = {
    features: kept.length,
    scale: Number(scale.toPrecision(6)),
    steps: steps.map((value) => Number(value.toFixed(2))),
    rows: Buffer.from(bytes).toString('base64'),
  };
  writeFileSync(file, `${JSON.stringify(content)}\n`);
  console.log(
    `${kept.length} of ${model.size} features kept, largest weight ${largest.toFixed(1)}, ${content.rows.length} characters`,
  );
}
