/**
 * `bun quality/sources/place-labels.ts LABELS FOLDER/SOURCE/cvs.jsonl OUTPUT`: turns labels that people wrote as values into places in
 * the texts, so that OUTPUT (quality/complete/SOURCE.json) says where they are and not what they are. LABELS has a file NAME.json a CV,
 * a list of values a field, each of them a literal piece of the text; a blank stands for any white space. CVs that OUTPUT has and LABELS
 * has not keep their places.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FIELDS, type Field } from '../cv-fields.ts';
import { type CompleteLabels, shortHash } from './complete-labels.ts';
import { readCvs, type SourceCv } from './source-cvs.ts';

/** What is wrong with the labels is said for all CVs at once. */
export function placeLabels(folder: string, cvs: readonly SourceCv[]): Record<string, CompleteLabels> {
  const wrong: string[] = [];
  const placed: Record<string, CompleteLabels> = {};
  for (const file of readdirSync(folder).sort()) {
    const name = file.replace(/\.json$/, '');
    const cv = cvs.find((one) => one.name === name);
    if (cv === undefined) {
      wrong.push(`${name} is not in the set`);
      continue;
    }
    const labels: Record<string, readonly string[]> = JSON.parse(readFileSync(join(folder, file), 'utf8'));
    const fields: Partial<Record<Field, string>> = {};
    for (const [field, values] of Object.entries(labels)) {
      if (!isField(field)) {
        wrong.push(`${name}: ${field} is no field`);
        continue;
      }
      const spans = values.map((value) => spanOf(cv.text, value));
      values.forEach((value, at) => {
        if (spans[at] === null) wrong.push(`${name}, ${field}: the text does not have "${value}"`);
      });
      fields[field] = inOrder(spans.filter((span) => span !== null));
    }
    placed[shortHash(name)] = { text: shortHash(cv.text), ...fields };
  }
  if (wrong.length > 0) throw new Error(`Labels cannot be placed:\n${wrong.join('\n')}`);
  return placed;
}

interface Span {
  readonly start: number;
  readonly length: number;
}

/** The first place where the value stands by itself, or else the first one inside of a word. */
function spanOf(text: string, value: string): Span | null {
  const words = value.split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return null;
  const pattern = words.map((word) => RegExp.escape(word)).join('\\s+');
  const match =
    new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])`, 'u').exec(text) ??
    new RegExp(pattern, 'u').exec(text);
  return match === null ? null : { start: match.index, length: match[0].length };
}

function inOrder(spans: readonly Span[]): string {
  const sorted = [...spans].sort((one, other) => one.start - other.start || one.length - other.length);
  return [...new Set(sorted.map(({ start, length }) => `${start}+${length}`))].join(' ');
}

function isField(name: string): name is Field {
  return FIELDS.some((field) => field === name);
}

if (import.meta.main) {
  const [folder, set, output] = process.argv.slice(2);
  if (folder === undefined || set === undefined || output === undefined) {
    console.error('usage: bun quality/sources/place-labels.ts LABELS FOLDER/SOURCE/cvs.jsonl OUTPUT');
    process.exit(2);
  }
  const placed = placeLabels(folder, readCvs(set));
  const before: Record<string, CompleteLabels> = existsSync(output)
    ? JSON.parse(readFileSync(output, 'utf8'))
    : {};
  const all = Object.entries({ ...before, ...placed }).sort(([one], [other]) => (one < other ? -1 : 1));
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
  console.log(`${Object.keys(placed).length} CVs placed, ${all.length} in ${output}`);
}
