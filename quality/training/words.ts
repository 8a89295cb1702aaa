/**
 * `bun quality/training/words.ts OUT FOLDER [SYNTHETIC.jsonl …]`: writes what the network learns from, one document a line: its
 * words, their signs (hex, 20 digits a word), and the labels that each word may have, as bits. FOLDER is that of
 * quality/train.ts; a synthetic file is one of quality/synthetic, in which every mention is marked.
 */
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { signsOf } from '../../src/domain/documents/tagger/signs.ts';
import {
  foldedPlace,
  type LaidOutText,
  layOut,
  unfoldColumns,
} from '../../src/domain/documents/text/layout.ts';
import { type LabelledSpan, partOf, readLabelledCvs } from '../labelled-cvs.ts';
import { allowedInCv, allowedInSentence } from '../labels.ts';
import { readSentences } from '../tagged-sentences.ts';
import { readWrittenCvs } from '../written-cvs.ts';

interface TrainingDocument {
  readonly name: string;
  /** `train`, `choose`, `written`, `synthetic` and `sentence`. The reported part of the labelled CVs is left out. */
  readonly part: string;
  readonly words: readonly string[];
  readonly signs: string;
  readonly allowed: readonly number[];
}

interface SyntheticCv {
  readonly text: string;
  readonly language: string;
  readonly spans: readonly { readonly label: string; readonly start: number; readonly end: number }[];
}

const [out, folder, ...synthetic] = process.argv.slice(2);
if (out === undefined || folder === undefined) {
  console.error('usage: bun quality/training/words.ts OUT FOLDER [SYNTHETIC.jsonl …]');
  process.exit(2);
}
const stream = createWriteStream(out);
const counts = new Map<string, number>();
for (const { name, text, spans } of readLabelledCvs(join(folder, 'cv-entities', 'cvs.zip'))) {
  const part = partOf(name);
  if (part !== 'report') write(name, part, text, spans, false);
}
for (const { name, text, spans } of readWrittenCvs()) write(name, 'written', text, spans, true);
for (const file of synthetic.filter((path) => existsSync(path))) {
  for (const [at, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line.trim() === '') continue;
    const { text, language, spans } = JSON.parse(line) as SyntheticCv;
    // Three quarters are English then, as what the reader meets.
    if (language !== 'en' && at % 2 === 1) continue;
    const typed = spans.map(({ label, start, end }) => ({ type: label, start, end }));
    write(`${file}:${at}`, 'synthetic', text, typed, true);
  }
}
for (const [at, sentence] of readSentences(join(folder, 'job-skills', 'train.json')).entries()) {
  const laidOut = layOut(sentence.text);
  writeWords(`sentence:${at}`, 'sentence', laidOut, allowedInSentence(laidOut, sentence));
}
stream.end();
console.log(Object.fromEntries(counts));

/** As the engine reads a CV: columns one after the other. */
function write(
  name: string,
  part: string,
  text: string,
  spans: readonly LabelledSpan[],
  isComplete: boolean,
): void {
  const unfolded = unfoldColumns(text);
  const laidOut = layOut(unfolded.text);
  const placeOf = (start: number, end: number) => foldedPlace(unfolded, start, end);
  writeWords(name, part, laidOut, allowedInCv(laidOut, spans, isComplete, placeOf));
}

function writeWords(name: string, part: string, laidOut: LaidOutText, allowed: Int32Array): void {
  const words = laidOut.tokens.map(({ text }) => text);
  if (words.length === 0) return;
  counts.set(part, (counts.get(part) ?? 0) + 1);
  const signs = hexOf(signsOf(laidOut, words.length));
  const document: TrainingDocument = { name, part, words, signs, allowed: [...allowed] };
  stream.write(`${JSON.stringify(document)}\n`);
}

function hexOf(signs: Uint8Array): string {
  const bytes = new Uint8Array(signs.length / 8);
  signs.forEach((sign, at) => {
    if (sign === 1) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (128 >> (at & 7));
  });
  return bytes.toHex();
}
