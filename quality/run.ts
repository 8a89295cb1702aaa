/**
 * `npm run quality -- FOLDER`: what the embedded engine finds in the documents of FOLDER, beside what one line of code
 * finds. FOLDER/cv-entities/cvs.zip holds CVs with labels, FOLDER/job-skills/dev.json sentences of postings,
 * FOLDER/matches jobs, CVs and judgements (`npm run quality -- quality` has one); each is measured where it is there. Only the part of the CVs that nothing was tuned on is reported.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createEmbeddedEngine } from '../src/domain/documents/embedded-engine.ts';
import { BASELINES, FIELDS, type Field, foundOf, wantedOf } from './cv-fields.ts';
import { partOf, readLabelledCvs } from './labelled-cvs.ts';
import { measureMatches } from './match-ranking.ts';
import { measurePostingSkills } from './posting-skills.ts';
import { compare, figuresOf, isNear, isSame, type Tally } from './score.ts';

const folder = process.argv[2];
if (folder === undefined || !existsSync(folder)) {
  console.error(
    'usage: npm run quality -- FOLDER, a folder with cv-entities/cvs.zip, job-skills/dev.json or matches',
  );
  process.exit(2);
}
const cvs = join(folder, 'cv-entities', 'cvs.zip');
const sentences = join(folder, 'job-skills', 'dev.json');
if (existsSync(cvs)) measureCvs(cvs);
if (existsSync(sentences)) measureSentences(sentences);
const matches = join(folder, 'matches');
if (existsSync(matches)) for (const line of await measureMatches(matches)) console.log(line);
if (![cvs, sentences, matches].some((path) => existsSync(path))) {
  console.error(`${folder} has neither cv-entities/cvs.zip nor job-skills/dev.json nor matches`);
  process.exit(1);
}

function measureCvs(zipFile: string): void {
  const engine = createEmbeddedEngine();
  const reported = readLabelledCvs(zipFile).filter(({ name }) => partOf(name) === 'report');
  const tallies = new Map<Field, FieldTallies>();
  for (const field of FIELDS) tallies.set(field, emptyTallies());
  let refused = 0;
  const startedMs = performance.now();
  const profiles = reported.map(({ text }) => engine.parseCv(text, { year: 2020, month: 1 }).profile);
  const tookMs = performance.now() - startedMs;
  reported.forEach((cv, at) => {
    const profile = profiles[at] ?? null;
    if (profile === null) refused++;
    for (const field of FIELDS) {
      const into = tallies.get(field);
      const wanted = wantedOf(cv, field);
      if (into === undefined) continue;
      compare(into.same, wanted, foundOf(profile, field), isSame);
      compare(into.near, wanted, foundOf(profile, field), isNear);
      compare(into.rule, wanted, BASELINES[field](cv.text), isNear);
      // A CV in which nobody marked a field may have one all the same: the second figure leaves such CVs out.
      if (wanted.length > 0) compare(into.marked, wanted, foundOf(profile, field), isNear);
    }
  });
  console.log(`${reported.length} CVs that nothing was tuned on; ${refused} of them not taken for CVs`);
  console.log(`${((1000 * reported.length) / tookMs).toFixed(0)} CVs a second on this machine, one core\n`);
  row('field', 'labels', 'F1 near', 'precision', 'recall', 'F1 equal', 'marked CVs', 'one-line rule');
  for (const field of FIELDS) {
    const { same, near, rule, marked } = tallies.get(field) ?? emptyTallies();
    const figures = figuresOf(near);
    row(
      field,
      String(figures.wanted),
      ...[
        figures.f1,
        figures.precision,
        figures.recall,
        figuresOf(same).f1,
        figuresOf(marked).f1,
        figuresOf(rule).f1,
      ].map(plainFigure),
    );
  }
}

function measureSentences(file: string): void {
  const { exact, touching, listed, listedTouching, baseline } = measurePostingSkills(file);
  console.log('\nskills and knowledge in sentences of postings');
  row('spans', 'labels', 'F1', 'precision', 'recall');
  for (const [name, one] of [
    ['equal', exact],
    ['touching', touching],
    ['word list, equal', listed],
    ['word list, touching', listedTouching],
    ['one-line rule, equal', baseline],
  ] as const) {
    const { wanted, f1, precision, recall } = figuresOf(one);
    row(name, String(wanted), plainFigure(f1), plainFigure(precision), plainFigure(recall));
  }
}

interface FieldTallies {
  readonly same: Tally;
  readonly near: Tally;
  readonly marked: Tally;
  readonly rule: Tally;
}

function emptyTallies(): FieldTallies {
  return { same: tally(), near: tally(), marked: tally(), rule: tally() };
}

function tally(): Tally {
  return { right: 0, extra: 0, missed: 0 };
}

function plainFigure(value: number): string {
  return value.toFixed(3);
}

function row(first: string, ...cells: readonly string[]): void {
  console.log(
    `${first.padEnd(22)}${cells.map((cell) => cell.padStart(Math.max(10, cell.length + 2))).join('')}`,
  );
}
