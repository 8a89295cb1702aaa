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
