import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Field } from '../cv-fields.ts';
import { readCvs, type SourceCv } from './source-cvs.ts';

/** Of one CV: the beginning of its text's SHA-256, and the spans of each field as `start+length`, with blanks between. */
export type CompleteLabels = Readonly<Partial<Record<Field, string>>> & { readonly text: string };

export const LABELS = join(import.meta.dirname, '..', 'complete');

/**
 * The CVs of FOLDER/SOURCE/cvs.jsonl that were labelled anew and completely, with these labels in place of the set's own. The
 * repository has the places of the labels alone (quality/complete), under the hash of the CV's name, because names and texts are of
 * real people. Months stay those of the set.
 */
export function readCompletelyLabelled(file: string, labelsFolder = LABELS): SourceCv[] {
  const labelsFile = join(labelsFolder, `${basename(dirname(file))}.json`);
  if (!existsSync(labelsFile)) throw new Error(`${labelsFile} is not there: no CV of this set is labelled`);
  const labels = JSON.parse(readFileSync(labelsFile, 'utf8')) as Readonly<Record<string, CompleteLabels>>;
  return readCvs(file).flatMap((cv) => {
    const own = labels[shortHash(cv.name)];
    if (own === undefined) return [];
    const { text, ...fields } = own;
    if (text !== shortHash(cv.text))
      throw new Error(`${cv.name} has another text than the one that was labelled: convert the set anew`);
    const values = Object.entries(fields).map(([field, spans]) => [field, valuesAt(cv.text, spans)]);
    return [{ ...cv, values: Object.fromEntries(values) }];
  });
}

function valuesAt(text: string, spans: string): string[] {
  return spans
    .split(' ')
    .filter((span) => span !== '')
    .map((span) => {
      const [start = 0, length = 0] = span.split('+').map(Number);
      return text.slice(start, start + length).replace(/\s+/g, ' ');
    });
}

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
