import type { TokenScores } from '../../../ports/networks/token-scores.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { NetworkScores } from './decode.ts';
import { lengthClass, SECTIONS } from './features.ts';
import { FLAG_COUNT, flagsOf, shapeClass, shapeOf } from './token-features.ts';

/**
 * A word's layout as rows of zeros and ones: the network's vocabulary has no capitals and no line breaks. The network's
 * weights identify a sign by its column, so columns must not change without new weights.
 */
export const SIGNS = 80;

const SHAPE = 0;
const BEGINS_LINE = 16;
const BEGINS_BLOCK = 17;
const AFTER_GAP = 18;
const BULLETED = 19;
const FROM_START = 20;
const MOST_FROM_START = 7;
const FROM_END = 28;
const MOST_FROM_END = 3;
const SECTION = 32;
const LISTS = 42;
const LINE_NUMBER = 58;
const HEADING = 65;
const LINE_LENGTH = 66;
const BEFORE_GAP = 71;
const JOINED = 72;

const KIND_SHAPES: Readonly<Record<string, number>> = { mark: 10, email: 11, link: 12, phone: 13, date: 14 };
const YEAR_SHAPE = 8;
const NUMBER_SHAPE = 9;
/** The first line of each class; the name is near the top. */
const LINE_CLASSES = [0, 1, 2, 3, 5, 9, 17];

/** One row for each of the first `count` words. */
export function signsOf(laidOut: LaidOutText, count: number): Uint8Array {
  const { tokens, tokenStarts, segments, sections, headings } = laidOut;
  const signs = new Uint8Array(count * SIGNS);
  const flags = flagsOf(laidOut);
  for (let at = 0; at < count; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    const row = at * SIGNS;
    const set = (column: number) => {
      signs[row + column] = 1;
    };
    const line = token.segment;
    const [first, end] = [tokenStarts[line] ?? 0, tokenStarts[line + 1] ?? 0];
    const segment = segments[line];
    set(SHAPE + shapeColumn(token));
    if (at === first) {
      set(segment?.beginsLine === false ? AFTER_GAP : BEGINS_LINE);
      if (segment?.beginsBlock === true) set(BEGINS_BLOCK);
    }
    if (segment?.isBulleted === true) set(BULLETED);
    set(FROM_START + Math.min(MOST_FROM_START, at - first));
    set(FROM_END + Math.min(MOST_FROM_END, end - 1 - at));
    set(SECTION + SECTIONS.indexOf(sections[line] ?? 'top'));
    const bits = flags[at] ?? 0;
    for (let bit = 0; bit < FLAG_COUNT; bit++) if ((bits & (1 << bit)) !== 0) set(LISTS + bit);
    set(LINE_NUMBER + lineClass(line));
    if (headings[line] !== null) set(HEADING);
    set(LINE_LENGTH + lengthClass(end - first));
    if (segments[line + 1]?.beginsLine === false) set(BEFORE_GAP);
    if (at > first && tokens[at - 1]?.end === token.start) set(JOINED);
  }
  return signs;
}

function shapeColumn(token: LaidOutText['tokens'][number]): number {
  if (token.kind === 'word') return shapeClass(shapeOf(token));
  if (token.kind === 'number') return token.text.length === 4 ? YEAR_SHAPE : NUMBER_SHAPE;
  return KIND_SHAPES[token.kind] ?? NUMBER_SHAPE;
}

function lineClass(line: number): number {
  let found = 0;
  while (found + 1 < LINE_CLASSES.length && line >= (LINE_CLASSES[found + 1] ?? 0)) found++;
  return found;
}

/**
 * In a longer CV, these words include the name, work and education; the rest is read by the linear tagger only. Takes
 * one second on one core.
 */
const MOST_WORDS = 4_000;

/** The network's scores for a text's words; null if there is no network, so that only the linear tagger is used. */
export async function networkScores(
  network: TokenScores | null,
  document: 'cv' | 'posting',
  laidOut: LaidOutText,
  signal?: AbortSignal,
): Promise<NetworkScores | null> {
  if (network === null || laidOut.tokens.length === 0) return null;
  const words = laidOut.tokens.slice(0, MOST_WORDS).map(({ text }) => text);
  return await network.scoreWords(document, words, signsOf(laidOut, words.length), signal);
}
