/**
 * `bun quality/sources/convert.ts FORMAT INPUT OUTPUT`: writes labelled CVs of a public set as the lines that
 * `npm run quality` reads. Put OUTPUT at FOLDER/SOURCE/cvs.jsonl. docs/quality.md names the sets. Nothing of them belongs in
 * the repository.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readCompletelyLabelled } from './complete-labels.ts';
import { readDataturks } from './dataturks.ts';
import { readJsonResumes, readUnlabelled } from './json-resumes.ts';
import { agreementOf } from './label-agreement.ts';
import { readLabelStudio, readPassages } from './marked-spans.ts';
import type { SourceCv } from './source-cvs.ts';

const FORMATS: Readonly<Record<string, (input: string) => Promise<SourceCv[]> | SourceCv[]>> = {
  dataturks: readDataturks,
  'label-studio': readLabelStudio,
  passages: readPassages,
  'json-resume': readJsonResumes,
  unlabelled: readUnlabelled,
  complete: readCompletelyLabelled,
};

const [format = '', input, output] = process.argv.slice(2);
const read = FORMATS[format];
if (read === undefined || input === undefined || output === undefined) {
  console.error(
    `usage: bun quality/sources/convert.ts FORMAT INPUT OUTPUT, FORMAT one of ${Object.keys(FORMATS).join(', ')}`,
  );
  process.exit(2);
}
const cvs = await read(input);
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, cvs.map((cv) => `${JSON.stringify(cv)}\n`).join(''));
const counts = new Map<string, number>();
for (const { values, months } of cvs) {
  for (const field of Object.keys(values)) counts.set(field, (counts.get(field) ?? 0) + 1);
  if (months != null) counts.set('months', (counts.get('months') ?? 0) + 1);
}
console.log(
  `${cvs.length} CVs; labelled in: ${[...counts].map(([field, count]) => `${field} ${count}`).join(', ')}`,
);

const agreement = format === 'complete' ? agreementOf(input) : null;
if (agreement !== null) {
  console.log(`\nF1 of two labellers of ${agreement.cvs} CVs, one against the other`);
  for (const { field, labels, strict, near } of agreement.fields) {
    const range = `${strict.low.toFixed(2)}–${strict.high.toFixed(2)}`;
    console.log(
      `${field.padEnd(10)} ${labels.join(' and ')} labels, equal ${strict.value.toFixed(3)} (${range}), near ${near.value.toFixed(3)}`,
    );
  }
}
