import type { CvProfile } from '../src/domain/documents/parsed-document.ts';
import type { LabelledCv } from './labelled-cvs.ts';

export type Field =
  | 'name'
  | 'e-mail'
  | 'phone'
  | 'location'
  | 'titles'
  | 'companies'
  | 'schools'
  /** Companies and schools together, for sets that do not tell them apart. */
  | 'organisations'
  | 'degrees'
  | 'skills';

export const FIELDS: readonly Field[] = [
  'name',
  'e-mail',
  'phone',
  'location',
  'titles',
  'companies',
  'schools',
  'organisations',
  'degrees',
  'skills',
];

const LABELS: Readonly<Record<Field, readonly string[]>> = {
  name: ['Name'],
  'e-mail': ['Email Address'],
  phone: [],
  location: ['Location'],
  titles: ['Designation'],
  companies: ['Companies worked at'],
  schools: ['College Name'],
  organisations: [],
  degrees: ['Degree'],
  skills: ['Tech Tools', 'Job Specific Skills', 'Soft Skills'],
};

export function wantedOf({ text, spans }: LabelledCv, field: Field): string[] {
  return spans
    .filter(({ type }) => LABELS[field].includes(type))
    .map(({ start, end }) => text.slice(start, end));
}

/** What the record says of a field. The set counts spoken languages among its skills. */
export function foundOf(profile: CvProfile | null, field: Field): string[] {
  if (profile === null) return [];
  const { basics, work, education, skills, languages } = profile;
  const { location } = basics;
  const values: Readonly<Record<Field, readonly (string | null)[]>> = {
    name: [basics.name],
    'e-mail': [basics.email],
    phone: [basics.phone],
    location: [
      [location?.city, location?.region].filter((part) => part != null).join(', ') || null,
      ...work.map((entry) => entry.location),
    ],
    titles: [basics.label, ...work.map(({ position }) => position)],
    companies: work.map(({ name }) => name),
    schools: education.map(({ institution }) => institution),
    organisations: [...work.map(({ name }) => name), ...education.map(({ institution }) => institution)],
    degrees: education.map(
      ({ studyType, area }) => [studyType, area].filter((part) => part !== null).join(' ') || null,
    ),
    skills: [...skills.map(({ name }) => name), ...languages.map(({ language }) => language)],
  };
  return values[field].filter((value) => value !== null);
}

const HEADS =
  /\b(?:engineer|developer|manager|analyst|consultant|director|assistant|teacher|administrator|designer|intern|coordinator|officer)\b/i;

const COMPANY = /(?:[A-Z][\w&]+ ){1,4}(?:Inc|Ltd|LLC|GmbH|Corp|Limited|Company)\b/g;
const SCHOOL = /(?:[A-Z][a-z]+ ){1,4}(?:University|College|School|Institute)|University of [A-Z][a-z]+/g;

/** What one line of code finds: the floor that the engine has to beat. */
export const BASELINES: Readonly<Record<Field, (text: string) => string[]>> = {
  name: (text) => [linesOf(text).find((line) => /^[\p{L} .'-]{4,40}$/u.test(line)) ?? ''],
  'e-mail': (text) => text.match(/[\w.+-]+@[\w-]+\.[\w.]+/g)?.slice(0, 1) ?? [],
  phone: (text) => text.match(/\+?\d[\d ().-]{7,16}\d/g)?.slice(0, 1) ?? [],
  location: (text) => text.match(/[A-Z][a-z]+(?: [A-Z][a-z]+)?, [A-Z]{2}\b/g) ?? [],
  titles: (text) => linesOf(text).filter((line) => line.length < 50 && HEADS.test(line)),
  companies: (text) => text.match(COMPANY) ?? [],
  schools: (text) => text.match(SCHOOL) ?? [],
  organisations: (text) => [...(text.match(COMPANY) ?? []), ...(text.match(SCHOOL) ?? [])],
  degrees: (text) =>
    text.match(
      /(?:Bachelor|Master)s?(?:'s)? (?:of|in|degree)[A-Za-z ]{2,40}|B\.?Tech|MBA|Ph\.?D|B\.?Sc|M\.?Sc/g,
    ) ?? [],
  skills: (text) =>
    (/skills:?\s+(.{0,600})/i.exec(text)?.[1] ?? '').split(/[,;•]|\s{2,}/).filter((item) => item.length < 30),
};

function linesOf(text: string): string[] {
  return text.split(/\n|\s{2,}/).map((line) => line.replace(/^["\s]+/, '').trim());
}
