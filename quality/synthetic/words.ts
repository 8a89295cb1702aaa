import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The languages of the texts, and how many of a hundred texts are written in each. */
export const LANGUAGES = { en: 52, de: 6, fr: 6, es: 6, it: 5, pt: 5, nl: 5, pl: 5, sv: 5, tr: 5 } as const;
export type LanguageCode = keyof typeof LANGUAGES;

export type Section =
  | 'summary'
  | 'work'
  | 'education'
  | 'skills'
  | 'languages'
  | 'certificates'
  | 'projects'
  | 'hobbies'
  | 'references'
  | 'personal'
  | 'awards'
  | 'publications'
  | 'volunteer';

/** Lists of a language as its file has them: `a; b; c`. */
interface LanguageFile {
  readonly headings: Readonly<Record<Section, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, string>>;
  readonly [list: string]: string | Readonly<Record<string, string>>;
}

export interface Language {
  readonly code: LanguageCode;
  heading(section: Section): readonly string[];
  label(field: string): readonly string[];
  value(field: string): readonly string[];
  /** One of the file's lists; where the language has none, the English one. */
  list(name: string): readonly string[];
}

export interface Country {
  readonly code: string;
  readonly name: string;
  readonly phones: readonly string[];
  readonly cultures: Readonly<Record<string, number>>;
  readonly legalForms: readonly string[];
  readonly cities: readonly (readonly [city: string, region: string])[];
  readonly companies: readonly string[];
}

export interface Trade {
  readonly heads: readonly string[];
  readonly domains: readonly string[];
  readonly skills: readonly string[];
  readonly tasks: readonly string[];
  readonly things: readonly string[];
}

const cut = (list: string | readonly string[]): string[] =>
  (typeof list === 'string' ? [list] : list).flatMap((line) => line.split(/; /)).map((item) => item.trim());

function read<Content>(file: string): Content {
  return JSON.parse(readFileSync(join(import.meta.dir, 'words', file), 'utf8')) as Content;
}

const mapped = <From, To>(table: Readonly<Record<string, From>>, change: (value: From, key: string) => To) =>
  Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value, key)])) as Record<
    string,
    To
  >;

export const NAMES = mapped(
  read<Record<string, { given: string[]; family: string[] }>>('names.json'),
  ({ given, family }) => ({ given: cut(given), family: cut(family) }),
);

export const JOBS = mapped(read<Record<string, string[]>>('jobs.json'), cut);

const organisations = read<{
  known: Record<string, string>;
  brandParts: string;
  brandEnds: string;
  sectors: Record<string, string>;
}>('organisations.json');

export const BRAND_PARTS = cut(organisations.brandParts);
export const BRAND_ENDS = cut(organisations.brandEnds);
export const SECTORS = mapped(organisations.sectors, cut);

export const TRADES: readonly Trade[] = Object.values(
  read<Record<string, Record<keyof Trade, string>>>('trades-en.json'),
).map(({ heads, domains, skills, tasks, things }) => ({
  heads: cut(heads),
  domains: cut(domains),
  skills: cut(skills),
  tasks: cut(tasks),
  things: cut(things),
}));

/** The names of skills that the engine's own list has, by field: wider than any list of a trade. */
export const JARGON: readonly (readonly string[])[] = Object.values(
  JSON.parse(
    readFileSync(join(import.meta.dir, '../../src/domain/documents/words/skills.json'), 'utf8'),
  ) as Record<string, readonly string[]>,
).map((lines) =>
  lines
    .flatMap((line) => line.split(/;\s*/))
    .flatMap((entry) => entry.replace(/!/g, '').split(/[=|]/))
    .map((skill) => skill.trim())
    .filter((skill) => skill.length > 0),
);

interface CountryFile {
  readonly name: string;
  readonly phone: string;
  readonly cultures: string;
  readonly legal: string;
  readonly cities: string;
}

export const COUNTRIES: Readonly<Record<string, Country>> = mapped(
  read<Record<string, CountryFile>>('countries.json'),
  ({ name, phone, cultures, legal, cities }, code) => ({
    code,
    name,
    phones: cut(phone),
    cultures: Object.fromEntries(
      cut(cultures).map((item) => {
        const [culture = '', weight = '1'] = item.split(':');
        return [culture, Number(weight)];
      }),
    ),
    legalForms: cut(legal),
    cities: cut(cities).map((item) => {
      const [city = '', region = ''] = item.split('|');
      return [city, region] as const;
    }),
    companies: cut(organisations.known[code] ?? ''),
  }),
);

/** Where the writers of a language live, and how often. */
export const COUNTRIES_OF: Readonly<Record<LanguageCode, Readonly<Record<string, number>>>> = {
  en: { IN: 30, US: 30, GB: 14, NG: 5, PH: 5, AE: 5, PK: 3, KE: 4, AU: 6, SG: 5, DE: 1, NL: 1, PL: 1 },
  de: { DE: 1 },
  fr: { FR: 1 },
  es: { ES: 1 },
  it: { IT: 1 },
  pt: { PT: 1 },
  nl: { NL: 1 },
  pl: { PL: 1 },
  sv: { SE: 1 },
  tr: { TR: 1 },
};

const english = read<LanguageFile>('language-en.json');

export const LANGUAGE_OF: Readonly<Record<string, Language>> = mapped(LANGUAGES, (_, key): Language => {
  const code = key as LanguageCode;
  const file = read<LanguageFile>(`language-${code}.json`);
  const lists = new Map<string, readonly string[]>();
  const cached = (key: string, source: string | undefined) => {
    const list = lists.get(key) ?? cut(source ?? '');
    lists.set(key, list);
    return list;
  };
  return {
    code,
    heading: (section) => cached(`heading ${section}`, file.headings[section]),
    label: (field) => cached(`label ${field}`, file.labels[field] ?? english.labels[field]),
    value: (field) => cached(`value ${field}`, file.values[field] ?? english.values[field]),
    list: (name) => cached(name, (file[name] ?? english[name]) as string),
  };
});
