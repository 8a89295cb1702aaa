import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEmbeddedEngine } from '../../src/domain/documents/embedded-engine.ts';
import type { ParsedCv, ParsedPosting } from '../../src/domain/documents/parsed-document.ts';

export const engine = createEmbeddedEngine();
export const TODAY = { year: 2024, month: 6 };

export function cvText(name: string): string {
  return readFileSync(join(import.meta.dir, '../recorded/cvs', `${name}.txt`), 'utf8');
}

export function postingText(name: string): string {
  return readFileSync(join(import.meta.dir, '../recorded/postings', `${name}.txt`), 'utf8');
}

/** The profile of a recorded CV; a CV that is not taken for one fails its test here. */
export function profileOf(text: string): NonNullable<ParsedCv['profile']> {
  const { profile, document } = engine.parseCv(text, TODAY);
  if (profile === null) throw new Error(`taken for ${document.kind}`);
  return profile;
}

export function postingOf(text: string): NonNullable<ParsedPosting['posting']> {
  const { posting, document } = engine.parsePosting(text);
  if (posting === null) throw new Error(`taken for ${document.kind}`);
  return posting;
}

/** Letters and digits alone, without the words for the signs of an address. */
function squeezed(text: string): string {
  return text
    .toLowerCase()
    .replace(/[([{<] ?(?:at|dot) ?[)\]}>]/g, '')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

interface Noted {
  readonly evidence: readonly { readonly path: string; readonly start: number; readonly end: number }[];
}

/** What is derived from other values of the record, each by a rule of its own. */
const DERIVED =
  /^(?:current_|highest_|total_)|canonical$|countryCode$|network$|username$|employmentType|jobLocationType|work_mode|seniority|baseSalary|monthsOfExperience|datePosted|validThrough/;

/** The values of a record that the text does not have where its evidence points. */
export function unproven(text: string, record: unknown, { evidence }: Noted, path = ''): string[] {
  if (record === null || typeof record === 'number' || DERIVED.test(path)) return [];
  if (typeof record === 'string') {
    const paths = [path, path.replace(/\.\w+$/, ''), `${path}.url`];
    const wanted = /Date$|\.date$/.test(path) ? record.slice(2, 4) : squeezed(record);
    const isProven = evidence.some((one) => {
      const seen = squeezed(text.slice(one.start, one.end));
      // Of a value over several lines of a column its first line is the place.
      return paths.includes(one.path) && (seen.includes(wanted) || (seen !== '' && wanted.startsWith(seen)));
    });
    return isProven ? [] : [`${path}: ${record}`];
  }
  return Object.entries(record as object).flatMap(([key, value]) => {
    const step = Array.isArray(record) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    return unproven(text, value, { evidence }, step);
  });
}
