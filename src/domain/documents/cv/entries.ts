import type { Mention } from '../tagger/decode.ts';
import type { DateSpan } from '../text/dates.ts';
import type { LaidOutText } from '../text/lay-out.ts';

/** What an entry of a CV is put together from, in the order of the text. */
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
 * One job or one course of study. `head` is the organisation, `part` the position or the degree. An entry that names no
 * organisation of its own may have the one above it (`inherits`).
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
 * Anchors that stand together are one entry. A new one begins where a kind comes again that the entry already has, and
 * after a description. That reads organisation first, position first, dates first and tables alike, because none of
 * these layouts says a thing twice within an entry.
 */
export function groupEntries(laidOut: LaidOutText, anchors: readonly Anchor[]): Entry[] {
  const entries: Entry[] = [];
  let current: Entry | null = null;
  for (const anchor of anchors) {
    if (current !== null && isNew(laidOut, current, anchor)) current = null;
    if (current === null) {
      current = begin(anchor);
      entries.push(current);
    }
    take(current, anchor);
  }
  inheritHeads(entries);
  return entries;
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
  const isFilled = entry.head !== null || entry.part !== null;
  if (distance > 0 && isFilled && hasProse(laidOut, entry.lastSegment, anchor.segment)) return true;
  if (distance > 6) return true;
  // An entry with its date, then an empty line: whatever follows is the next one.
  const isWhole = isFilled && entry.date !== null;
  if (isWhole && beginsBlock(laidOut, entry.lastSegment, anchor.segment)) return true;
  if (anchor.kind !== 'date') {
    if (entry[anchor.kind] === null) return false;
    // "Developer / Tester": two positions of one line are one entry's, unless each has a date.
    return !(anchor.segment === entry[anchor.kind]?.segment && entry.date === null && entry.head === null);
  }
  // A year in a name or a remark is weaker than a span of time beside it.
  if (entry.date === null || (!entry.date.isRange && anchor.date.isRange)) return false;
  if (entry.date.isRange && !anchor.date.isRange && distance === 0) return false;
  // An organisation's own span, then a position with a span on its line: the position's is the entry's.
  const isPartsOwn =
    entry.part?.segment === anchor.segment &&
    entry.beganWith === 'head' &&
    entry.date.end < (entry.part?.start ?? 0);
  return !isPartsOwn;
}

function beginsBlock({ segments }: LaidOutText, after: number, upTo: number): boolean {
  for (let segment = after + 1; segment <= upTo; segment++)
    if (segments[segment]?.beginsBlock === true) return true;
  return false;
}

/** A line that describes: longer than a header, or a bullet of some length. */
function hasProse({ segments, tokenStarts }: LaidOutText, after: number, before: number): boolean {
  for (let segment = after + 1; segment < before; segment++) {
    const length = (tokenStarts[segment + 1] ?? 0) - (tokenStarts[segment] ?? 0);
    if (length > 13 || (segments[segment]?.isBulleted === true && length > 3)) return true;
  }
  return false;
}

/** Positions under one organisation: a promotion names its organisation once. */
function inheritHeads(entries: Entry[]): void {
  entries.forEach((entry, at) => {
    const above = entries[at - 1];
    if (entry.head !== null || entry.part === null || entry.date === null || above === undefined) return;
    if (above.head === null || (above.beganWith !== 'head' && !above.inherits)) return;
    entry.head = above.head;
    entry.inherits = true;
  });
}
