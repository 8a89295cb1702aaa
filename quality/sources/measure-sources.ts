import type { Month } from '../../src/domain/documents/cv/work.ts';
import type { CvProfile, ParsedCv } from '../../src/domain/documents/parsed-document.ts';
import { BASELINES, FIELDS, type Field, foundOf } from '../cv-fields.ts';
import { compare, isNear, isSame, plain, type Sameness, type Tally } from '../score.ts';
import { f1Interval, type Interval, shareInterval } from './intervals.ts';
import { type Source, type SourceCv, todayOf } from './source-cvs.ts';

/** One way of reading CVs: the linear tagger alone, or with what is loaded beside it. */
export interface Reader {
  readonly name: string;
  read(text: string, today: Month): ParsedCv | Promise<ParsedCv>;
}

interface FieldFigures {
  readonly field: Field | 'months';
  readonly labels: number;
  readonly strict: Interval;
  readonly precision: number;
  readonly recall: number;
  readonly near: Interval;
  readonly rule: number;
}

export interface SourceFigures {
  readonly source: string;
  readonly reader: string;
  readonly cvs: number;
  readonly refused: number;
  readonly msPerCv: number;
  readonly characters: number;
  readonly fields: readonly FieldFigures[];
  /** What was missed and made up, for the part that may be looked at. */
  readonly errors: readonly SourceError[];
}

interface SourceError {
  readonly cv: string;
  readonly field: Field | 'months';
  readonly missed: readonly string[];
  readonly extra: readonly string[];
}

/** Months of work are right within a tenth of the label, and within one month of it for short lives. */
const MONTHS_TOLERANCE = 0.1;

export async function measureSource(
  source: Source,
  part: 'look' | 'report',
  reader: Reader,
): Promise<SourceFigures> {
  const cvs = source[part];
  const parsed: ParsedCv[] = [];
  const begun = process.cpuUsage();
  for (const cv of cvs) parsed.push(await reader.read(cv.text, todayOf(cv)));
  const { user, system } = process.cpuUsage(begun);
  const errors: SourceError[] = [];
  const fields = FIELDS.flatMap((field) => fieldFigures(cvs, parsed, field, errors));
  return {
    source: source.name,
    reader: reader.name,
    cvs: cvs.length,
    refused: parsed.filter(({ profile }) => profile === null).length,
    msPerCv: cvs.length === 0 ? 0 : (user + system) / 1000 / cvs.length,
    characters: cvs.length === 0 ? 0 : cvs.reduce((sum, { text }) => sum + text.length, 0) / cvs.length,
    fields: [...fields, ...monthsFigures(cvs, parsed, errors)],
    errors,
  };
}

function fieldFigures(
  cvs: readonly SourceCv[],
  parsed: readonly ParsedCv[],
  field: Field,
  errors: SourceError[],
): FieldFigures[] {
  const tallies: Record<'strict' | 'near' | 'rule', Tally[]> = { strict: [], near: [], rule: [] };
  cvs.forEach((cv, at) => {
    const wanted = cv.values[field];
    const record = parsed[at];
    if (wanted === undefined || record === undefined) return;
    const found = foundIn(record, cv.text, field, wanted);
    const strict = tallyOf(wanted, agreed(wanted, found, field), field, isSame);
    if (strict.missed.length + strict.extra.length > 0) errors.push({ cv: cv.name, field, ...strict });
    tallies.strict.push(strict.tally);
    tallies.near.push(tallyOf(wanted, agreed(wanted, found, field), field, isNear).tally);
    tallies.rule.push(tallyOf(wanted, BASELINES[field](cv.text), field, isSame).tally);
  });
  const { figures, ...strict } = f1Interval(tallies.strict);
  if (figures.wanted === 0) return [];
  return [
    {
      field,
      labels: figures.wanted,
      strict,
      precision: figures.precision,
      recall: figures.recall,
      near: f1Interval(tallies.near),
      rule: f1Interval(tallies.rule).value,
    },
  ];
}

/** The forms that a found value may take; the first is the record's own. */
type Forms = readonly string[];

/** Sets label a degree with its field or without it, so both forms of a found degree will do. */
function foundIn(
  { profile, evidence }: ParsedCv,
  text: string,
  field: Field,
  wanted: readonly string[],
): Forms[] {
  if (field === 'skills' && profile !== null) return skillsIn(profile, wanted).map((value) => [value]);
  if (field !== 'degrees' || profile === null) return foundOf(profile, field).map((value) => [value]);
  return profile.education.flatMap(({ studyType, area }, at) => {
    const places = evidence.filter(
      ({ path }) => path === `education[${at}].studyType` || path === `education[${at}].area`,
    );
    const [start, end] = [
      Math.min(...places.map((one) => one.start)),
      Math.max(...places.map((one) => one.end)),
    ];
    const both = [studyType, area].filter((part) => part !== null).join(' ');
    if (both === '') return [];
    return [
      [
        both,
        ...(studyType === null ? [] : [studyType]),
        ...(end - start <= both.length + 12 ? [text.slice(start, end)] : []),
      ],
    ];
  });
}

/** Some sets label spoken languages as skills. In a record they are languages: they count where the set has them, and are not made up elsewhere. */
function skillsIn({ skills, languages }: CvProfile, wanted: readonly string[]): string[] {
  const labels = new Set(wanted.map(plain));
  return [
    ...skills.map(({ name }) => name),
    ...languages.map(({ language }) => language).filter((language) => labels.has(plain(language))),
  ];
}

/** Of each found value the form that a label has, or else its own. */
function agreed(wanted: readonly string[], found: readonly Forms[], field: Field): string[] {
  const labels = new Set(wanted.map((value) => comparable(field, value)));
  return found.map((forms) => forms.find((form) => labels.has(comparable(field, form))) ?? forms[0] ?? '');
}

/** E-mail addresses are equal letter by letter, telephone numbers digit by digit without the country's code, the rest word by word. */
function comparable(field: Field, value: string): string {
  if (field === 'e-mail')
    return value
      .toLowerCase()
      .trim()
      .replace(/ ?[[(]at[\])] ?/, '@')
      .replace(/[.,;]$/, '')
      .replaceAll(/[^a-z\d@]/g, (sign) => `u${sign.codePointAt(0)}`);
  if (field === 'phone') return value.replace(/\D/g, '').slice(-9);
  return plain(value);
}

function tallyOf(
  wanted: readonly string[],
  found: readonly string[],
  field: Field,
  sameness: Sameness,
): { tally: Tally; missed: readonly string[]; extra: readonly string[] } {
  const tally: Tally = { right: 0, extra: 0, missed: 0 };
  const isExact = field === 'e-mail' || field === 'phone';
  // A record has one e-mail address and one number: a CV with two labels is right with either.
  const one =
    isExact && wanted.length > 1
      ? wanted
          .filter((value) => found.some((other) => comparable(field, other) === comparable(field, value)))
          .slice(0, 1)
      : wanted;
  const labels = isExact && one.length === 0 ? wanted.slice(0, 1) : one;
  const rest = compare(
    tally,
    labels.map((value) => comparable(field, value)),
    found.map((value) => comparable(field, value)),
    isExact ? isSame : sameness,
  );
  return { tally, ...rest };
}

function monthsFigures(
  cvs: readonly SourceCv[],
  parsed: readonly ParsedCv[],
  errors: SourceError[],
): FieldFigures[] {
  const isRight: boolean[] = [];
  const isNearby: boolean[] = [];
  cvs.forEach((cv, at) => {
    if (cv.months == null) return;
    const found = parsed[at]?.profile?.total_months_experience ?? 0;
    const off = Math.abs(found - cv.months);
    isRight.push(off <= Math.max(1, cv.months * MONTHS_TOLERANCE));
    isNearby.push(off <= Math.max(3, cv.months * 2.5 * MONTHS_TOLERANCE));
    if (isRight.at(-1) === false)
      errors.push({ cv: cv.name, field: 'months', missed: [String(cv.months)], extra: [String(found)] });
  });
  if (isRight.length === 0) return [];
  const strict = shareInterval(isRight);
  return [
    {
      field: 'months',
      labels: isRight.length,
      strict,
      precision: strict.value,
      recall: strict.value,
      near: shareInterval(isNearby),
      rule: 0,
    },
  ];
}
