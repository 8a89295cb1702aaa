/**
 * `npm run quality -- FOLDER`: what the embedded engine finds in the labelled documents of FOLDER, by source and with 95 %
 * intervals. FOLDER/SOURCE/cvs.jsonl holds CVs of one source (`quality/sources/convert.ts` writes it from public sets),
 * FOLDER/cv-entities/cvs.zip the CVs of the training set's family, FOLDER/job-skills/dev.json sentences of postings, FOLDER/postings
 * labelled postings, FOLDER/matches jobs, CVs and judgements (`npm run quality -- quality` has both); each is measured where it is there.
 *
 * Two thirds of each source are reported. The other third may be looked at while rules are written: `--look` prints its
 * figures, `--errors FIELD` what was missed and made up in it. Processor time and memory of reading come last.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createTokenScores } from '../src/adapters/networks/token-scores.ts';
import { createEmbeddedEngine } from '../src/domain/documents/embedded-engine.ts';
import { measureMatches } from './match-ranking.ts';
import { answerLines } from './model-answers/measure-answers.ts';
import { measurePostingSkills } from './posting-skills.ts';
import { reportPostings } from './postings/report.ts';
import { figuresOf } from './score.ts';
import type { Interval } from './sources/intervals.ts';
import { measureSource, type Reader, type SourceFigures } from './sources/measure-sources.ts';
import { readSources } from './sources/source-cvs.ts';

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: {
    look: { type: 'boolean' },
    errors: { type: 'string' },
    source: { type: 'string' },
    reader: { type: 'string' },
  },
});
const tokenScores = createTokenScores({ onUnavailable: (reason) => console.error(reason) });
const folder = positionals[0];
if (folder === undefined || !existsSync(folder)) {
  console.error(
    'usage: npm run quality -- FOLDER [--source NAME] [--look] [--errors FIELD], a folder with SOURCE/cvs.jsonl, cv-entities/cvs.zip, job-skills/dev.json, postings or matches',
  );
  process.exit(2);
}
const sources = readSources(folder).filter(
  ({ name }) => options.source === undefined || name === options.source,
);
const isLook = options.look === true || options.errors !== undefined;
for (const reader of readers()) await measureCvs(reader);
const sentences = join(folder, 'job-skills', 'dev.json');
const matches = join(folder, 'matches');
const postings = join(folder, 'postings');
const answers = join(folder, 'model-answers', 'answers.jsonl');
const isWhole = options.source === undefined && !isLook;
if (isWhole && existsSync(sentences)) await measureSentences(sentences);
if (options.source === undefined && existsSync(postings)) await measurePostingSets();
if (isWhole && existsSync(answers)) for (const line of answerLines(folder)) console.log(line);
if (isWhole && existsSync(matches)) for (const line of await measureMatches(matches)) console.log(line);
if (isWhole && sources.length > 0) printFootprint();
if (sources.length === 0 && ![sentences, postings, matches].some(existsSync)) {
  console.error(
    `${folder} has no SOURCE/cvs.jsonl, cv-entities/cvs.zip, job-skills/dev.json, postings or matches`,
  );
  process.exit(1);
}

/** In a process of its own, which has nothing else in its memory. */
function printFootprint(): void {
  const { stdout, stderr } = Bun.spawnSync([process.execPath, join(import.meta.dir, 'footprint.ts')]);
  console.log(`${stdout.toString()}${stderr.toString()}`.trimEnd());
}

/** The ways of reading that are measured beside one another. */
function readers(): Reader[] {
  const engine = createEmbeddedEngine({ tokenScores });
  const all: readonly Reader[] = [
    { name: 'linear tagger', read: (text, today) => engine.parseCv(text, today) },
    { name: 'linear tagger and network', read: (text, today) => engine.readCv(text, today) },
  ];
  return all.filter(({ name }) => options.reader === undefined || name === options.reader);
}

async function measureCvs(reader: Reader): Promise<void> {
  for (const source of sources) {
    const figures = await measureSource(source, isLook ? 'look' : 'report', reader);
    if (options.errors === undefined) printFigures(figures);
    else printErrors(figures, options.errors);
  }
  if (sources.length > 0) {
    Bun.gc(true);
    const megabytes = Math.round(process.memoryUsage().rss / 1_000_000);
    console.log(
      `\n${reader.name}: ${megabytes} MB held by this process, the sources and their records among them`,
    );
  }
}

function printFigures({ source, reader, cvs, refused, msPerCv, characters, fields }: SourceFigures): void {
  const part = isLook ? 'that may be looked at' : 'that are only reported';
  console.log(`\n${source}, ${reader}: ${cvs} CVs ${part}, ${refused} of them not taken for CVs`);
  console.log(
    `${msPerCv.toFixed(1)} ms of one core for a CV of ${Math.round(characters).toLocaleString('en')} characters\n`,
  );
  if (fields.length === 0) return;
  row('field', 'labels', 'F1 equal', '95 %', 'precision', 'recall', 'F1 near', '95 %', 'one-line rule');
  for (const { field, labels, strict, precision, recall, near, rule } of fields) {
    const name = field === 'months' ? 'months (share right)' : field;
    row(
      name,
      String(labels),
      plainFigure(strict.value),
      range(strict),
      plainFigure(precision),
      plainFigure(recall),
      plainFigure(near.value),
      range(near),
      field === 'months' ? '–' : plainFigure(rule),
    );
  }
}

function printErrors({ source, errors }: SourceFigures, wanted: string): void {
  for (const { cv, field, missed, extra } of errors) {
    if (field !== wanted) continue;
    console.log(`${source} ${cv}: missed ${JSON.stringify(missed)} made up ${JSON.stringify(extra)}`);
  }
}

async function measurePostingSets(): Promise<void> {
  const engine = createEmbeddedEngine({ tokenScores });
  const reader = { name: 'embedded engine', read: (text: string) => engine.readPosting(text) };
  const part = isLook ? 'look' : 'report';
  for (const line of await reportPostings(postings, [reader], { part, errors: options.errors }))
    console.log(line);
}

async function measureSentences(file: string): Promise<void> {
  const tallies = await measurePostingSkills(file, tokenScores);
  const { exact, touching, networkExact, networkTouching, listed, listedTouching, baseline } = tallies;
  console.log('\nskills and knowledge in sentences of postings');
  row('spans', 'labels', 'F1', 'precision', 'recall');
  for (const [name, one] of [
    ['equal', exact],
    ['touching', touching],
    ['with network, equal', networkExact],
    ['with network, touching', networkTouching],
    ['word list, equal', listed],
    ['word list, touching', listedTouching],
    ['one-line rule, equal', baseline],
  ] as const) {
    const { wanted, f1, precision, recall } = figuresOf(one);
    row(name, String(wanted), plainFigure(f1), plainFigure(precision), plainFigure(recall));
  }
}

function plainFigure(value: number): string {
  return value.toFixed(3);
}

function range({ low, high }: Interval): string {
  return `${low.toFixed(2)}–${high.toFixed(2)}`;
}

function row(first: string, ...cells: readonly string[]): void {
  console.log(
    `${first.padEnd(22)}${cells.map((cell) => cell.padStart(Math.max(11, cell.length + 2))).join('')}`,
  );
}
