import type { LaidOutText } from '../text/lay-out.ts';
import type { Token } from '../text/tokens.ts';
import { FLAG, FLAG_COUNT, flagsOf } from './flags.ts';

/** How many features a token can have at most. */
export const MOST_FEATURES = 192;

export interface FeatureReader {
  /** Writes the features of a token into `into` and says how many there are. A feature is a hash of 31 bits. */
  read(token: number, into: Int32Array): number;
}

/** FNV-1a, so that training and reading agree without a table of names. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

function mixed(template: number, value: number): number {
  let hash = Math.imul(template + 0x9e3779b9, 0x85ebca6b) ^ value;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 1;
}

const SECTIONS = [
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

function shapeOf({ text, kind }: Token): number {
  if (kind !== 'word')
    return kind === 'number' ? 1 : kind === 'mark' ? 2 + (hashOf(text) % 97) : 100 + kind.length;
  if (/^\p{Lu}\p{Ll}+$/u.test(text)) return 200;
  if (/^\p{Lu}$/u.test(text)) return 201;
  if (/^\p{Lu}+$/u.test(text)) return 202;
  if (/^\p{Ll}+$/u.test(text)) return 203;
  if (/\p{N}/u.test(text)) return 204;
  if (/^\p{Lu}/u.test(text)) return 205;
  return 206;
}

/** What a segment holds, in bits, for its own tokens and for those of its neighbours. */
function segmentFlags(laidOut: LaidOutText, flags: Int32Array): Int32Array {
  const { segments, tokenStarts, headings } = laidOut;
  const all = new Int32Array(segments.length);
  const kept =
    FLAG.titleHead |
    FLAG.companySuffix |
    FLAG.knownCompany |
    FLAG.schoolHead |
    FLAG.degree |
    FLAG.date |
    FLAG.place |
    FLAG.contact;
  segments.forEach((segment, at) => {
    let bits = 0;
    const [from, to] = [tokenStarts[at] ?? 0, tokenStarts[at + 1] ?? 0];
    for (let token = from; token < to; token++) bits |= flags[token] ?? 0;
    bits &= kept;
    if (headings[at] !== null) bits |= 1 << 20;
    if (segment.isBulleted) bits |= 1 << 21;
    if (to - from > 14) bits |= 1 << 22;
    all[at] = bits;
  });
  return all;
}

function shapeClass(shape: number): number {
  return shape >= 200 ? Math.min(7, shape - 200) : 7;
}

/** How much of a segment is a list of known skills, in fifths, and how many commas it has. */
function listDensities({ segments, tokens, tokenStarts }: LaidOutText, flags: Int32Array): Int32Array {
  return Int32Array.from(segments, (_, at) => {
    const [from, to] = [tokenStarts[at] ?? 0, tokenStarts[at + 1] ?? 0];
    let [skills, commas] = [0, 0];
    for (let token = from; token < to; token++) {
      if (((flags[token] ?? 0) & (FLAG.skill | FLAG.skillInside)) !== 0) skills++;
      if (tokens[token]?.text === ',') commas++;
    }
    const share = to === from ? 0 : Math.floor((5 * skills) / (to - from));
    return share * 4 + (commas === 0 ? 0 : commas <= 2 ? 1 : commas <= 5 ? 2 : 3);
  });
}

export function createFeatureReader(laidOut: LaidOutText): FeatureReader {
  const { tokens, sections, segments, tokenStarts } = laidOut;
  const flags = flagsOf(laidOut);
  const bySegment = segmentFlags(laidOut, flags);
  const words = Int32Array.from(tokens, (token) => hashOf(token.kind === 'number' ? '0' : token.lower) | 0);
  const shapes = Int32Array.from(tokens, shapeOf);
  const densities = listDensities(laidOut, flags);
  const firstWork = sections.findIndex((section) => section !== 'top');

  // One function for all tokens: a fresh one for each would cost a third of the time.
  let out: Int32Array = new Int32Array(0);
  let count = 0;
  const add = (template: number, value: number) => {
    out[count++] = mixed(template, value);
  };

  return {
    read: (at, into) => {
      out = into;
      count = 0;
      const token = tokens[at];
      if (token === undefined) return 0;
      const segment = token.segment;
      const section = SECTIONS.indexOf(sections[segment] ?? 'top');
      const own = flags[at] ?? 0;
      const first = tokenStarts[segment] ?? 0;
      const last = (tokenStarts[segment + 1] ?? 0) - 1;
      const place = at === first ? 0 : at === last ? 2 : 1;
      const length = last - first + 1;
      const lengthClass = length === 1 ? 0 : length <= 3 ? 1 : length <= 6 ? 2 : length <= 12 ? 3 : 4;
      add(1, 0);
      for (let offset = -2; offset <= 2; offset++) {
        const other = at + offset;
        const isOutside = other < 0 || other >= tokens.length;
        const sameSegment = tokens[other]?.segment === segment ? 0 : 1;
        add(10 + offset, isOutside ? -1 : (words[other] ?? 0));
        add(20 + offset, isOutside ? -1 : (shapes[other] ?? 0) * 2 + sameSegment);
        const bits = flags[other] ?? 0;
        for (let bit = 0; bits !== 0 && bit < FLAG_COUNT; bit++) {
          if ((bits & (1 << bit)) !== 0) {
            add(30 + offset, bit * 2 + sameSegment);
            if (offset === 0) add(40, bit * 10 + section);
          }
        }
      }
      const { lower } = token;
      add(50, hashOf(lower.slice(-3)));
      add(51, hashOf(lower.slice(0, 3)));
      add(52, section);
      add(53, section * 512 + (shapes[at] ?? 0));
      add(54, place * 10 + lengthClass);
      add(55, (section * 3 + place) * 5 + lengthClass);
      add(56, bySegment[segment] ?? 0);
      add(57, ((bySegment[segment] ?? 0) << 4) + place);
      add(58, bySegment[segment - 1] ?? -1);
      add(59, bySegment[segment + 1] ?? -1);
      add(60, Math.min(segment, 8) * 3 + place);
      add(61, segment < 3 ? (shapes[at] ?? 0) * 4 + segment : -1);
      add(62, segments[segment]?.isBulleted === true ? 1 : 0);
      add(63, (words[first] ?? 0) ^ place);
      add(64, (own << 3) | Math.min(3, firstWork === -1 ? 3 : segment < firstWork ? 0 : 1));
      add(65, Math.imul(words[at - 1] ?? 0, 31) ^ (words[at] ?? 0));
      add(66, Math.imul(words[at + 1] ?? 0, 31) ^ (words[at] ?? 0));
      add(67, (own << 8) ^ (flags[at + 1] ?? 0));
      add(68, (own << 8) ^ (flags[at - 1] ?? 0));
      add(69, (shapes[at] ?? 0) * 1000 + (shapes[at + 1] ?? 0));
      add(70, (shapes[at] ?? 0) * 1000 + (shapes[at - 1] ?? 0));
      add(71, densities[segment] ?? 0);
      add(72, (densities[segment] ?? 0) * 10 + section);
      add(73, ((own & (FLAG.skill | FLAG.skillInside)) << 6) + (densities[segment] ?? 0));
      for (let offset = -1; offset <= 1; offset++) {
        const bits = bySegment[segment + offset] ?? 0;
        for (let bit = 0; bit < 23; bit++) {
          if ((bits & (1 << bit)) !== 0) add(75 + offset, bit * 64 + shapeClass(shapes[at] ?? 0) * 4 + place);
        }
      }
      add(78, Math.imul(words[at - 2] ?? 0, 31) ^ (words[at - 1] ?? 0));
      add(79, Math.imul(words[at + 1] ?? 0, 31) ^ (words[at + 2] ?? 0));
      return count;
    },
  };
}
