import type { FormValues } from '../../parts/form-values.ts';
import { objectIn, textIn } from '../../parts/json.ts';
import { type Entry, profileOf } from './talent-profile.ts';

export interface KeyedEntry {
  readonly key: number;
  /** The entry before the edit. */
  readonly entry: Entry;
  /** Added in this form. */
  readonly isNew?: boolean;
}

export type Sections = Readonly<
  Record<'work' | 'education' | 'languages' | 'certificates', readonly KeyedEntry[]>
>;

interface SectionField {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** Has several lines. */
  readonly isLong?: true;
  /** A list of texts, one per line. */
  readonly isList?: true;
}

const FROM = { name: 'startDate', label: 'From', hint: '2019 or 2019-03' };
const UNTIL = { name: 'endDate', label: 'Until', hint: 'Leave empty if it is current.' };

/** The editable fields of each section; an entry's other fields are kept. */
export const SECTIONS: Readonly<
  Record<keyof Sections, { title: string; one: string; fields: readonly SectionField[] }>
> = {
  work: {
    title: 'Work',
    one: 'a position',
    fields: [
      { name: 'position', label: 'Position' },
      { name: 'name', label: 'Employer' },
      { name: 'location', label: 'Place of work' },
      FROM,
      UNTIL,
      { name: 'summary', label: 'What they did', isLong: true },
      { name: 'highlights', label: 'Points, one per line', isLong: true, isList: true },
    ],
  },
  education: {
    title: 'Education',
    one: 'an education',
    fields: [
      { name: 'studyType', label: 'Degree' },
      { name: 'area', label: 'Subject' },
      { name: 'institution', label: 'School' },
      FROM,
      UNTIL,
    ],
  },
  languages: {
    title: 'Languages',
    one: 'a language',
    fields: [
      { name: 'language', label: 'Language' },
      { name: 'fluency', label: 'Level' },
    ],
  },
  certificates: {
    title: 'Certificates',
    one: 'a certificate',
    fields: [
      { name: 'name', label: 'Certificate' },
      { name: 'issuer', label: 'Issued by' },
      { name: 'date', label: 'When', hint: '2019 or 2019-03' },
    ],
  },
};

const BASICS = ['name', 'label', 'email', 'phone', 'url', 'summary'];

/** The whole profile with the typed values. Everything that the form does not show is kept. */
export function editedProfile(whole: Entry, sections: Sections, typed: FormValues): Entry {
  const { text, number } = typed;
  const { basics, skills } = profileOf(whole);
  const place = objectIn(basics.location);
  const city = text('city');
  const location = city === '' && Object.keys(place).length === 0 ? null : { ...place, city: city || null };
  const typedBasics = Object.fromEntries(BASICS.map((name) => [name, text(`basics.${name}`) || null]));
  const known = new Map(skills.map((skill) => [textIn(skill.name), skill]));
  const wanted = new Set(linesIn(text('skills')));
  return {
    ...whole,
    basics: { ...basics, ...typedBasics, location },
    skills: [...wanted].map((name) => known.get(name) ?? { name }),
    total_months_experience: number('months'),
    ...Object.fromEntries(
      (Object.keys(SECTIONS) as (keyof Sections)[]).map((section) => [
        section,
        sections[section].flatMap((one) => editedEntry(section, one, typed)),
      ]),
    ),
  };
}

type FieldValue = readonly [name: string, value: string | readonly string[] | null];

/** An entry whose fields are all empty is removed. */
function editedEntry(
  section: keyof Sections,
  { key, entry }: KeyedEntry,
  { text }: FormValues,
): readonly Entry[] {
  const values = SECTIONS[section].fields.flatMap(({ name, isList }): readonly FieldValue[] => {
    const typed = text(`${section}.${key}.${name}`);
    if (isList !== true) return [[name, typed || null]];
    const lines = linesIn(typed);
    return lines.length === 0 && entry[name] === undefined ? [] : [[name, lines]];
  });
  if (values.every(([, value]) => value === null || value.length === 0)) return [];
  return [{ ...entry, ...Object.fromEntries(values) }];
}

function linesIn(text: string): readonly string[] {
  return text
    .split('\n')
    .map((one) => one.trim())
    .filter(Boolean);
}

/** The value of an entry as its field shows it. */
export function fieldText(value: unknown): string {
  return Array.isArray(value) ? value.map(textIn).filter(Boolean).join('\n') : textIn(value);
}
