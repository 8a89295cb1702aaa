/**
 * `bun quality/word-rarity.ts FOLDER` counts in how many documents each word stands, and writes the list that matching
 * weighs words by (src/domain/matching/facts/word-rarity.json). FOLDER/cv-entities/cvs.zip and FOLDER/job-skills/train.json as
 * for `npm run quality`; CVs that are only reported are left out. The same folder gives the same list.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wordsOf } from '../src/domain/matching/facts/words.ts';
import { partOf, readLabelledCvs } from './labelled-cvs.ts';

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: bun quality/word-rarity.ts FOLDER');
  process.exit(2);
}
/** A word of fewer documents is taken for rare. */
const FEWEST_DOCUMENTS = 8;
const MOST_WORDS = 100_000;
const STEPS = 9;
/** A word of one document in a hundred weighs as much as any. */
const RARE = 1 / 100;

const cvs = readLabelledCvs(join(folder, 'cv-entities', 'cvs.zip')).filter(
  ({ name }) => partOf(name) !== 'report',
);
const postings = postingsOf(join(folder, 'job-skills', 'train.json'));
const inCvs = documentsWith(cvs.map(({ text }) => text));
const inPostings = documentsWith(postings);
const byLevel = new Map<number, string[]>();
for (const word of [...new Set([...inCvs.keys(), ...inPostings.keys()])].sort()) {
  const [ofCvs, ofPostings] = [inCvs.get(word) ?? 0, inPostings.get(word) ?? 0];
  if (ofCvs + ofPostings < FEWEST_DOCUMENTS) continue;
  // Half by CVs, half by postings, however many there are of each.
  const share = (ofCvs / cvs.length + ofPostings / postings.length) / 2;
  const level = Math.min(STEPS, Math.round((STEPS * Math.log(share)) / Math.log(RARE)));
  if (level < STEPS) byLevel.set(level, [...(byLevel.get(level) ?? []), word]);
}
const list = Object.fromEntries(
  [...byLevel].sort(([one], [other]) => one - other).map(([level, words]) => [level, words.join(' ')]),
);
const file = join(import.meta.dir, '../src/domain/matching/facts/word-rarity.json');
writeFileSync(file, `${JSON.stringify(list, null, 2)}\n`);
console.log(
  `${[...byLevel.values()].flat().length} words of ${cvs.length} CVs and ${postings.length} postings`,
);

function documentsWith(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const word of wordsOf([text], MOST_WORDS)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/** One sentence a line; those of one posting have the same number. Words in angle brackets stand for what was taken out. */
function postingsOf(file: string): readonly string[] {
  const texts = new Map<number, string[]>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line.trim() === '') continue;
    const { idx, tokens } = JSON.parse(line) as { idx: number; tokens: readonly string[] };
    const words = tokens.filter((token) => !token.startsWith('<')).join(' ');
    texts.set(idx, [...(texts.get(idx) ?? []), words]);
  }
  return [...texts.values()].map((lines) => lines.join('\n'));
}
