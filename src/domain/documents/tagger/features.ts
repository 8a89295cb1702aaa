import type { LaidOutText } from '../text/layout.ts';
import { hashOf } from '../text/tokens.ts';
import { type LinePart, lineFactsOf } from './line-features.ts';
import {
  beginningOf,
  endingOf,
  FLAG,
  FLAG_COUNT,
  flagsOf,
  isHighShape,
  mixed,
  shapeClass,
  shapeOf,
} from './token-features.ts';

/** The maximum number of features of a token. */
export const MOST_FEATURES = 400;

/**
 * `document` also uses a line's neighbours, its section and its distance from dates and headings, as needed for a CV.
 * `line` uses only the line: a sentence of a posting means the same anywhere.
 */
export type FeatureReach = 'document' | 'line';

interface FeatureReader {
  /** Writes the features of a token into `into` and returns their number. A feature is a hash of 31 bits. */
  read(token: number, into: Int32Array): number;
}

export const SECTIONS = [
  'top',
  'contact',
  'summary',
  'work',
  'education',
  'skills',
  'languages',
  'certificates',
  'projects',
  'other',
];
/** Represents the shape beyond the end of a line. */
const NOTHING = 2047;
const SKILL_FLAGS = FLAG.skill | FLAG.skillInside;

export function createFeatureReader(laidOut: LaidOutText, reach: FeatureReach): FeatureReader {
  const { tokens, sections, segments, tokenStarts } = laidOut;
  const flags = flagsOf(laidOut);
  const words = Int32Array.from(
    tokens,
    ({ kind, text, lower }) => hashOf(kind === 'number' ? '0'.repeat(Math.min(5, text.length)) : lower) | 0,
  );
  const shapes = Int32Array.from(tokens, shapeOf);
  const facts = lineFactsOf(laidOut, flags, shapes);
  const { parts, partOf, partCounts, summaries, cases, densities } = facts;
  const seen = new Map<number, number>();
  words.forEach((word, at) => {
    if (isHighShape(shapes[at] ?? 0)) seen.set(word, (seen.get(word) ?? 0) + 1);
  });

  // Shared by all tokens: allocating for each token would cost a third of the time.
  let out: Int32Array = new Int32Array(0);
  let count = 0;
  const add = (template: number, value: number) => {
    out[count++] = mixed(template, value);
  };
  const addFlags = (template: number, bits: number, factor: number, rest: number) => {
    for (let bit = 0; bits >> bit !== 0 && bit < FLAG_COUNT; bit++)
      if ((bits & (1 << bit)) !== 0) add(template, bit * factor + rest);
  };
  const wordAt = (at: number) => words[at] ?? -1;

  return {
    read: (at, into) => {
      out = into;
      count = 0;
      const line = tokens[at]?.segment;
      if (line === undefined) return 0;
      const first = tokenStarts[line] ?? 0;
      const last = (tokenStarts[line + 1] ?? 0) - 1;
      const place = at === first ? 0 : at === last ? 2 : 1;
      addNeighbours(at, first, last);
      addLetters(at, first, last);
      addPairs(at, first, last);
      addLine(at, line, place, last - first + 1);
      const part = parts[partOf[at] ?? -1];
      if (part === undefined) add(185, 0);
      else addPart(at, part, line, first, last);
      if (reach === 'document') addDocument(at, line, place, last - first + 1, part);
      return count;
    },
  };

  /** The word, its shape and its word-list flags, for the token and two on either side. */
  function addNeighbours(at: number, first: number, last: number): void {
    add(1, 0);
    for (let offset = -2; offset <= 2; offset++) {
      const other = at + offset;
      const inside = other >= first && other <= last ? 1 : 0;
      if (inside === 0 && reach === 'line') {
        add(10 + offset, -1);
        continue;
      }
      const isBeyond = other < 0 || other >= tokens.length;
      add(10 + offset, isBeyond ? -1 : wordAt(other) ^ (inside === 1 ? 0 : 77));
      add(20 + offset, isBeyond ? -1 : (shapes[other] ?? 0) * 2 + inside);
      if (!isBeyond) addFlags(30 + offset, flags[other] ?? 0, 2, inside);
    }
  }

  function addLetters(at: number, first: number, last: number): void {
    const token = tokens[at];
    if (token === undefined || token.kind !== 'word') return;
    const { lower } = token;
    add(50, endingOf(lower, 3));
    add(51, beginningOf(lower, 3));
    add(150, endingOf(lower, 2));
    add(151, endingOf(lower, 4));
    add(152, beginningOf(lower, 4));
    if (at > first) add(153, endingOf(tokens[at - 1]?.lower ?? '', 3));
    if (at < last) add(154, endingOf(tokens[at + 1]?.lower ?? '', 3));
  }

  function addPairs(at: number, first: number, last: number): void {
    const [word, own, shape] = [wordAt(at), flags[at] ?? 0, shapes[at] ?? 0];
    const before = at > first ? (shapes[at - 1] ?? 0) : NOTHING;
    const after = at < last ? (shapes[at + 1] ?? 0) : NOTHING;
    if (at > first) {
      add(65, Math.imul(wordAt(at - 1), 31) ^ word);
      add(68, (own << 8) ^ (flags[at - 1] ?? 0));
    }
    if (at < last) {
      add(66, Math.imul(wordAt(at + 1), 31) ^ word);
      add(67, (own << 8) ^ (flags[at + 1] ?? 0));
    }
    if (at - 2 >= first) add(78, Math.imul(wordAt(at - 2), 31) ^ wordAt(at - 1));
    if (at + 2 <= last) add(79, Math.imul(wordAt(at + 1), 31) ^ wordAt(at + 2));
    add(69, shape * 2048 + after);
    add(70, shape * 2048 + before);
    add(158, (before * 2048 + shape) * 31 + after);
  }

  function addLine(at: number, line: number, place: number, length: number): void {
    const summary = summaries[line] ?? 0;
    const [own, density] = [flags[at] ?? 0, densities[line] ?? 0];
    add(54, place * 10 + lengthClass(length));
    add(56, summary);
    add(57, (summary << 2) + place);
    add(62, segments[line]?.isBulleted === true ? 1 : 0);
    add(63, wordAt(tokenStarts[line] ?? 0) ^ place);
    add(71, density);
    add(73, ((own & SKILL_FLAGS) << 6) + density);
    add(160, (cases[line] ?? 0) * 16 + shapeClass(shapes[at] ?? 0));
    addSummary(76, summary, at, place);
  }

  function addSummary(template: number, summary: number, at: number, place: number): void {
    const shape = shapeClass(shapes[at] ?? 0);
    for (let bit = 0; bit < 10; bit++)
      if ((summary & (1 << bit)) !== 0) add(template, (bit * 16 + shape) * 4 + place);
  }

  /** The token's part of its line and the neighbouring parts: the text between commas is one unit. */
  function addPart(at: number, part: LinePart, line: number, first: number, last: number): void {
    const index = partOf[at] ?? -1;
    const [before, after] = [parts[index - 1], parts[index + 1]];
    const previous = before !== undefined && before.from >= first ? before : null;
    const next = after !== undefined && after.from <= last ? after : null;
    const place = at === part.from ? 0 : at === part.to - 1 ? 2 : 1;
    const { flags: bits, high } = part;
    add(170, bits);
    add(171, bits * 4 + place);
    add(172, Math.min(4, part.index) * 8 + Math.min(5, partCounts[line] ?? 0));
    add(173, (Math.min(6, part.to - part.from) * 4 + place) * 3 + high);
    addFlags(174, bits, 12, high * 4 + place);
    if (previous !== null) addFlags(176, previous.flags, 9, high * 3 + place);
    if (next !== null) addFlags(177, next.flags, 9, high * 3 + place);
    add(178, (previous?.flags ?? -1) ^ (bits << 4));
    add(179, (next?.flags ?? -1) ^ (bits << 4));
    add(180, part.from > first ? wordAt(part.from - 1) : 1);
    add(181, part.to <= last ? wordAt(part.to) : 1);
    add(182, wordAt(part.to - 1));
    add(183, wordAt(part.from));
    add(184, endingOf(tokens[part.to - 1]?.lower ?? '', 3) ^ place);
  }

  function addDocument(
    at: number,
    line: number,
    place: number,
    length: number,
    part: LinePart | undefined,
  ): void {
    const section = SECTIONS.indexOf(sections[line] ?? 'top');
    const [own, shape] = [flags[at] ?? 0, shapes[at] ?? 0];
    const [above, below] = [summaries[line - 1] ?? -1, summaries[line + 1] ?? -1];
    addFlags(40, own, 10, section);
    add(52, section);
    add(53, section * 1024 + shape);
    add(155, wordAt(at) ^ (section * 7919));
    add(55, (section * 3 + place) * 5 + lengthClass(length));
    add(58, above);
    add(59, below);
    add(156, (above & 0x1f0ff) * 7 + shapeClass(shape));
    add(157, (below & 0x1f0ff) * 7 + shapeClass(shape));
    if (above >= 0) addSummary(75, above, at, place);
    if (below >= 0) addSummary(77, below, at, place);
    add(60, Math.min(line, 8) * 3 + place);
    add(61, line < 3 ? shape * 4 + line : -1);
    add(64, own * 4 + (section === 0 ? 0 : 1));
    add(72, (densities[line] ?? 0) * 10 + section);
    const nearDate = (facts.sinceDate[line] ?? 0) * 8 + (facts.untilDate[line] ?? 0);
    add(161, section * 16 + (facts.sinceHeading[line] ?? 0));
    add(162, nearDate * 10 + section);
    add(163, (nearDate * 16 + shapeClass(shape)) * 8 + lengthClass(length));
    if (part !== undefined) addFlags(175, part.flags, 30, section * 3 + part.high);
    if (isHighShape(shape)) add(190, Math.min(4, seen.get(wordAt(at)) ?? 0));
  }
}

export function lengthClass(length: number): number {
  return length === 1 ? 0 : length <= 3 ? 1 : length <= 6 ? 2 : length <= 12 ? 3 : 4;
}
