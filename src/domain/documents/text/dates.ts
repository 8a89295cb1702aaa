import { findOtherNumbers } from './other-numbers.ts';
import { isTaken } from './tokens.ts';

/** The names and abbreviations of months in sixteen languages; the shortest has three letters. */
const MONTH_NAMES: readonly string[] = [
  'jan januar january janvier janv enero ene gennaio gen janeiro januari jän jänner styczeń stycznia sty ocak ianuarie январь января янв leden ledna január ian genn oca',
  'feb februar february février févr fevrier febrero febbraio fevereiro fev februari luty lutego lut şubat februarie февраль февраля фев fév únor února február febr şub',
  'mar march märz mars marzo março maart mrz mär maerz mrt marts marzec marca mart martie март марта březen března márc március marec',
  'apr april avril avr abril abr aprile kwiecień kwietnia kwi nisan aprilie апрель апреля апр duben dubna ápr április apríl nis',
  'may mai mayo maggio mag maio mei maj maja mayıs май мая květen května máj május',
  'jun june juni juin junio giugno giu junho czerwiec czerwca cze haziran iunie июнь июня июн červen června jún június iun haz',
  'jul july juli juillet juil julio luglio lug julho lipiec lipca lip temmuz iulie июль июля июл červenec července júl július iul tem',
  'aug august août aout agosto ago augustus augusti sierpień sierpnia sie ağustos август августа авг srpen srpna augusztus ağu',
  'sep sept september septembre septiembre settembre set setembro wrzesień września wrz eylül septembrie сентябрь сентября сен září szeptember szept sett eyl',
  'oct october oktober okt octobre octubre ottobre ott outubro out październik października paź ekim octombrie октябрь октября окт říjen října október eki',
  'nov november novembre noviembre novembro listopad listopada lis kasım noiembrie ноябрь ноября ноя noi kas',
  'dec december dezember dez décembre decembre diciembre dic dicembre dezembro desember des grudzień grudnia gru aralık decembrie декабрь декабря дек déc prosinec prosince ara',
];

const MONTHS = new Map(
  MONTH_NAMES.flatMap((names, at) => names.split(' ').map((name): [string, number] => [name, at + 1])),
);

/** The month in which work or a term of that season starts. */
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

/** Longer forms are first, because the first match is used. */
const PRESENT_WORDS =
  'presently|present|currently|current|now|today|till date|to date|till now|till present|until now|(?<=(?:to|till|until|[-–—])\\s{0,2})date|ongoing|on-going|' +
  "heute|aktuell|jetzt|laufend|andauernd|derzeit|fortlaufend|gegenwärtig|(?<=(?:bis|[-–—])\\s{0,2})dato|aujourd['’]hui|présent|actuellement|actuel|ce jour|en cours|maintenant|" +
  'la actualidad|actualidad|la fecha|actualmente|actual|ao presente|presente|vigente|oggi|in corso|attualmente|attuale|tuttora|atualmente|atual|hoje|ao momento|o momento|à data|heden|nu|huidig|' +
  'obecnie|aktualnie|teraz|nadal|dzisiaj|dziś|chwili obecnej|pågående|pågår|nuvarande|tills vidare|idag|i dag|nåværende|nuværende|' +
  'halen|hâlen|hâlâ|devam ed[iİ]yor|devam etmekte|günümüze?|bugüne?|şu an|în prezent|prezent|současnosti?|dosud|doposud|nyní|trvá|súčasnosť|súčasnosti|doteraz|' +
  'jelenleg|napjainkig|mostanáig|folyamatban|(?<=[-–—]\\s{0,2})jelen|настоящее время|至今|现在|現在';

const PRESENT = new RegExp(`^(?:${PRESENT_WORDS}|date)$`, 'i');

/** Whether a text means only "until today". */
export function meansPresent(text: string): boolean {
  return PRESENT.test(text);
}

/** A year, and a month if the text gives one. */
interface DatePoint {
  readonly year: number;
  /** 1 to 12, or null if only the year is given. */
  readonly month: number | null;
}

type RangeEnd = DatePoint | 'present' | null;

export interface DateSpan {
  readonly start: number;
  readonly end: number;
  /** The start of the end date if that is on another line; otherwise the start of the whole span. */
  readonly endStart: number;
  readonly from: DatePoint | null;
  /** Null for a single date. */
  readonly to: RangeEnd;
  readonly isRange: boolean;
}

interface Atom {
  readonly start: number;
  readonly end: number;
  readonly year: number | null;
  readonly month: number | null;
  /** The last month, if it differs: for a quarter. */
  readonly lastMonth?: number;
  readonly isPresent: boolean;
  /** Written with two digits: a date only as part of a time span. */
  readonly isShort: boolean;
  readonly isRoman?: boolean;
}

/** A word that may be a month or a season, which the tables decide. */
const WORD = '\\p{L}{3,12}';
const YEAR = '(?:19|20)\\d\\d';
/** Not the first digit of a year or of a day. */
const MONTH_NUMBER = '(?:0?[1-9]|1[0-2])(?![\\d.,])';
/** Months in Roman numerals, as in Poland and Romania: "III 2015", "15 III 2015". */
const ROMAN = '(?:XI{0,2}|IX|IV|VI{0,3}|I{1,3})';
const ROMAN_MONTHS = ['I', 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX', 'X', 'XI', 'XII'];
const ATOM = new RegExp(
  [
    `(?<![\\p{L}\\d.])(?:\\d{1,2}[. ])?(?<roman>${ROMAN})[./ -](?<romanYear>${YEAR})(?!\\d|%)`,
    `(?<![\\p{L}\\d])(?:(?<day>\\d{1,2})(?:st|nd|rd|th|\\.)?[ ]?)?(?<word>${WORD})\\.?[ ]?(?:(?<day2>\\d{1,2})(?:st|nd|rd|th)?,?[ ]{1,2})?(?:of |de |del )?[,'’‘\`\\- ]{0,3}(?<year>${YEAR}|['’‘\`]?\\d\\d(?![\\d%.,:]))(?!\\d|-\\d\\d-\\d\\d(?!\\d))`,
    `(?<![\\p{L}\\d$€£#./-]|\\d,)(?<yearFirst>(?:19[4-9]|20[0-4])\\d)[.,]? (?<monthAfter>${WORD})(?!\\p{L}|\\.?[ ]?['’‘,]?[ ]?\\d)`,
    `(?<![\\p{L}\\d])Q(?<quarter>[1-4])[ /'’-]{0,2}(?<quarterYear>${YEAR})(?!\\d)`,
    `(?<![\\d./-])(?<quarterYear2>${YEAR})[ /-]{0,2}Q(?<quarter2>[1-4])(?![\\p{L}\\d])`,
    `(?<!\\d)(?<cjkYear>${YEAR})年(?:(?<cjkMonth>0?[1-9]|1[0-2])月)?`,
    `(?<![\\d./-])(?<iso>${YEAR})(?:[-/.]|\\. (?=\\d\\d\\.))(?<isoMonth>0?[1-9]|1[0-2])(?:[-/.](?:[0-2]?\\d|3[01]))?(?![\\d])`,
    `(?<![\\d./-]|\\d [-–/] )(?<spaced>(?<spacedYear>${YEAR}) (?<mark>[-–/.]) (?<spacedMonth>${MONTH_NUMBER})) (?!\\k<mark>)(?:[-–—/]|to|bis|a|à) (?:(?<lastYear>${YEAR}) \\k<mark> (?<lastMonth>${MONTH_NUMBER})|(?<lastNow>${PRESENT_WORDS})(?!\\p{L}))`,
    `(?<![\\d./-])(?<d1>\\d{1,2})[./-](?<d2>\\d{1,2})[./-](?<dYear>${YEAR}|\\d\\d)(?!\\d|[./-]\\d)`,
    `(?<![\\d./]|(?<!${YEAR})-)(?<num>0?[1-9]|1[0-2])[ ]?[./-][ ]?(?<numYear>${YEAR})(?![\\d]|[.]\\d)`,
    `(?<![\\d./]|(?<!/\\d\\d)-)(?<num2>0?[1-9]|1[0-2])/(?<numYear2>\\d\\d)(?![\\d/])`,
    `(?<![\\p{L}\\d.,$€£#/-])(?<pair>${YEAR})[-–/](?<pairEnd>\\d\\d)(?!\\d|[./-]\\d|%)`,
    `(?<![\\p{L}\\d$€£#]|\\d[.,])(?<lone>(?:19[4-9]|20[0-4])\\d)(?![\\d%]|[.,]\\d)`,
    `(?<![\\p{L}\\d])['’‘\`](?<two>\\d\\d)(?![\\p{L}\\d])`,
    `(?<![\\p{L}\\d])(?<now>${PRESENT_WORDS})(?![\\p{L}\\d])`,
    `(?<![\\p{L}\\d])(?<monthOnly>${WORD})(?=\\.? ?(?:-|–|—|to|bis|/) ?\\p{L}{3,10}\\.?,? ?['’‘]?\\d{2,4})`,
  ].join('|'),
  'giu',
);

const JOINT_WORD =
  "to|until|till|through|thru|up to|bis(?: zum)?|à|au|jusqu['’](?:à|en|au)|al|a|hasta(?: la)?|fino a[dl]?|ad|até|tot(?: en met| op)?|t/m|do|až do|až|po|по|до|till och med|t\\.o\\.m\\.|til|până(?: în| la)?|至|and";
/** A dash, a word or both: "2015 – 2018", "2015 to 2018", "2015 – până în prezent"; "2015-től 2018-ig". */
const JOINT = new RegExp(
  `^(?:[\\s,.)\\]]{0,3}(?:(?:-{1,3}>?|–|—|−|~|→|>|»)(?:\\s?(?:${JOINT_WORD}))?|${JOINT_WORD}|/)|-?t[óő]l)[\\s(,.]{0,3}$`,
  'iu',
);
/** "From: 03/2015 To: 06/2018", "Start date: 2015, End date: 2018", on one line or two. */
const LABELLED_JOINT =
  /^[\s,.;|)•▪●*-]{0,6}(?:to|until|till|end(?:ed|ing)?|finish(?:ed)?|left|bis|ende|hasta|fin|fine|fim|tot|einde|au)(?: ?(?:date|datum|year))?\s{0,2}:?\s{1,3}$|^[\s,.;|)•▪●*-]{0,6}(?:to|end|bis|hasta|fin)(?: ?date)?:$/iu;
/**
 * In texts that lost their dashes, consecutive years, or a year and "present", are still a span; so are two table
 * cells.
 */
const LOST_JOINT = /^(?:[ \u00a0]{1,3}| ?\t ?)$/;
const LONGEST_JOINT = 24;
const SINCE =
  /(?:^|[^\p{L}])(?:since|from|seit|ab|depuis|dès|desde|dal|a partire dal|a partir de|sinds|vanaf|od|sedan|från|siden|fra|începând cu|с)(?: dem| el| le| o)?:?\s{1,2}$/iu;
/** "2015-től", "2015 óta", "2015'ten beri". */
const SINCE_BEHIND = /^(?:-?t[óő]l| óta|['’]?[dt][ae]n (?:beri|bu yana|itibaren))(?!\p{L})/iu;
/** A dash or an arrow at the end of its line or cell: the span continues to the present. */
const OPEN_END = /^ ?(?:[-–—]|→|-{1,2}>)(?:[ \t]*(?:\n|$)| ?\t(?!\d)| {3,}(?![\d ]))/;
const LONGEST_OPEN_END = 40;

export function findDates(text: string): DateSpan[] {
  const others = findOtherNumbers(text);
  const atoms = withoutOtherRoman(text, atomsIn(text)).filter(
    ({ year, start, end }) => year === null || !isTaken(others, start, end),
  );
  const spans: DateSpan[] = [];
  for (let at = 0; at < atoms.length; at++) {
    const first = atoms[at];
    if (first === undefined) continue;
    const second = atoms[at + 1];
    if (second !== undefined && !first.isPresent && isJoined(text, first, second)) {
      spans.push(rangeOf(text, first, second));
      at++;
    } else if (first.year !== null && !first.isShort) {
      const goesOn =
        SINCE.test(text.slice(Math.max(0, first.start - 18), first.start)) ||
        SINCE_BEHIND.test(text.slice(first.end, first.end + 20)) ||
        (OPEN_END.test(text.slice(first.end, first.end + LONGEST_OPEN_END)) && opensLine(text, first.start));
      spans.push({
        start: first.start,
        end: first.end,
        endStart: first.start,
        from: pointOf(first),
        to: goesOn ? 'present' : null,
        isRange: goesOn,
      });
    }
  }
  return spans;
}

/** A word that is not a month may have consumed a date, so the search continues right after the word. */
function atomsIn(text: string): Atom[] {
  const atoms: Atom[] = [];
  ATOM.lastIndex = 0;
  for (let match = ATOM.exec(text); match !== null; match = ATOM.exec(text)) {
    const { word, monthAfter, monthOnly } = match.groups ?? {};
    const name = word ?? monthAfter ?? monthOnly;
    if (name !== undefined && (monthOrSeason(name) === null || isNextSentence(match))) {
      // In "2015 Berlin", the year is kept as a date of its own.
      const isYear = monthAfter !== undefined;
      if (isYear) atoms.push(yearOf(match));
      ATOM.lastIndex = match.index + match[0].indexOf(name) + name.length;
    } else atoms.push(...atomsOf(match));
  }
  return atoms;
}

/** The start of a cell, optionally followed by a day of the month. */
const CELL_BEGINS = /(?:^|[\n\t([:|•,;]| {2}) ?(?:\d{1,2}[. ])?$/;

/**
 * "Engineer II 2015" and "Class XII 2013" contain only a year: Roman months occur at both ends of a span, or before
 * "until today".
 */
function withoutOtherRoman(text: string, atoms: readonly Atom[]): Atom[] {
  const isPair = (one: Atom | undefined, other: Atom | undefined) =>
    one?.isRoman === true && other?.isRoman === true && isJoined(text, one, other);
  return atoms.map((atom, at) => {
    if (atom.isRoman !== true || isPair(atoms[at - 1], atom) || isPair(atom, atoms[at + 1])) return atom;
    const before = text.slice(Math.max(0, atom.start - 18), atom.start);
    const next = atoms[at + 1];
    const goesOn =
      SINCE.test(before) ||
      (next?.isPresent === true && isJoined(text, atom, next) && CELL_BEGINS.test(before));
    return goesOn ? atom : { ...atom, start: atom.end - 4, month: null };
  });
}

/** "2018. szeptember" is a month, but "… in 2018. May …" is a year and the next sentence. */
function isNextSentence({ 0: whole, groups }: RegExpExecArray): boolean {
  return groups?.monthAfter !== undefined && whole[4] === '.' && /^\p{Lu}/u.test(groups.monthAfter);
}

function yearOf(match: RegExpExecArray): Atom {
  const start = match.index;
  return {
    start,
    end: start + 4,
    year: Number(match.groups?.yearFirst),
    month: null,
    isPresent: false,
    isShort: false,
  };
}

/** Whether at most six words precede it on its line: a sentence that is broken at a dash has more. */
function opensLine(text: string, start: number): boolean {
  const line = text.slice(Math.max(0, start - 60), start);
  return (
    line
      .slice(line.lastIndexOf('\n') + 1)
      .trim()
      .split(/\s+/).length <= 6
  );
}

function isJoined(text: string, first: Atom, second: Atom): boolean {
  const gap = text.slice(first.end, second.start);
  if (gap.length > LONGEST_JOINT) return false;
  if (second.year === null && !second.isPresent) return false;
  if (JOINT.test(gap) || LABELLED_JOINT.test(gap)) return isInOrder(first, second);
  return (
    LOST_JOINT.test(gap) &&
    first.year !== null &&
    isInOrder(first, second) &&
    (second.isPresent || (!first.isShort && !second.isShort))
  );
}

function isInOrder(first: Atom, second: Atom): boolean {
  if (second.isPresent || first.year === null || second.year === null) return true;
  return first.year <= second.year;
}

function rangeOf(text: string, first: Atom, second: Atom): DateSpan {
  const from =
    first.year === null && second.year !== null ? { year: second.year, month: first.month } : pointOf(first);
  const to = second.year === null ? null : { year: second.year, month: second.lastMonth ?? second.month };
  const isBroken = text.slice(first.end, second.start).includes('\n');
  return {
    start: first.start,
    end: second.end,
    endStart: isBroken ? second.start : first.start,
    from,
    to: second.isPresent ? 'present' : to,
    isRange: true,
  };
}

function pointOf(atom: Atom): DatePoint | null {
  return atom.year === null ? null : { year: atom.year, month: atom.month };
}

type Groups = Readonly<Record<string, string | undefined>>;
type MakeAtom = (year: number | null, month: number | null, more?: Partial<Atom>) => Atom;

/** Two for a pair of years ("2015/16"), otherwise one or none. */
function atomsOf(match: RegExpMatchArray): Atom[] {
  const groups: Groups = match.groups ?? {};
  const start = match.index ?? 0;
  const end = start + match[0].length;
  const atom: MakeAtom = (year, month, more = {}) => ({
    start,
    end,
    year,
    month,
    isPresent: false,
    isShort: false,
    ...more,
  });
  if (groups.roman !== undefined) {
    const month = ROMAN_MONTHS.indexOf(groups.roman) + 1;
    const year = Number(groups.romanYear);
    return [month > 0 ? atom(year, month, { isRoman: true }) : atom(year, null, { start: end - 4 })];
  }
  if (groups.now !== undefined) return [atom(null, null, { isPresent: true })];
  if (groups.lone !== undefined) return [atom(Number(groups.lone), null)];
  if (groups.pair !== undefined) return pairOf(groups, atom, start, end);
  if (groups.spaced !== undefined) return spacedPair(groups, atom, start, end);
  if (groups.two !== undefined) return [atom(fullYear(groups.two), null, { isShort: true })];
  if (groups.monthOnly !== undefined) {
    const month = MONTHS.get(groups.monthOnly.toLowerCase());
    return month === undefined ? [] : [atom(null, month)];
  }
  if (groups.word !== undefined) return wordDate(groups, atom);
  return numbered(groups, atom);
}

/** "2015-16" is a pair of years if the second is at most ten years later; otherwise only the first is a year. */
function pairOf(groups: Groups, atom: MakeAtom, start: number, end: number): Atom[] {
  const year = Number(groups.pair);
  const second = Math.floor(year / 100) * 100 + Number(groups.pairEnd);
  const last = second < year ? second + 100 : second;
  const first = atom(year, null, { end: start + 4 });
  if (last <= year || last - year > 10) return [first];
  return [first, atom(last, null, { start: end - 2 })];
}

/** "2023 - 7 / 2024 - 1": the mark within a date differs from the one between both. */
function spacedPair(groups: Groups, atom: MakeAtom, start: number, end: number): Atom[] {
  const { spaced = '', spacedYear, spacedMonth, lastYear, lastMonth, lastNow } = groups;
  const first = atom(Number(spacedYear), Number(spacedMonth), { end: start + spaced.length });
  if (lastNow !== undefined)
    return [first, atom(null, null, { start: end - lastNow.length, isPresent: true })];
  const last = { start: end - `${lastYear} - ${lastMonth}`.length };
  return [first, atom(Number(lastYear), Number(lastMonth), last)];
}

function numbered(groups: Groups, atom: MakeAtom): Atom[] {
  const { yearFirst, monthAfter = '', iso, num, num2, numYear2 = '', cjkYear } = groups;
  if (yearFirst !== undefined) return [atom(Number(yearFirst), monthOrSeason(monthAfter))];
  if (iso !== undefined) return [atom(Number(iso), Number(groups.isoMonth))];
  if (num !== undefined) return [atom(Number(groups.numYear), Number(num))];
  if (num2 !== undefined) return [atom(fullYear(numYear2), Number(num2), { isShort: true })];
  if (cjkYear !== undefined)
    return [atom(Number(cjkYear), groups.cjkMonth === undefined ? null : Number(groups.cjkMonth))];
  const quarter = groups.quarter ?? groups.quarter2;
  if (quarter !== undefined) {
    const last = Number(quarter) * 3;
    return [atom(Number(groups.quarterYear ?? groups.quarterYear2), last - 2, { lastMonth: last })];
  }
  const day = numericDay(groups, atom);
  return day === null ? [] : [day];
}

/** Day and month in either order: a number that cannot be a month is the day; if both could be, the day is first. */
function numericDay(groups: Groups, atom: MakeAtom): Atom | null {
  const [one, two] = [Number(groups.d1), Number(groups.d2)];
  const month = two <= 12 ? two : one;
  if (month < 1 || month > 12 || one > 31 || two > 31) return null;
  return atom(fullYear(groups.dYear ?? ''), month);
}

function monthOrSeason(word: string): number | null {
  const lower = word.toLowerCase();
  return MONTHS.get(lower) ?? SEASON_MONTHS[lower] ?? null;
}

function wordDate(groups: Groups, atom: MakeAtom): Atom[] {
  const raw = groups.year ?? '';
  const month = monthOrSeason(groups.word ?? '');
  return [atom(fullYear(raw.replace(/\D/g, '')), month, { isShort: raw.length === 2 })];
}

/** Two digits up to 40 are in this century, others in the last one. */
function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length > 2) return year;
  return year <= 40 ? 2000 + year : 1900 + year;
}

/** `2019` or `2019-03`. */
export function isoOf(point: DatePoint): string {
  return point.month === null ? String(point.year) : `${point.year}-${String(point.month).padStart(2, '0')}`;
}
