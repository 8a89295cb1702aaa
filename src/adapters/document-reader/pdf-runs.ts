/** The text fragments of a page, and which of them belong together on a line. */

/** A run of text from `left` to `right`; `base` is measured downwards from the top of the page. */
export interface Fragment {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly base: number;
  readonly size: number;
  readonly font: string;
  /** Its position in the file. Most programs write text in reading order. */
  readonly order: number;
  /** Whether its letters are spaced out for style. */
  readonly isSpaced: boolean;
  /** The font of its last letters. */
  readonly endFont: string;
  /** Whether it starts a cell of a table, even if it is close to the previous run. */
  readonly isCell?: boolean;
  /** Whether its page is read from right to left: positions are then mirrored, and `left` is the distance from the right. */
  readonly isMirrored?: boolean;
}

/** An item of pdf.js: the position and size of the text are in a matrix of six numbers. */
export interface PdfItem {
  readonly str: string;
  readonly width: number;
  readonly transform: readonly number[];
  readonly fontName: string;
}

interface PageBox {
  readonly width: number;
  readonly height: number;
  /** From the file's coordinates to the page as displayed, including rotation. */
  readonly transform: readonly number[];
}

/** Smaller letters are not readable by people; such text is meant for programs. */
const SMALLEST_SIZE = 2.5;

interface PageFragments {
  readonly fragments: readonly Fragment[];
  /** The number of texts that a reader of the page would not see. */
  readonly unseen: number;
}

/**
 * Upright text is first. Text rotated by 90 degrees, as on the margins of some layouts, is rotated back and placed
 * below everything else.
 */
export function fragmentsOf(items: readonly PdfItem[], page: PageBox): PageFragments {
  const fragments: Fragment[] = [];
  const seen = new Set<string>();
  let unseen = 0;
  items.forEach((item, order) => {
    if (item.str.trim() === '') return;
    const [a, b, c, d, x, y] = multiply(page.transform, item.transform);
    const size = Math.hypot(c, d);
    const isUpright = Math.abs(b) <= Math.abs(a);
    if (size < SMALLEST_SIZE || x < -size || y < -size || x > page.width + size || y > page.height + size) {
      unseen += 1;
      return;
    }
    const [left, base] = isUpright ? [x, y] : turnedBack(x, y, b < 0, page);
    // Some programs render bold letters by writing them twice, slightly offset.
    const place = `${Math.round(left)} ${Math.round(base)} ${item.str}`;
    if (seen.has(place)) return;
    seen.add(place);
    const text = closeLetters(item.str);
    fragments.push({
      text,
      left,
      right: left + item.width,
      base,
      size,
      font: item.fontName,
      endFont: item.fontName,
      order,
      isSpaced: text !== item.str,
    });
  });
  const placed = isReadFromRight(fragments) ? fragments.map((one) => mirrored(one, page)) : fragments;
  return { fragments: joinName(joinDates(rowsOf(closeShortWords(placed)))), unseen };
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/gu;
const LETTERS = /\p{L}/gu;
/** A CV in Hebrew or Arabic has many names in Latin letters. */
const LEAST_FROM_RIGHT = 0.3;

function isReadFromRight(fragments: readonly Fragment[]): boolean {
  let [all, fromRight] = [0, 0];
  for (const { text } of fragments) {
    all += text.match(LETTERS)?.length ?? 0;
    fromRight += text.match(RIGHT_TO_LEFT)?.length ?? 0;
  }
  return fromRight > 0 && fromRight >= LEAST_FROM_RIGHT * all;
}

/** Columns, lines and cells are then found as on a page that is read from left to right. */
function mirrored(fragment: Fragment, { width }: PageBox): Fragment {
  const text = isAsDisplayed(fragment.text.trim()) ? inReadingOrder(fragment.text) : fragment.text;
  return { ...fragment, text, left: width - fragment.right, right: width - fragment.left, isMirrored: true };
}

const SIGNS_AROUND = /^(?:[^\p{L}\p{Nd}]*\+[^\p{L}\p{Nd}]*|[.,:;!?%]\s?[\p{Nd}.,:/-]+|[\p{Nd} ().-]+\s?\+)$/u;
const GROUPS = /^\p{Nd}{1,8}(?: \p{Nd}{1,8}){1,5}$/u;

/**
 * Whether a text without letters is in the order in which the page shows it, as most programs write them: a plus sign or a full
 * stop is on the wrong side, or the groups of a telephone number begin with its end ("4567 123 050").
 */
function isAsDisplayed(text: string): boolean {
  if (text.length > LONGEST_NUMBER) return false;
  if (SIGNS_AROUND.test(text)) return true;
  if (!GROUPS.test(text)) return false;
  const groups = text.split(' ');
  const [first = '', last = ''] = [groups[0], groups.at(-1)];
  if (text.length - groups.length < LEAST_PHONE_DIGITS - 1 || /^[0\u0660\u06f0]/.test(first)) return false;
  return /^[0\u0660\u06f0]/.test(last) || (groups.length > 2 && first.length > last.length);
}

const LEAST_PHONE_DIGITS = 8;
const LONGEST_NUMBER = 40;

function inReadingOrder(text: string): string {
  return (text.match(/\p{Nd}+(?:[.,:/-]\p{Nd}+)*|[^\p{Nd}]/gu) ?? []).toReversed().join('');
}

/** The next line of text that runs upwards is to its right; for text that runs downwards, to its left. */
function turnedBack(x: number, y: number, isUpwards: boolean, page: PageBox): [left: number, base: number] {
  const below = page.height + 50;
  return isUpwards ? [page.height - y, below + x] : [y, below + page.width - x];
}

type Matrix = [number, number, number, number, number, number];

function multiply(outer: readonly number[], inner: readonly number[]): Matrix {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = outer;
  const [g = 1, h = 0, i = 0, j = 1, k = 0, l = 0] = inner;
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** A gap of more than the letter size separates columns or cells, not words. */
const APART_SIZES = 1;
/** Blanks between words with spaced-out letters are wider. */
const SPACED_APART_SIZES = 2.5;
/** Narrow cells of a table are closer to each other, and start at the same position as those of other rows. */
const CELL_APART_SIZES = 0.55;
const LEAST_CELLS = 2;
const BLANK_SIZES = 0.13;

/** Rows from top to bottom, each with its runs from left to right; words that belong together are one run. */
export function rowsOf(fragments: readonly Fragment[]): Fragment[][] {
  const byBase = [...fragments].sort((one, other) => one.base - other.base || one.left - other.left);
  const rows: Fragment[][] = [];
  for (const fragment of byBase) {
    const row = rows.at(-1);
    const first = row?.[0];
    if (row !== undefined && first !== undefined && isSameRow(first, fragment)) row.push(fragment);
    else rows.push([fragment]);
  }
  for (const row of rows) row.sort((one, other) => one.left - other.left);
  const beginsCell = cellBeginsIn(rows);
  return rows.map((row) => joinRuns(row, beginsCell));
}

function isSameRow(one: Fragment, other: Fragment): boolean {
  return Math.abs(one.base - other.base) <= 0.4 * Math.max(one.size, other.size);
}

function joinRuns(row: readonly Fragment[], beginsCell: (run: Fragment) => boolean): Fragment[] {
  const runs: { run: Fragment; readonly texts: string[] }[] = [];
  for (const next of row) {
    const current = runs.at(-1);
    const last = current?.run;
    const size = last === undefined ? 0 : Math.max(last.size, next.size);
    const gap = last === undefined ? 0 : next.left - last.right;
    if (current === undefined || last === undefined || next.isCell || gap > apartSizes(last, next) * size) {
      runs.push({ run: next, texts: [next.text] });
      continue;
    }
    if (gap > CELL_APART_SIZES * size && beginsCell(next)) {
      runs.push({ run: { ...next, isCell: true }, texts: [next.text] });
      continue;
    }
    const isParted = gap > BLANK_SIZES * size || (last.isSpaced && next.isSpaced);
    const blank = isParted && !last.text.endsWith(' ') && !next.text.startsWith(' ') ? ' ' : '';
    current.texts.push(blank, next.text);
    current.run = {
      ...last,
      text: last.text + blank + next.text,
      right: Math.max(last.right, next.right),
      order: Math.min(last.order, next.order),
      endFont: next.endFont,
    };
  }
  return runs.map(({ run, texts }) => (texts.length === 1 ? run : { ...run, text: asRead(texts, run) }));
}

/** Texts that run against the page, such as two words in Latin letters on a page in Hebrew, are in the order of their script. */
function asRead(texts: readonly string[], { isMirrored = false }: Fragment): string {
  const runsAgainst = texts.map((text) => directionOf(text, isMirrored));
  if (!runsAgainst.includes('against')) return texts.join('');
  const read = [...texts];
  for (let from = 0; from < read.length; from += 1) {
    if (runsAgainst[from] !== 'against') continue;
    let to = from;
    for (let at = from; at < read.length && runsAgainst[at] !== 'along'; at += 1)
      if (runsAgainst[at] === 'against') to = at;
    read.splice(from, to - from + 1, ...read.slice(from, to + 1).reverse());
    from = to;
  }
  return read.join('');
}

/** Digits and punctuation have no direction of their own. */
function directionOf(text: string, isMirrored: boolean): 'along' | 'against' | 'neither' {
  if (!/\p{L}/u.test(text)) return 'neither';
  const hasRight = text.search(RIGHT_TO_LEFT) !== -1;
  const isLatin = text.replace(RIGHT_TO_LEFT, '').search(LETTERS) !== -1;
  if (isMirrored) return hasRight ? 'along' : 'against';
  return hasRight && !isLatin ? 'against' : 'along';
}

function apartSizes(last: Fragment, next: Fragment): number {
  return last.isSpaced && next.isSpaced && last.font === next.font ? SPACED_APART_SIZES : APART_SIZES;
}

const PLACE = 3;
const NEIGHBOURHOOD = 100;

/** Whether cells of nearby rows start at the same position as a run, after a gap that is too wide for a blank. */
function cellBeginsIn(rows: readonly (readonly Fragment[])[]): (run: Fragment) => boolean {
  const counts = new Map<string, number>();
  const key = (place: number, strip: number) => `${place} ${strip}`;
  for (const row of rows) {
    row.forEach((run, at) => {
      const last = row[at - 1];
      if (last === undefined || run.left - last.right <= APART_SIZES * Math.max(last.size, run.size)) return;
      const own = key(Math.round(run.left / PLACE), Math.floor(run.base / NEIGHBOURHOOD));
      counts.set(own, (counts.get(own) ?? 0) + 1);
    });
  }
  return ({ left, base }) => {
    const [place, strip] = [Math.round(left / PLACE), Math.floor(base / NEIGHBOURHOOD)];
    let count = 0;
    for (const near of [strip - 1, strip, strip + 1]) count += counts.get(key(place, near)) ?? 0;
    return count >= LEAST_CELLS;
  };
}

const SPACED_WORD = /^(?=.*\p{L})\S(?: {1,3}\S){3,}$/u;
const SPACED_SHORT_WORD = /^\p{L}(?: \p{L}){1,2}$/u;

/** Joins the letters of a word that is spaced out for style, such as "E X P E R I E N C E". */
function closeLetters(text: string): string {
  if (!SPACED_WORD.test(text.trim().replace(/ {2,}/g, '  '))) return text;
  return text
    .trim()
    .split(/ {2,}/)
    .map((word) => word.replaceAll(' ', ''))
    .join(' ');
}

/** Joins "D E" and "U X" if other text of the same font and size on their line is spaced out as well. */
function closeShortWords(fragments: readonly Fragment[]): Fragment[] {
  const style = ({ base, size, font }: Fragment) => `${Math.round(base)} ${size.toFixed(1)} ${font}`;
  const spaced = new Set(fragments.filter(({ isSpaced }) => isSpaced).map(style));
  if (spaced.size === 0) return [...fragments];
  return fragments.map((fragment) => {
    if (fragment.isSpaced || !spaced.has(style(fragment))) return fragment;
    const { text } = fragment;
    const isWord = SPACED_SHORT_WORD.test(text.trim());
    return { ...fragment, text: isWord ? text.replaceAll(' ', '') : text, isSpaced: true };
  });
}

const LONGEST_DATE = 30;
const LONGEST_DATE_END = 20;
const OPEN_DATE = /(?:\d{4}|\d[./]\d{2}|\d{1,2}[./]\d{2,4})\s*[\u2013\u2014\u2212-]$/;
const DATE_END = /^[\p{L}\d][\p{L}\d ./\u2019']*$/u;
const LONE_DATE = /^(?:\p{L}{3,12}\.? |\d{1,2}[./])?(?:19|20)\d\d$/u;
const DATE_END_WITH_DASH = /^[\u2013\u2014\u2212-]\s?[\p{L}\d][\p{L}\d ./\u2019']*$/u;
const MONTHS = /^\p{L}{3,12}\.? ?[\u2013\u2014\u2212-] ?\p{L}{3,12}\.?$/u;
const YEAR = /^(?:19|20)\d\d$/;

/** Joins a period that is wrapped in a narrow column on its first line: "04/2019 –" above "today". */
function joinDates(rows: readonly (readonly Fragment[])[]): Fragment[] {
  const gone = new Set<Fragment>();
  return rows.flatMap((row, at) =>
    row.flatMap((run) => {
      if (gone.has(run)) return [];
      if (run.text.length > LONGEST_DATE) return [run];
      const end = rows
        .slice(at + 1, at + 3)
        .flat()
        .find((other) => endsDate(run, other));
      if (end === undefined) return [run];
      gone.add(end);
      return [
        { ...run, text: `${run.text.trim()} ${end.text.trim()}`, right: Math.max(run.right, end.right) },
      ];
    }),
  );
}

function endsDate(run: Fragment, other: Fragment): boolean {
  const gap = other.base - run.base;
  if (other.font !== run.endFont || Math.abs(other.size - run.size) > 0.2 || gap > 1.8 * run.size)
    return false;
  const isBelow = Math.abs(other.left - run.left) <= 2 || Math.abs(other.right - run.right) <= 2;
  if (!isBelow || other.text.length > LONGEST_DATE_END) return false;
  const [text, end] = [run.text.trim(), other.text.trim()];
  return (
    (OPEN_DATE.test(text) && DATE_END.test(end)) ||
    (LONE_DATE.test(text) && DATE_END_WITH_DASH.test(end)) ||
    (MONTHS.test(text) && YEAR.test(end))
  );
}

/** The letters of a name are larger than the median of the page by at least this factor. */
const NAME_SIZES = 1.5;
const NAME_WORD = /^(?:\p{Ll}{1,3} ){0,2}\p{Lu}[\p{L}\u2019'.-]*$/u;

/** Joins a name in the largest letters of the page whose two parts are below each other. */
function joinName(runs: readonly Fragment[]): Fragment[] {
  const sizes = runs.map(({ size }) => size).sort((one, other) => one - other);
  const largest = sizes.at(-1) ?? 0;
  const words = runs.filter(({ size }) => size > largest - 0.5);
  const [first, second] = words;
  if (first === undefined || second === undefined || words.length !== 2) return [...runs];
  if (largest < NAME_SIZES * (sizes[sizes.length >> 1] ?? 0)) return [...runs];
  const middle = ({ left, right }: Fragment) => (left + right) / 2;
  const isBelow =
    second.base - first.base < 1.6 * largest &&
    [first.left - second.left, first.right - second.right, middle(first) - middle(second)].some(
      (apart) => Math.abs(apart) <= 3,
    );
  if (!isBelow || !words.every(({ text }) => NAME_WORD.test(text.trim()))) return [...runs];
  const right = Math.max(first.right, second.right);
  const name = { ...first, text: `${first.text.trim()} ${second.text.trim()}`, right };
  return runs.filter((run) => run !== second).map((run) => (run === first ? name : run));
}
