import type { Month } from './facts.ts';
import { type Marked, mapText, marked, plain, upper } from './marked-text.ts';
import type { Random } from './random.ts';
import type { Language, Section } from './words.ts';

/** How one writer writes: chosen once for a CV. */
export interface Style {
  readonly bullet: string;
  readonly headingForm: 'plain' | 'upper' | 'colon' | 'ruled' | 'spaced' | 'numbered';
  readonly dates: DateForm;
  readonly range: string;
  readonly present: string;
  readonly titleForm: 'plain' | 'upper' | 'lower' | 'sentence';
  readonly companyForm: 'plain' | 'upper' | 'lower';
  readonly isYearsOnly: boolean;
  /** Blank lines between entries. */
  readonly gap: string;
  readonly width: number;
}

type DateForm = 'long' | 'short' | 'slash' | 'dot' | 'year' | 'iso' | 'day' | 'shortYear' | 'comma';

const BULLETS: Readonly<Record<string, number>> = {
  '• ': 30,
  '- ': 22,
  '* ': 8,
  '– ': 6,
  '● ': 6,
  '▪ ': 5,
  '\uf0b7 ': 6,
  '➢ ': 4,
  '✓ ': 3,
  'o ': 3,
  '◦ ': 2,
  '❖ ': 2,
  '· ': 4,
  '': 16,
  '> ': 1,
  '■ ': 1,
  '\uf0a7 ': 2,
};

export function createStyle(random: Random, language: Language): Style {
  const dates = random.weighted({
    long: 26,
    short: 22,
    slash: 16,
    dot: 8,
    year: 16,
    iso: 2,
    day: 4,
    shortYear: 6,
    comma: 3,
  });
  return {
    bullet: random.weighted(BULLETS),
    headingForm: random.weighted({ plain: 40, upper: 38, colon: 14, ruled: 5, spaced: 3, numbered: 1 }),
    dates,
    range: random.pick(language.list('range')),
    present: random.pick(language.list('present')),
    titleForm: random.weighted({ plain: 74, upper: 12, lower: 3, sentence: 11 }),
    companyForm: random.weighted({ plain: 84, upper: 14, lower: 2 }),
    isYearsOnly: dates === 'year',
    gap: random.chance(0.75) ? '\n' : '',
    width: random.pick([70, 80, 90, 100, 120]),
  };
}

export function dateText(language: Language, style: Style, month: Month): string {
  const [year, at] = [Math.floor(month / 12), month % 12];
  const digits = String(at + 1).padStart(2, '0');
  const long = language.list('months')[at] ?? '';
  const short = language.list('shortMonths')[at] ?? '';
  const texts: Readonly<Record<DateForm, string>> = {
    long: `${long} ${year}`,
    short: `${short} ${year}`,
    slash: `${digits}/${year}`,
    dot: `${digits}.${year}`,
    year: String(year),
    iso: `${year}-${digits}`,
    day: `01.${digits}.${year}`,
    shortYear: `${short}’${String(year).slice(2)}`,
    comma: `${long}, ${year}`,
  };
  return texts[style.dates];
}

export function rangeText(
  random: Random,
  language: Language,
  style: Style,
  from: Month,
  to: Month | null,
): string {
  const start = dateText(language, style, from);
  if (to === null && random.chance(0.12)) return random.pick(language.list('since')).replace('{from}', start);
  return style.range
    .replace('{from}', start)
    .replace('{to}', to === null ? style.present : dateText(language, style, to));
}

export function headingText(random: Random, language: Language, style: Style, section: Section): string {
  const heading = random.pick(language.heading(section));
  if (style.headingForm === 'upper') return heading.toLocaleUpperCase(language.code);
  if (style.headingForm === 'colon') return `${heading}:`;
  if (style.headingForm === 'ruled') return `${heading}\n${'-'.repeat(heading.length)}`;
  if (style.headingForm === 'spaced') return [...heading.toLocaleUpperCase(language.code)].join(' ');
  if (style.headingForm === 'numbered') return `${random.int(1, 6)}. ${heading}`;
  return heading;
}

export function titleMarked(style: Style, title: string): Marked {
  const piece = marked('title', title);
  if (style.titleForm === 'upper') return upper(piece);
  if (style.titleForm === 'sentence')
    return mapText(piece, (text) =>
      text.replace(/(?<=\S )\p{Lu}(?=\p{Ll}{2})/gu, (letter) => letter.toLowerCase()),
    );
  return style.titleForm === 'lower' ? mapText(piece, (text) => text.toLowerCase()) : piece;
}

export const companyMarked = (style: Style, company: string): Marked =>
  style.companyForm === 'upper'
    ? upper(marked('company', company))
    : marked('company', style.companyForm === 'lower' ? company.toLowerCase() : company);

/** "Pune, Maharashtra" is one place, however it is written. */
export function placeMarked(random: Random, place: readonly [string, string] | null): Marked {
  if (place === null) return [];
  const kind = random.weighted({ both: 50, city: 42, bracket: 4, dash: 4 });
  const [city, region] = place;
  if (kind === 'city' || city === region) return marked('place', city);
  if (kind === 'bracket')
    return [...marked('place', city), ...plain(' ('), ...marked('place', region), ...plain(')')];
  if (kind === 'dash') return [...marked('place', city), ...plain(' - '), ...marked('place', region)];
  return marked('place', `${city}, ${region}`);
}
