import { type Traced, traced } from '../evidence.ts';
import { DEGREE_LEVELS, type DegreeLevel, MOST } from '../parsed-document.ts';
import type { Mention } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import { degreeBook, degreesIn, schoolHeads } from '../words/word-lists.ts';
import { type Anchor, type Entry, groupEntries, segmentAt } from './entries.ts';

export interface FoundEducation {
  readonly institution: Traced | null;
  readonly studyType: Traced | null;
  readonly area: Traced | null;
  readonly entry: Entry;
  readonly level: DegreeLevel | null;
}

export function findEducation(laidOut: LaidOutText, mentions: readonly Mention[]): FoundEducation[] {
  const hasSection = laidOut.sections.some(
    (section, at) => section === 'education' && laidOut.headings[at] === null,
  );
  const hasWork = laidOut.sections.includes('work');
  const isAllowed = (segment: number, kind: string) => {
    const section = laidOut.sections[segment];
    if (section === 'education') return true;
    if (section === 'certificates') return false;
    if (section === 'work') return !hasSection && kind !== 'date';
    return !hasSection || (kind !== 'date' && hasWork && section !== 'skills');
  };
  const anchors: Anchor[] = [];
  for (const mention of mentions) {
    const { kind, start, end, segment } = mention;
    if (!isAllowed(segment, kind)) continue;
    // Elsewhere a sentence may look like a degree; there it must name one.
    const isOutside = laidOut.sections[segment] !== 'education';
    if (kind === 'degree' && isOutside && levelOf(laidOut, mention) === null) continue;
    if (kind === 'school') anchors.push({ kind: 'head', start, end, segment, mention });
    else if (kind === 'degree') anchors.push({ kind: 'part', start, end, segment, mention });
  }
  const near = new Set(anchors.flatMap(({ segment }) => [segment - 1, segment, segment + 1, segment + 2]));
  for (const date of laidOut.dates) {
    const segment = segmentAt(laidOut, date.start);
    const isNear = near.has(segment) && (laidOut.sections[segment] === 'education' || !hasSection);
    if (isNear) anchors.push({ kind: 'date', start: date.start, end: date.end, segment, date });
  }
  anchors.sort((one, other) => one.start - other.start);
  return groupEntries(laidOut, anchors)
    .filter(({ head, part }) => head !== null || part !== null)
    .slice(0, MOST.education)
    .map((entry) => educationOf(laidOut, entry));
}

function educationOf(laidOut: LaidOutText, entry: Entry): FoundEducation {
  const { text } = laidOut;
  const { head, part } = entry;
  const institution = head === null ? null : traced(text, head.start, head.end, head.confidence);
  if (part === null)
    return { institution, studyType: null, area: null, entry, level: levelOf(laidOut, head) };
  const { studyType, area } = splitDegree(laidOut, part);
  return { institution, studyType, area, entry, level: levelOf(laidOut, part) ?? levelOf(laidOut, head) };
}

const FIELD_JOINT = /^(?:in|of|en|im|in der|di|em|mention|major|specialization|–|-|,|\(|:)$/i;

/** "Bachelor of Science in Computer Science": the degree up to the last word that is one, the field behind it. */
function splitDegree(
  { text, tokens }: LaidOutText,
  part: Mention,
): { studyType: Traced | null; area: Traced | null } {
  const own = tokens.slice(part.from, part.to);
  const seen = degreesIn(own);
  const degree = seen[0];
  const whole = traced(text, part.start, part.end, part.confidence);
  if (degree === undefined) return { studyType: whole, area: null };
  const lastSeen = seen.at(-1) ?? degree;
  let at = lastSeen.to;
  while (
    at < own.length &&
    (FIELD_JOINT.test(own[at]?.text ?? '') ||
      own[at]?.text === '.' ||
      /^(?:degree|hons|honors|honours|\))$/i.test(own[at]?.text ?? ''))
  )
    at++;
  const fieldFirst = own[at];
  const fieldLast = own.at(-1);
  // A degree that names its field with "of" is kept whole: "Bachelor of Business".
  const endsOpen = /^(?:of|in|en|di|em)$/i.test(own[lastSeen.to - 1]?.text ?? '');
  if (fieldFirst === undefined || fieldLast === undefined) return { studyType: whole, area: null };
  const area = traced(text, fieldFirst.start, fieldLast.end, part.confidence);
  const studyEnd = endsOpen
    ? (own[lastSeen.to - 2]?.end ?? part.end)
    : (own[lastSeen.to - 1]?.end ?? part.end);
  const studyType = degree.from === 0 ? traced(text, part.start, studyEnd, part.confidence) : whole;
  return { studyType, area: /\p{L}{2}/u.test(area.value) && degree.from === 0 ? area : null };
}

/** The highest level that the words of a mention name. */
function levelOf({ tokens }: LaidOutText, mention: Mention | null): DegreeLevel | null {
  if (mention === null) return null;
  const own = tokens.slice(mention.from, mention.to);
  const isHighSchool = own.some(
    (token, at) => token.lower === 'high' && schoolHeads.has(own[at + 1]?.lower ?? ''),
  );
  return isHighSchool ? 'secondary' : highestLevel(degreesIn(own).map(({ value }) => value));
}

export function highestLevel(levels: readonly (DegreeLevel | null)[]): DegreeLevel | null {
  return DEGREE_LEVELS.find((level) => levels.includes(level)) ?? null;
}

/** The level of a degree's wording, for records that came from elsewhere. */
export function degreeLevelOf(wording: string): DegreeLevel | null {
  const words = wording.match(/[\p{L}\p{N}.'’+-]+/gu) ?? [];
  for (let length = Math.min(4, words.length); length > 0; length--) {
    for (let from = 0; from + length <= words.length; from++) {
      const phrase = words
        .slice(from, from + length)
        .join(' ')
        .replace(/\.$/, '');
      const level = degreeBook.of(phrase);
      if (level !== undefined && (phrase.length > 3 || /^\p{Lu}[\p{Lu}.]/u.test(phrase))) return level;
    }
  }
  return null;
}
