import type { Mention } from '../tagger/decode.ts';
import type { DateSpan } from '../text/dates.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Token } from '../text/tokens.ts';
import { namesPosition } from '../words/word-lists.ts';
import { isOfForm } from './form-labels.ts';
import { isLabel, type SeenMentions, SPAN_WORD } from './mentions.ts';

/** The parts that an entry of a CV is composed of, in text order. */
export type Anchor =
  | {
      readonly kind: 'date';
      readonly start: number;
      readonly end: number;
      readonly segment: number;
      readonly date: DateSpan;
    }
  | {
      readonly kind: 'head' | 'place' | 'part';
      readonly start: number;
      readonly end: number;
      readonly segment: number;
      readonly mention: Mention;
    };

/**
 * One job or course of study. `head` is the organisation, `part` the position or degree. An entry without an
 * organisation may have that of the entry above (`inherits`).
 */
export interface Entry {
  head: Mention | null;
  part: Mention | null;
  place: Mention | null;
  date: DateSpan | null;
  firstSegment: number;
  lastSegment: number;
  readonly beganWith: Anchor['kind'];
  inherits: boolean;
}

/**
 * Groups adjacent anchors into entries. A new entry starts if an anchor has a kind that the entry already has, and
 * after a description. This works for layouts with the organisation, the position or the dates first and for tables,
 * because none of them repeats a kind within an entry.
 */
export function groupEntries(laidOut: LaidOutText, anchors: readonly Anchor[]): Entry[] {
  const entries: Entry[] = [];
  let current: Entry | null = null;
  anchors.forEach((anchor, at) => {
    if (current !== null && (isNew(laidOut, current, anchor) || isOfOneLine(current, anchors, at)))
      current = null;
    if (current === null) {
      current = begin(anchor);
      entries.push(current);
    }
    take(current, anchor);
  });
  inheritHeads(entries);
  return entries;
}

/**
 * "Developer, Acme Ltd" below a line with another name: the position belongs to the organisation on its own line.
 */
function isOfOneLine(entry: Entry, anchors: readonly Anchor[], at: number): boolean {
  const anchor = anchors[at];
  const next = anchors[at + 1];
  return (
    anchor?.kind === 'part' &&
    next?.kind === 'head' &&
    next.segment === anchor.segment &&
    entry.head !== null &&
    entry.head.segment < anchor.segment &&
    entry.part === null &&
    entry.date === null
  );
}

function begin(anchor: Anchor): Entry {
  const { segment } = anchor;
  return {
    head: null,
    part: null,
    place: null,
    date: null,
    firstSegment: segment,
    lastSegment: segment,
    beganWith: anchor.kind,
    inherits: false,
  };
}

function take(entry: Entry, anchor: Anchor): void {
  if (anchor.kind === 'date')
    entry.date = entry.date === null || anchor.date.isRange ? anchor.date : entry.date;
  else if (anchor.kind === 'place') entry.place ??= anchor.mention;
  else entry[anchor.kind] ??= anchor.mention;
  entry.lastSegment = anchor.segment;
}

function isNew(laidOut: LaidOutText, entry: Entry, anchor: Anchor): boolean {
  if (laidOut.sections[anchor.segment] !== laidOut.sections[entry.lastSegment]) return true;
  if (anchor.kind === 'place') return false;
  const distance = anchor.segment - entry.lastSegment;
  if (anchor.kind !== 'date' && isNextOfForm(entry, anchor, distance)) return false;
  const isFilled = entry.head !== null || entry.part !== null;
  if (distance > 0 && isFilled && hasProse(laidOut, entry.lastSegment, anchor.segment)) return true;
  if (distance > 6) return true;
  if (!isFilled && anchor.kind !== 'date' && isDateOfAbove(laidOut, entry, anchor.segment)) return true;
  // An entry with its date, then an empty line: the next anchor starts a new entry.
  const isWhole = isFilled && entry.date !== null;
  if (isWhole && beginsBlock(laidOut, entry.lastSegment, anchor.segment)) return true;
  if (anchor.kind !== 'date') {
    if (entry[anchor.kind] === null) return false;
    // "Developer / Tester": two positions on one line belong to one entry, unless each has a date.
    return !(anchor.segment === entry[anchor.kind]?.segment && entry.date === null && entry.head === null);
  }
  if (entry.date === null) return false;
  // A year in a name or a remark is weaker than a time span next to it.
  const isWeaker = !entry.date.isRange && anchor.date.isRange;
  if (isWeaker) return distance > 0 && isDateColumn(laidOut, entry, anchor);
  if (entry.date.isRange && !anchor.date.isRange && distance === 0) return false;
  // If the organisation has a time span and the position has one on its own line, that of the position is used.
  const isPartsOwn =
    entry.part?.segment === anchor.segment &&
    entry.beganWith === 'head' &&
    entry.date.end < (entry.part?.start ?? 0);
  return !isPartsOwn;
}

/** "2022  Open University" above "2013 - 2016  Canterbury …": both lines begin with a date and go on with what it is of. */
function isDateColumn({ segments }: LaidOutText, entry: Entry, anchor: Anchor): boolean {
  const { beganWith, firstSegment, date, head, part } = entry;
  const leads = (segment: number, { start, end }: { start: number; end: number }) => {
    const own = segments[segment];
    const isFirst = own?.beginsLine === true && own.start === start;
    return isFirst && (own.end - end > LONGEST_SIGN || segments[segment + 1]?.beginsLine === false);
  };
  const isBeside = (mention: Mention | null) =>
    mention !== null &&
    (mention.segment === firstSegment ||
      (mention.segment === firstSegment + 1 && segments[mention.segment]?.beginsLine === false));
  if (beganWith !== 'date' || date === null || !(isBeside(head) || isBeside(part))) return false;
  return leads(firstSegment, date) && leads(anchor.segment, anchor);
}

/** A date alone on its line may have a full stop or a bracket behind it. */
const LONGEST_SIGN = 3;
const LONGEST_FORM = 12;

/** A form may name the employer below the duties: a labelled value belongs to a labelled entry that lacks it. */
function isNextOfForm(
  entry: Entry,
  { kind, mention }: Exclude<Anchor, { kind: 'date' }>,
  distance: number,
): boolean {
  if (kind === 'place' || mention.isLabelled !== true || entry[kind] !== null) return false;
  return (entry.head ?? entry.part)?.isLabelled === true && distance <= LONGEST_FORM;
}

/** A time span at the end of a block belongs to the text above or next to it, even if that could not be read. */
function isDateOfAbove(
  laidOut: LaidOutText,
  { date, firstSegment, lastSegment }: Entry,
  segment: number,
): boolean {
  const { segments, text } = laidOut;
  const own = segments[lastSegment];
  if (date === null || own === undefined || firstSegment !== lastSegment) return false;
  if (!beginsBlock(laidOut, lastSegment, segment)) return false;
  const beside = `${text.slice(own.start, date.start)}${text.slice(date.end, own.end)}`;
  const isAlone = own.beginsBlock && !/\p{L}{3}/u.test(beside);
  // If every line is its own block, blocks carry no information.
  const isBlock = segments[segment + 1]?.beginsBlock === false || segments[segment]?.beginsBlock === false;
  return !isAlone && isBlock;
}

function beginsBlock({ segments }: LaidOutText, after: number, upTo: number): boolean {
  for (let segment = after + 1; segment <= upTo; segment++)
    if (segments[segment]?.beginsBlock === true) return true;
  return false;
}

/** A descriptive line: longer than a header, or a bullet of some length. */
function hasProse({ segments, tokenStarts }: LaidOutText, after: number, before: number): boolean {
  for (let segment = after + 1; segment < before; segment++) {
    const length = (tokenStarts[segment + 1] ?? 0) - (tokenStarts[segment] ?? 0);
    if (length > 13 || (segments[segment]?.isBulleted === true && length > 3)) return true;
  }
  return false;
}

/** Positions under one organisation: after a promotion, the organisation is not named again. */
function inheritHeads(entries: Entry[]): void {
  entries.forEach((entry, at) => {
    const above = entries[at - 1];
    if (entry.head !== null || entry.part === null || entry.date === null || above === undefined) return;
    if (above.head === null || (above.beganWith !== 'head' && !above.inherits)) return;
    entry.head = above.head;
    entry.inherits = true;
  });
}

const SMALL = /^(?:of|and|&|for|the|de|di|du|des|der|für|und|e|y|et|\.|'|’|-|\/|\(|\))$/iu;
const JOINT = /^(?:,|-|–|—|at|@|\||:|bei|chez|bij|presso|\/|with|for)$/i;
const MOST_GAP_TOKENS = 9;

/**
 * An entry with a position and a time span also names its employer, and one with an employer its position: on the same
 * line, or on a line next to it. Capitalized words there are accepted if they are nothing else and the tagger considers
 * them likely.
 */
export function fillGaps(
  laidOut: LaidOutText,
  entries: readonly Entry[],
  { mentions, isLikely }: SeenMentions,
): void {
  const taken = [...mentions]
    .filter(({ kind }) => kind !== 'skill')
    .sort((one, other) => one.from - other.from);
  const used = new Set<number>();
  const isFree = (from: number, to: number) => !taken.some((one) => one.from < to && from < one.to);
  const claim = (run: { from: number; to: number } | null, kind: 'company' | 'title'): Mention | null => {
    if (run === null || used.has(run.from)) return null;
    const [first, last] = [laidOut.tokens[run.from], laidOut.tokens[run.to - 1]];
    if (first === undefined || last === undefined) return null;
    const mention: Mention = {
      kind,
      ...run,
      start: first.start,
      end: last.end,
      segment: first.segment,
      confidence: 0.4,
    };
    if (isLabel(laidOut, mention) || isOfForm(laidOut, mention)) return null;
    // A school may also be an employer; anything unlikely to be either is just the first word of a line.
    const isPossible =
      isLikely(kind, run.from, run.to) || (kind === 'company' && isLikely('school', run.from, run.to));
    if (!isPossible) return null;
    used.add(run.from);
    return mention;
  };
  for (const entry of entries) {
    if (entry.date === null) continue;
    if (entry.head === null && entry.part !== null) {
      const own = besideOf(laidOut, entry.part, isFree);
      entry.head = claim(own ?? lineNear(laidOut, entry, entry.part.segment, isFree, () => true), 'company');
    } else if (entry.part === null && entry.head !== null && !entry.inherits) {
      const isTitle = (words: readonly Token[]) => namesPosition(words.map(({ lower }) => lower));
      entry.part = claim(lineNear(laidOut, entry, entry.head.segment, isFree, isTitle), 'title');
    }
  }
}

/** "Developer, Blue Harbour" and "Developer at Blue Harbour": separated by a comma or a word, on the same line. */
function besideOf(
  { tokens, tokenStarts }: LaidOutText,
  part: Mention,
  isFree: (from: number, to: number) => boolean,
): { from: number; to: number } | null {
  const end = tokenStarts[part.segment + 1] ?? 0;
  if (JOINT.test(tokens[part.to]?.text ?? '') && part.to + 1 < end) {
    const run = capitalRun(tokens, part.to + 1, end);
    if (run !== null && isFree(run.from, run.to)) return run;
  }
  const start = tokenStarts[part.segment] ?? 0;
  if (JOINT.test(tokens[part.from - 1]?.text ?? '') && part.from - 1 > start) {
    const run = capitalRun(tokens, start, part.from - 1);
    if (run !== null && run.to === part.from - 1 && isFree(run.from, run.to)) return run;
  }
  return null;
}

function lineNear(
  laidOut: LaidOutText,
  entry: Entry,
  segment: number,
  isFree: (from: number, to: number) => boolean,
  accepts: (words: readonly Token[]) => boolean,
): { from: number; to: number } | null {
  const { tokens, tokenStarts, segments, headings, sections } = laidOut;
  for (const near of [segment + 1, segment - 1, segment + 2]) {
    if (near < entry.firstSegment - 1 || near > entry.lastSegment + 1) continue;
    const [from, to] = [tokenStarts[near] ?? 0, tokenStarts[near + 1] ?? 0];
    const line = segments[near];
    if (line === undefined || to - from > MOST_GAP_TOKENS + 3 || headings[near] !== null || line.isBulleted)
      continue;
    if (sections[near] !== sections[segment] || /[.!?:]$/.test(line.text)) continue;
    const run = capitalRun(tokens, from, to);
    if (
      run !== null &&
      run.from === from &&
      !isListBegin(tokens, run.to, to) &&
      isFree(run.from, run.to) &&
      accepts(tokens.slice(run.from, run.to))
    )
      return run;
  }
  return null;
}

/** "Caisse, planning, recrutement": the capital is that of a line with a list of duties. */
function isListBegin(tokens: readonly Token[], at: number, to: number): boolean {
  return tokens[at]?.text === ',' && at + 1 < to && /^\p{Ll}/u.test(tokens[at + 1]?.text ?? '');
}

/** Capitalized words, with the small words that occur in names, from the first token on. */
function capitalRun(tokens: readonly Token[], from: number, to: number): { from: number; to: number } | null {
  let end = from;
  for (let at = from; at < to && at - from < MOST_GAP_TOKENS; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    if (token.kind === 'word' && /^[\p{Lu}\d]/u.test(token.text)) end = at + 1;
    else if (!SMALL.test(token.text)) break;
  }
  const first = tokens[from];
  if (end === from || first === undefined || !/^\p{Lu}/u.test(first.text)) return null;
  if (SPAN_WORD.test(first.text)) return null;
  return end - from === 1 && first.text.length < 3 ? null : { from, to: end };
}

/** The segment that contains an offset, or the one before it. */
export function segmentAt({ segments }: LaidOutText, offset: number): number {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle]?.start ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
