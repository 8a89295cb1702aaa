import type { LaidOutText } from '../text/layout.ts';
import { FLAG, isHighShape } from './token-features.ts';

/** A piece of a line between commas, dashes and similar marks: `Developer`, `Blue Harbour Ltd`, `Leeds`. */
export interface LinePart {
  readonly from: number;
  readonly to: number;
  /** The word-list flags of all its tokens. */
  readonly flags: number;
  /** Its index among the parts of its line. */
  readonly index: number;
  /** 2 if all tokens are capitalized, 1 if some are, 0 if none is. */
  readonly high: number;
}

/** Facts shared by all tokens of a line, and about its neighbours. */
interface LineFacts {
  readonly parts: readonly LinePart[];
  /** The index in `parts` of each token's part, or -1 for tokens between parts. */
  readonly partOf: Int32Array;
  readonly partCounts: Int32Array;
  /** A line in a few bits: the lists that it matches, whether it is a heading or a bullet, its length and its case. */
  readonly summaries: Int32Array;
  /** 0 for prose, 1 for capitals, 2 for capitalized words, 3 for a mixture. */
  readonly cases: Int32Array;
  /** The share of known skills in a line, in fifths, and its number of commas. */
  readonly densities: Int32Array;
  readonly sinceHeading: Int32Array;
  readonly sinceDate: Int32Array;
  readonly untilDate: Int32Array;
}

const PART_EDGE = /^(?:[,;|–—\-:()/@•]|at|bei|chez)$/i;
const KEPT =
  FLAG.titleHead |
  FLAG.companySuffix |
  FLAG.knownCompany |
  FLAG.companyHead |
  FLAG.schoolHead |
  FLAG.degree |
  FLAG.date |
  FLAG.place |
  FLAG.contact |
  FLAG.titleModifier |
  FLAG.skill;

export function lineFactsOf(laidOut: LaidOutText, flags: Int32Array, shapes: Int32Array): LineFacts {
  const { tokens, segments, tokenStarts, headings } = laidOut;
  const count = segments.length;
  const parts: LinePart[] = [];
  const partOf = new Int32Array(tokens.length).fill(-1);
  const partCounts = new Int32Array(count);
  const lineFlags = new Int32Array(count);
  const cases = new Int32Array(count);
  const densities = new Int32Array(count);
  for (let line = 0; line < count; line++) {
    const [from, to] = [tokenStarts[line] ?? 0, tokenStarts[line + 1] ?? 0];
    const first = parts.length;
    let start = from;
    for (let at = from; at <= to; at++) {
      const token = tokens[at];
      const isEdge = at === to || token === undefined || token.kind === 'date' || PART_EDGE.test(token.text);
      if (!isEdge) continue;
      if (at > start) {
        partOf.fill(parts.length, start, at);
        parts.push(partBetween(start, at, parts.length - first, flags, shapes));
      }
      start = at + 1;
    }
    partCounts[line] = parts.length - first;
    for (let at = from; at < to; at++) lineFlags[line] = (lineFlags[line] ?? 0) | ((flags[at] ?? 0) & KEPT);
    cases[line] = caseOf(laidOut, from, to);
    densities[line] = densityOf(laidOut, flags, from, to);
  }
  const summaries = Int32Array.from(segments, (segment, line) => {
    const length = (tokenStarts[line + 1] ?? 0) - (tokenStarts[line] ?? 0);
    const bits = lineFlags[line] ?? 0;
    return (
      ((bits & FLAG.titleHead) !== 0 ? 1 : 0) |
      ((bits & (FLAG.companySuffix | FLAG.knownCompany)) !== 0 ? 2 : 0) |
      ((bits & FLAG.schoolHead) !== 0 ? 4 : 0) |
      ((bits & FLAG.degree) !== 0 ? 8 : 0) |
      ((bits & FLAG.date) !== 0 ? 16 : 0) |
      ((bits & FLAG.place) !== 0 ? 32 : 0) |
      (headings[line] !== null ? 64 : 0) |
      (segment.isBulleted ? 128 : 0) |
      (length > 14 ? 256 : length > 5 ? 512 : 0) |
      ((cases[line] ?? 0) << 10)
    );
  });
  const isDated = (line: number) => ((lineFlags[line] ?? 0) & FLAG.date) !== 0;
  const upwards = Int32Array.from(segments, (_, line) => count - 1 - line);
  return {
    parts,
    partOf,
    partCounts,
    summaries,
    cases,
    densities,
    sinceHeading: distances(count, 9, (step) => headings[step] !== null),
    sinceDate: distances(count, 6, isDated),
    untilDate: distances(count, 6, (step) => isDated(upwards[step] ?? 0)).reverse(),
  };
}

function partBetween(
  from: number,
  to: number,
  index: number,
  flags: Int32Array,
  shapes: Int32Array,
): LinePart {
  let [all, high] = [0, 0];
  for (let at = from; at < to; at++) {
    all |= flags[at] ?? 0;
    if (isHighShape(shapes[at] ?? 0)) high++;
  }
  return { from, to, flags: all & KEPT, index, high: high === to - from ? 2 : high > 0 ? 1 : 0 };
}

function caseOf({ tokens }: LaidOutText, from: number, to: number): number {
  let [capitals, high, low] = [0, 0, 0];
  for (let at = from; at < to; at++) {
    const token = tokens[at];
    if (token?.kind !== 'word') continue;
    if (/^\p{Lu}{2,}$/u.test(token.text)) capitals++;
    else if (/^\p{Lu}/u.test(token.text)) high++;
    else if (token.text.length > 3) low++;
  }
  return low > 2 ? 0 : capitals > high + low ? 1 : low === 0 ? 2 : 3;
}

function densityOf({ tokens }: LaidOutText, flags: Int32Array, from: number, to: number): number {
  let [skills, commas] = [0, 0];
  for (let at = from; at < to; at++) {
    if (((flags[at] ?? 0) & (FLAG.skill | FLAG.skillInside)) !== 0) skills++;
    if (tokens[at]?.text === ',') commas++;
  }
  const share = to === from ? 0 : Math.floor((5 * skills) / (to - from));
  return share * 4 + (commas === 0 ? 0 : commas <= 2 ? 1 : commas <= 5 ? 2 : 3);
}

/** The number of lines since something was last true, up to `most`. */
function distances(count: number, most: number, isThere: (line: number) => boolean): Int32Array {
  const found = new Int32Array(count);
  let distance = most;
  for (let line = 0; line < count; line++) {
    distance = isThere(line) ? 0 : Math.min(most, distance + 1);
    found[line] = distance;
  }
  return found;
}
