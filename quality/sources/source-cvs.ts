import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Month } from '../../src/domain/documents/cv/work.ts';
import { hashOf } from '../../src/domain/documents/text/tokens.ts';
import { FIELDS, type Field, wantedOf } from '../cv-fields.ts';
import { partOf, readLabelledCvs } from '../labelled-cvs.ts';

/**
 * One labelled CV. A field that `values` does not name is not labelled in this CV and is left out of its figures; an empty
 * list says that the CV has none, so that whatever is found is made up.
 */
export interface SourceCv {
  readonly name: string;
  readonly text: string;
  readonly values: Readonly<Partial<Record<Field, readonly string[]>>>;
  /** Months of work, each counted once; null or missing where the labels do not say. */
  readonly months?: number | null;
  /** What "present" means in this CV, as `2021-06`; 2020-01 where it is missing. */
  readonly today?: string;
}

export interface Source {
  readonly name: string;
  /** The CVs that may be looked at, one by one, while rules are written. */
  readonly look: readonly SourceCv[];
  /** The CVs of which only figures are printed. */
  readonly report: readonly SourceCv[];
}

/** Every folder of FOLDER that has a `cvs.jsonl`, and the labelled CVs that the linear tagger was trained on. */
export function readSources(folder: string): Source[] {
  const sources = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'cvs.jsonl')))
    .map(({ name }) => split(name, readCvs(join(folder, name, 'cvs.jsonl'))))
    .sort((one, other) => one.name.localeCompare(other.name));
  const trainedOn = join(folder, 'cv-entities', 'cvs.zip');
  return existsSync(trainedOn) ? [...sources, trainingFamily(trainedOn)] : sources;
}

export function readCvs(file: string): SourceCv[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as SourceCv);
}

/** By the hash of the name alone, so that a CV never changes its part: a third to look at, the rest to report. */
function split(name: string, cvs: readonly SourceCv[]): Source {
  const isOpen = (cv: SourceCv) => (hashOf(cv.name) >>> 8) % 3 === 0;
  return { name, look: cvs.filter(isOpen), report: cvs.filter((cv) => !isOpen(cv)) };
}

/** Their third part, of which nothing was learnt; it is of the same family as what was learnt from. */
function trainingFamily(zipFile: string): Source {
  const cvs = readLabelledCvs(zipFile).map((cv) => ({
    part: partOf(cv.name),
    name: cv.name,
    text: cv.text,
    values: Object.fromEntries(
      FIELDS.map((field) => [field, wantedOf(cv, field)] as const).filter(([, wanted]) => wanted.length > 0),
    ),
  }));
  return {
    name: 'cv-entities (the family of the training set)',
    look: cvs.filter(({ part }) => part === 'choose'),
    report: cvs.filter(({ part }) => part === 'report'),
  };
}

export function todayOf({ today = '2020-01' }: SourceCv): Month {
  const [year = 2020, month = 1] = today.split('-').map(Number);
  return { year, month };
}
