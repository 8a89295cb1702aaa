/**
 * `bun quality/word-rarity.ts FOLDER OCCUPATIONS` counts how many documents have each word, and writes the list that
 * matching knows and weighs words by (src/domain/matching/facts/word-rarity.json). FOLDER/cv-entities/cvs.zip and
 * FOLDER/job-skills/train.json as for `npm run quality`; CVs that are only reported are left out. OCCUPATIONS holds the
 * tables "Occupation Data.txt", "Task Statements.txt" and "Technology Skills.txt" of O*NET and `occupations_en.csv` of ESCO:
 * descriptions of work, in which no person and hardly a place is named. The same folders give the same list.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import names from '../src/domain/documents/words/names.json' with { type: 'json' };
import places from '../src/domain/documents/words/places.json' with { type: 'json' };
import skills from '../src/domain/documents/words/skills.json' with { type: 'json' };
import { stemsIn } from '../src/domain/matching/facts/words.ts';
import { partOf, readLabelledCvs } from './labelled-cvs.ts';

const [folder, occupations] = process.argv.slice(2);
if (folder === undefined || occupations === undefined) {
  console.error('usage: bun quality/word-rarity.ts FOLDER OCCUPATIONS');
  process.exit(2);
}
/** A word of CVs and postings in fewer documents may be a name. */
const FEWEST_DOCUMENTS = 8;
const FEWEST_OCCUPATIONS = 3;
/** Of a word that is also the name of a person or a place: a baker, a mason. */
const FEWEST_OF_A_NAME = 6;
const STEPS = 9;
/** A word of one document in a hundred weighs as much as any. */
const RARE = 1 / 100;

const cvs = readLabelledCvs(join(folder, 'cv-entities', 'cvs.zip')).filter(
  ({ name }) => partOf(name) !== 'report',
);
const postings = postingsOf(join(folder, 'job-skills', 'train.json'));
const onet = onetOccupations(occupations);
const esco = escoOccupations(readFileSync(join(occupations, 'occupations_en.csv'), 'utf8'));
const inCvs = documentsWith(cvs.map(({ text }) => text));
const inPostings = documentsWith(postings);
const inOnet = documentsWith(onet);
const inEsco = documentsWith(esco);
const tools = documentsWith(table(occupations, 'Technology Skills.txt').map((row) => row[1] ?? ''));
const known = documentsWith(stringsIn(skills));
const unsure = documentsWith([...stringsIn(names), ...stringsIn(places)]);

const byLevel = new Map<number, string[]>();
const all = [inCvs, inPostings, inOnet, inEsco, tools, known].flatMap((counts) => [...counts.keys()]);
for (const word of [...new Set(all)].sort()) {
  const [ofCvs, ofPostings] = [inCvs.get(word) ?? 0, inPostings.get(word) ?? 0];
  const [ofOnet, ofEsco] = [inOnet.get(word) ?? 0, inEsco.get(word) ?? 0];
  const ofWork = Math.max(ofOnet + ofEsco, tools.get(word) ?? 0);
  const isWork = ofWork >= (unsure.has(word) ? FEWEST_OF_A_NAME : FEWEST_OCCUPATIONS) || known.has(word);
  const isSaid = ofCvs + ofPostings >= FEWEST_DOCUMENTS && !unsure.has(word);
  if (!isWork && !isSaid) continue;
  // Half by CVs, half by postings, however many there are of each; and by occupations, where that is more.
  const said = (ofCvs / cvs.length + ofPostings / postings.length) / 2;
  const share = Math.max(said, (ofOnet / onet.length + ofEsco / esco.length) / 2);
  const level = share === 0 ? STEPS : Math.min(STEPS, Math.round((STEPS * Math.log(share)) / Math.log(RARE)));
  byLevel.set(level, [...(byLevel.get(level) ?? []), word]);
}
const list = Object.fromEntries(
  [...byLevel].sort(([one], [other]) => one - other).map(([level, words]) => [level, words.join(' ')]),
);
const file = join(import.meta.dir, '../src/domain/matching/facts/word-rarity.json');
writeFileSync(file, `${JSON.stringify(list, null, 2)}\n`);
console.log(
  `${[...byLevel.values()].flat().length} words of ${cvs.length} CVs, ${postings.length} postings and ${onet.length + esco.length} occupations`,
);

function documentsWith(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const word of stemsIn(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/** Every text of a word list, however deep it lies. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
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

/** Its title, description and tasks are one document. */
function onetOccupations(from: string): readonly string[] {
  const texts = new Map<string, string>();
  const add = (code = '', ...words: readonly (string | undefined)[]) =>
    texts.set(code, [texts.get(code) ?? '', ...words].join('\n'));
  for (const [code, title, description] of table(from, 'Occupation Data.txt')) add(code, title, description);
  for (const [code, , task] of table(from, 'Task Statements.txt')) add(code, task);
  return [...texts.values()];
}

function table(from: string, name: string): readonly (readonly string[])[] {
  const rows = readFileSync(join(from, name), 'utf8').split('\n').slice(1);
  return rows.filter((row) => row.trim() !== '').map((row) => row.split('\t'));
}

/** Labels, other labels and the description are one document; a row may go over several lines. */
function escoOccupations(csv: string): readonly string[] {
  return csv
    .split(/^(?=Occupation,)/m)
    .slice(1)
    .map((row) => row.replace(/^Occupation,|,released,[^,]*,|https?:\S+/g, ' '));
}
