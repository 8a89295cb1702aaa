import type { ParsedPosting, Posting } from '../../src/domain/documents/parsed-document.ts';
import { compare, isNear, isSame, type Tally } from '../score.ts';
import { f1Interval, type Interval } from '../sources/intervals.ts';
import { type LabelledPosting, POSTING_FIELDS, type PostingField } from './labelled-postings.ts';

interface PostingFigures {
  readonly field: PostingField;
  readonly labels: number;
  readonly strict: Interval;
  readonly precision: number;
  readonly recall: number;
  readonly near: Interval;
}

interface PostingError {
  readonly posting: string;
  readonly field: PostingField;
  readonly missed: readonly string[];
  readonly extra: readonly string[];
}

interface PostingSetFigures {
  readonly postings: number;
  readonly refused: number;
  readonly fields: readonly PostingFigures[];
  readonly errors: readonly PostingError[];
}

/** What a reader finds of the values of labelled postings; 95 % intervals over postings. */
export async function measurePostings(
  postings: readonly LabelledPosting[],
  read: (text: string) => ParsedPosting | Promise<ParsedPosting>,
): Promise<PostingSetFigures> {
  const tallies = new Map(POSTING_FIELDS.map((field) => [field, { strict: [], near: [] } as FieldTallies]));
  const errors: PostingError[] = [];
  let refused = 0;
  for (const { name, text, wanted } of postings) {
    const { posting } = await read(text);
    if (posting === null) refused++;
    const found = posting === null ? null : foundIn(posting);
    for (const field of POSTING_FIELDS) {
      const [strict, near] = [emptyTally(), emptyTally()];
      const { missed, extra } = compare(strict, wanted[field], found?.[field] ?? [], isSame);
      compare(near, wanted[field], found?.[field] ?? [], isNear);
      tallies.get(field)?.strict.push(strict);
      tallies.get(field)?.near.push(near);
      if (missed.length + extra.length > 0) errors.push({ posting: name, field, missed, extra });
    }
  }
  const fields = [...tallies].map(([field, { strict, near }]) => {
    const { figures, ...interval } = f1Interval(strict);
    const { precision, recall, wanted: labels } = figures;
    return { field, labels, strict: interval, precision, recall, near: f1Interval(near) };
  });
  return { postings: postings.length, refused, fields, errors };
}

interface FieldTallies {
  readonly strict: Tally[];
  readonly near: Tally[];
}

function emptyTally(): Tally {
  return { right: 0, extra: 0, missed: 0 };
}

export function foundIn(posting: Posting): Record<PostingField, string[]> {
  const { baseSalary: pay, experienceRequirements: experience } = posting;
  return {
    title: listed(posting.title),
    company: listed(posting.hiringOrganization?.name),
    must: posting.must_have,
    nice: posting.nice_to_have,
    pay:
      pay === null
        ? []
        : [
            `${pay.currency ?? 'unknown'} ${pay.minValue ?? 'open'} to ${pay.maxValue ?? 'open'} ${pay.unitText ?? 'unknown'}`,
          ],
    type: listed(posting.employmentType),
    mode: listed(posting.work_mode),
    place: posting.jobLocation.map(({ city, region, country }) => city ?? region ?? country ?? ''),
    months: listed(experience?.monthsOfExperience),
    level: listed(posting.seniority),
  };
}

function listed(value: string | number | null | undefined): string[] {
  return value === null || value === undefined ? [] : [String(value)];
}
