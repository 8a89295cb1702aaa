import type { JobFields } from './job.ts';
import {
  LONGEST_DESCRIPTION,
  LONGEST_REQUIREMENT,
  LONGEST_TITLE,
  MOST_MONTHS,
  MOST_REQUIREMENTS,
} from './wanted-job.ts';

/** As much of a read posting as a job takes over. The whole of it is kept beside the job. */
export interface ReadPosting {
  readonly title: string | null;
  readonly description: string | null;
  readonly jobLocation: readonly {
    readonly city: string | null;
    readonly region: string | null;
    readonly country: string | null;
  }[];
  readonly jobLocationType: string | null;
  readonly employmentType: string | null;
  readonly must_have: readonly string[];
  readonly nice_to_have: readonly string[];
  readonly experienceRequirements: { readonly monthsOfExperience: number | null } | null;
}

/** What a posting says, cut to what a job holds. What it does not say is not among the fields. */
export function fieldsOfPosting(posting: ReadPosting): Partial<JobFields> {
  const [place] = posting.jobLocation;
  const months = posting.experienceRequirements?.monthsOfExperience ?? null;
  const wanted: { [Name in keyof JobFields]: JobFields[Name] | null } = {
    title: lineOf(posting.title, LONGEST_TITLE),
    description: storable(posting.description)?.slice(0, LONGEST_DESCRIPTION).trim() || null,
    location: place === undefined ? null : lineOf(placeText(place), 300),
    remote: posting.jobLocationType === 'TELECOMMUTE' ? true : null,
    employmentType: lineOf(posting.employmentType, 100),
    mustHave: requirementsOf(posting.must_have),
    niceToHave: requirementsOf(posting.nice_to_have),
    minMonthsExperience: months === null ? null : Math.min(Math.max(0, Math.round(months)), MOST_MONTHS),
  };
  const said = Object.entries(wanted).filter(([, value]) => value !== null);
  return Object.fromEntries(said) as Partial<JobFields>;
}

/** A title for what nobody has read yet: the text's first line, or the file's name without its ending. */
export function titleBeforeReading(file: { readonly name: string }, text: string | null): string {
  const first = text?.split('\n').find((line) => line.trim() !== '');
  const name = file.name.replace(/\.[a-z0-9]{1,5}$/i, '');
  return lineOf(first ?? null, LONGEST_TITLE) ?? lineOf(name, LONGEST_TITLE) ?? 'Untitled posting';
}

function requirementsOf(texts: readonly string[]): readonly string[] | null {
  const lines = texts.flatMap((text) => lineOf(text, LONGEST_REQUIREMENT) ?? []);
  return lines.length === 0 ? null : [...new Set(lines)].slice(0, MOST_REQUIREMENTS);
}

function placeText({ city, region, country }: ReadPosting['jobLocation'][number]): string {
  return [city, region, country].filter((part) => part !== null && part !== '').join(', ');
}

function storable(text: string | null): string | null {
  return text === null ? null : text.toWellFormed().replaceAll('\0', '');
}

function lineOf(text: string | null, longest: number): string | null {
  const line = storable(text)
    ?.replaceAll(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, longest)
    .toWellFormed()
    .trim();
  return line || null;
}
