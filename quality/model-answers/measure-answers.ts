import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkCv, checkPosting } from '../../src/domain/documents/model/check-answer.ts';
import { readModelCv, readModelPosting } from '../../src/domain/documents/model/extract-answer.ts';
import type { CvProfile, Posting } from '../../src/domain/documents/parsed-document.ts';
import { type Field, foundOf } from '../cv-fields.ts';
import {
  type LabelledPosting,
  type PostingField,
  readLabelledPostings,
} from '../postings/labelled-postings.ts';
import { foundIn } from '../postings/measure-postings.ts';
import { compare, isSame, type Tally } from '../score.ts';
import { f1Interval, type Interval } from '../sources/intervals.ts';

/** What a model answers to a text, with the mistakes that models make; `wanted` is what the text says. */
type WrittenAnswer = {
  readonly name: string;
  /** In words, for readers of the file. */
  readonly mistakes: readonly string[];
  /** As the model sends it: fenced, broken off, with prose around it. */
  readonly answer: string;
} & (
  | {
      readonly kind: 'cv';
      readonly text: string;
      readonly wanted: Readonly<Partial<Record<Field, readonly string[]>>>;
    }
  /** `posting` is the name of a labelled posting. */
  | { readonly kind: 'jd'; readonly posting: string }
);

interface AnswerFigures {
  readonly field: string;
  readonly labels: number;
  /** The answer as it came. */
  readonly claimed: Interval & { readonly precision: number; readonly recall: number };
  /** What the check against the text left of it. */
  readonly checked: Interval & { readonly precision: number; readonly recall: number };
}

const CV_FIELDS: readonly Field[] = [
  'name',
  'e-mail',
  'phone',
  'titles',
  'companies',
  'schools',
  'degrees',
  'skills',
];
/** Pay, employment and months are never taken from an answer. */
const POSTING_FIELDS: readonly PostingField[] = [
  'title',
  'company',
  'must',
  'nice',
  'pay',
  'type',
  'place',
  'months',
];
const TODAY = { year: 2026, month: 11 };

/** FOLDER/model-answers/answers.jsonl, and the postings that it names in FOLDER/postings/looked-at.txt. */
export function measureAnswers(folder: string): {
  answers: number;
  dropped: number;
  fields: AnswerFigures[];
} {
  const postings = new Map(
    readLabelledPostings(join(folder, 'postings', 'looked-at.txt')).map((one) => [one.name, one]),
  );
  const answers = readFileSync(join(folder, 'model-answers', 'answers.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WrittenAnswer);
  const tallies = new Map<string, { claimed: Tally[]; checked: Tally[] }>();
  let dropped = 0;
  for (const answer of answers) {
    const read =
      answer.kind === 'cv' ? cvValues(answer) : postingValues(answer.answer, postings.get(answer.posting));
    dropped += read.dropped;
    for (const { field, wanted, claimed, checked } of read.fields) {
      const into = tallies.get(field) ?? { claimed: [], checked: [] };
      tallies.set(field, into);
      into.claimed.push(tallyOf(wanted, claimed));
      into.checked.push(tallyOf(wanted, checked));
    }
  }
  const all = {
    claimed: [...tallies.values()].flatMap((one) => one.claimed),
    checked: [...tallies.values()].flatMap((one) => one.checked),
  };
  const fields = [...tallies, ['all', all] as const].map(([field, { claimed, checked }]) => {
    const { figures } = f1Interval(claimed);
    return { field, labels: figures.wanted, claimed: sideOf(claimed), checked: sideOf(checked) };
  });
  return { answers: answers.length, dropped, fields };
}

interface Compared {
  readonly dropped: number;
  readonly fields: readonly {
    readonly field: string;
    readonly wanted: readonly string[];
    readonly claimed: readonly string[];
    readonly checked: readonly string[];
  }[];
}

function cvValues({ name, text, wanted, answer }: Extract<WrittenAnswer, { kind: 'cv' }>): Compared {
  const read = readModelCv(answer);
  if (read.outcome === 'unreadable') throw new Error(`${name}: ${read.problems.join()}`);
  const { value, warnings } = checkCv(text, read.value, TODAY);
  const of = (profile: CvProfile, field: Field) => foundOf(profile, field);
  return {
    dropped: warnings.length,
    fields: CV_FIELDS.map((field) => ({
      field: `cv ${field}`,
      wanted: wanted[field] ?? [],
      claimed: of(read.value, field),
      checked: of(value, field),
    })),
  };
}

function postingValues(answer: string, posting: LabelledPosting | undefined): Compared {
  if (posting === undefined) throw new Error('an answer names a posting that is not labelled');
  const read = readModelPosting(answer);
  if (read.outcome === 'unreadable') throw new Error(`${posting.name}: ${read.problems.join()}`);
  const { value, warnings } = checkPosting(posting.text, read.value);
  const of = (record: Posting, field: PostingField) => foundIn(record)[field];
  return {
    dropped: warnings.length,
    fields: POSTING_FIELDS.map((field) => ({
      field: `posting ${field}`,
      wanted: posting.wanted[field],
      claimed: of(read.value, field),
      checked: of(value, field),
    })),
  };
}

function tallyOf(wanted: readonly string[], found: readonly string[]): Tally {
  const tally = { right: 0, extra: 0, missed: 0 };
  compare(tally, wanted, found, isSame);
  return tally;
}

function sideOf(tallies: readonly Tally[]): AnswerFigures['claimed'] {
  const { figures, value, low, high } = f1Interval(tallies);
  return { value, low, high, precision: figures.precision, recall: figures.recall };
}

export function answerLines(folder: string): string[] {
  const { answers, dropped, fields } = measureAnswers(folder);
  const figure = (value: number) => value.toFixed(3);
  const row = (first: string, cells: readonly string[]) =>
    `${first.padEnd(18)}${cells.map((cell) => cell.padStart(11)).join('')}`;
  const side = ({ precision, recall, value, low, high }: AnswerFigures['claimed']) => [
    figure(precision),
    figure(recall),
    figure(value),
    `${low.toFixed(2)}–${high.toFixed(2)}`,
  ];
  return [
    '',
    `answers of a model: ${answers} written answers with typical mistakes, as they came and after the check against the text, which dropped ${dropped} values`,
    row('field', ['labels', 'precision', 'recall', 'F1', '95 %', 'precision', 'recall', 'F1', '95 %']),
    ...fields.map(({ field, labels, claimed, checked }) =>
      row(field, [String(labels), ...side(claimed), ...side(checked)]),
    ),
  ];
}
