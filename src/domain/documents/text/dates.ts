import { findOtherNumbers } from './other-numbers.ts';
import { isTaken } from './tokens.ts';

/** The beginnings that tell a month in seven languages; the shortest form is three letters. */
const MONTH_NAMES: readonly string[] = [
  'jan januar january janvier janv enero ene gennaio gen janeiro januari jän jänner',
  'feb februar february février févr fevrier febrero febbraio fevereiro fev februari',
  'mar march märz mars marzo março maart mrz mär maerz mrt',
  'apr april avril avr abril abr aprile',
  'may mai mayo maggio mag maio mei',
  'jun june juni juin junio giugno giu junho',
  'jul july juli juillet juil julio luglio lug julho',
  'aug august août aout agosto ago augustus',
  'sep sept september septembre septiembre settembre set setembro',
  'oct october oktober okt octobre octubre ottobre ott outubro out',
  'nov november novembre noviembre novembro',
  'dec december dezember dez décembre decembre diciembre dic dicembre dezembro',
];

const MONTHS = new Map(
  MONTH_NAMES.flatMap((names, at) => names.split(' ').map((name): [string, number] => [name, at + 1])),
);

/** The caller distinguishes words that are months only next to a year. */
function monthNamed(word: string): number | null {
  return MONTHS.get(word.toLowerCase().replace(/\.$/, '')) ?? null;
}

/** The month in which a season's work or term begins. */
const SEASON_MONTHS: Readonly<Record<string, number>> = {
  spring: 3,
  summer: 6,
  summers: 6,
  fall: 9,
  autumn: 9,
  winter: 12,
  frühling: 3,
  sommer: 6,
  herbst: 9,
  printemps: 3,
  été: 6,
  automne: 9,
  hiver: 12,
  primavera: 3,
  verano: 6,
  otoño: 9,
  invierno: 12,
  estate: 6,
  autunno: 9,
  inverno: 12,
};

const PRESENT_WORDS =
  "present|presently|current|currently|now|today|date|till date|to date|till now|till present|until now|ongoing|on-going|heute|aktuell|jetzt|laufend|aujourd['’]hui|présent|actuel|ce jour|actualidad|actual|presente|actualmente|oggi|in corso|attuale|attualmente|atual|atualmente|hoje|heden|nu|huidig";

const PRESENT = new RegExp(`^(?:${PRESENT_WORDS})$`, 'i');

/** Whether a text says nothing but "until today". */
export function meansPresent(text: string): boolean {
  return PRESENT.test(text);
}

/** A point in time as a text gives it: a year, perhaps a month; or `present`. */
interface DatePoint {
  readonly year: number;
  /** 1 to 12, or null where only the year is said. */
  readonly month: number | null;
}

type RangeEnd = DatePoint | 'present' | null;

export interface DateSpan {
  readonly start: number;
  readonly end: number;
  readonly from: DatePoint | null;
  /** Null for a lone date. */
  readonly to: RangeEnd;
  readonly isRange: boolean;
}

interface Atom {
  readonly start: number;
  readonly end: number;
  readonly year: number | null;
  readonly month: number | null;
  readonly isPresent: boolean;
  readonly isShort: boolean;
}

const WORD = '\\p{L}{3,10}';
const ATOM = new RegExp(
  [
    `(?<![\\p{L}\\d])(?:(?<day>\\d{1,2})(?:st|nd|rd|th|\\.)?[ ]?)?(?<word>${WORD})\\.?[ ]?(?:(?<day2>\\d{1,2})(?:st|nd|rd|th)?,?[ ]{1,2})?(?:of |de |del )?[,'’\`\\- ]{0,3}(?<year>(?:19|20)\\d\\d|['’\`]?\\d\\d(?![\\d%.,:]))(?![\\d])`,
    `(?<![\\d./-])(?<iso>(?:19|20)\\d\\d)[-/.](?<isoMonth>0?[1-9]|1[0-2])(?:[-/.](?:[0-2]?\\d|3[01]))?(?![\\d])`,
    `(?<![\\d./-])(?<d1>\\d{1,2})[./-](?<d2>\\d{1,2})[./-](?<dYear>(?:19|20)\\d\\d|\\d\\d)(?![\\d])`,
    `(?<![\\d./-])(?<num>0?[1-9]|1[0-2])[ ]?[./-][ ]?(?<numYear>(?:19|20)\\d\\d)(?![\\d]|[.]\\d)`,
    `(?<![\\d./-])(?<num2>0[1-9]|1[0-2])/(?<numYear2>\\d\\d)(?![\\d/])`,
    `(?<![\\p{L}\\d.,$€£#])(?<lone>(?:19[4-9]|20[0-4])\\d)(?![\\d%]|[.,]\\d)`,
    `(?<![\\p{L}\\d])(?<now>${PRESENT_WORDS})(?![\\p{L}\\d])`,
    `(?<![\\p{L}\\d])(?<monthOnly>${WORD})(?=\\.? ?(?:-|–|—|to|bis|/) ?\\p{L}{3,10}\\.?,? ?['’]?\\d{2,4})`,
  ].join('|'),
  'giu',
);

const JOINT =
  /^[\s,.)\]]{0,3}(?:-{1,3}|–|—|−|~|to|until|till|through|thru|up to|bis|à|au|al|a|hasta|fino a|ad|até|tot|t\/m|\/|and)[\s(,.]{0,3}$/iu;
/** Some texts lost their dashes: years in a row, or a year and "present", are a span all the same. */
const LOST_JOINT = /^[ \u00a0]{1,3}$/;

export function findDates(text: string): DateSpan[] {
  const others = findOtherNumbers(text);
  const atoms = [...text.matchAll(ATOM)]
    .flatMap((match) => atomOf(match) ?? [])
    .filter(({ year, start, end }) => year === null || !isTaken(others, start, end));
  const spans: DateSpan[] = [];
  for (let at = 0; at < atoms.length; at++) {
    const first = atoms[at];
    if (first === undefined) continue;
    const second = atoms[at + 1];
    if (second !== undefined && !first.isPresent && isJoined(text, first, second)) {
      spans.push(rangeOf(first, second));
      at++;
    } else if (first.year !== null && !first.isShort) {
      const since = /(?:since|from|seit|depuis|desde|dal|sinds|ab)\s{1,2}$/i.test(
        text.slice(Math.max(0, first.start - 8), first.start),
      );
      spans.push({
        start: first.start,
        end: first.end,
        from: pointOf(first),
        to: since ? 'present' : null,
        isRange: since,
      });
    }
  }
  return spans;
}

function isJoined(text: string, first: Atom, second: Atom): boolean {
  const gap = text.slice(first.end, second.start);
  if (gap.length > 12) return false;
  if (second.year === null && !second.isPresent) return false;
  if (JOINT.test(gap)) return isInOrder(first, second);
  return (
    LOST_JOINT.test(gap) &&
    first.year !== null &&
    isInOrder(first, second) &&
    (second.isPresent || !first.isShort)
  );
}

function isInOrder(first: Atom, second: Atom): boolean {
  if (second.isPresent || first.year === null || second.year === null) return true;
  return first.year <= second.year;
}

function rangeOf(first: Atom, second: Atom): DateSpan {
  const from =
    first.year === null && second.year !== null ? { year: second.year, month: first.month } : pointOf(first);
  return {
    start: first.start,
    end: second.end,
    from,
    to: second.isPresent ? 'present' : pointOf(second),
    isRange: true,
  };
}

function pointOf(atom: Atom): DatePoint | null {
  return atom.year === null ? null : { year: atom.year, month: atom.month };
}

function atomOf(match: RegExpMatchArray): Atom | null {
  const groups = match.groups ?? {};
  const start = match.index ?? 0;
  const atom = (year: number | null, month: number | null, more: Partial<Atom> = {}): Atom => ({
    start,
    end: start + match[0].length,
    year,
    month,
    isPresent: false,
    isShort: false,
    ...more,
  });
  if (groups.now !== undefined) return atom(null, null, { isPresent: true });
  if (groups.lone !== undefined) return atom(Number(groups.lone), null);
  if (groups.iso !== undefined) return atom(Number(groups.iso), Number(groups.isoMonth));
  if (groups.num !== undefined) return atom(Number(groups.numYear), Number(groups.num));
  if (groups.num2 !== undefined)
    return atom(fullYear(groups.numYear2 ?? ''), Number(groups.num2), { isShort: true });
  if (groups.dYear !== undefined) return numericDay(groups, atom);
  if (groups.monthOnly !== undefined) {
    const month = monthNamed(groups.monthOnly);
    return month === null ? null : atom(null, month);
  }
  return wordDate(groups, start, match, atom);
}

type MakeAtom = (year: number | null, month: number | null, more?: Partial<Atom>) => Atom;

/** Day and month in either order: what cannot be a month is the day; where both could be, the day is first. */
function numericDay(groups: Record<string, string | undefined>, atom: MakeAtom): Atom | null {
  const [one, two] = [Number(groups.d1), Number(groups.d2)];
  const month = two <= 12 ? two : one;
  if (month < 1 || month > 12 || one > 31 || two > 31) return null;
  return atom(fullYear(groups.dYear ?? ''), month);
}

function wordDate(
  groups: Record<string, string | undefined>,
  start: number,
  match: RegExpMatchArray,
  atom: MakeAtom,
): Atom | null {
  const word = groups.word ?? '';
  const raw = groups.year ?? '';
  const month = monthNamed(word) ?? SEASON_MONTHS[word.toLowerCase()] ?? null;
  const isShort = raw.length < 4;
  if (month !== null)
    return atom(fullYear(raw.replace(/\D/g, '')), month, { isShort: isShort && raw.length === 2 });
  if (isShort) return null;
  const yearStart = start + match[0].length - raw.length;
  return { ...atom(Number(raw), null), start: yearStart };
}

/** Two digits are this century up to 40, the last one after it. */
function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length > 2) return year;
  return year <= 40 ? 2000 + year : 1900 + year;
}

/** `2019` or `2019-03`. */
export function isoOf(point: DatePoint): string {
  return point.month === null ? String(point.year) : `${point.year}-${String(point.month).padStart(2, '0')}`;
}
