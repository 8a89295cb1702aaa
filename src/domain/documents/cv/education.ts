import { type Traced, traced } from '../evidence.ts';
import { DEGREE_LEVELS, type DegreeLevel, MOST } from '../parsed-document.ts';
import type { Mention } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Token } from '../text/tokens.ts';
import { degreeBook, degreesIn, looksLikeDegree, schoolHeads } from '../words/word-lists.ts';
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
    // Below voluntary work, talks and references, a name is not that of the person's school.
    if (section === 'other' && hasSection && kind === 'school') return false;
    return !hasSection || (kind !== 'date' && hasWork && section !== 'skills');
  };
  const anchors: Anchor[] = [];
  const { rest, fields } = pairFields(laidOut, mentions);
  for (const mention of rest) {
    const { kind, start, end, segment } = mention;
    if (!isAllowed(segment, kind)) continue;
    // Outside the education section a sentence may look like a degree, so it must name one.
    const isOutside = laidOut.sections[segment] !== 'education';
    if (kind === 'degree' && isOutside && levelOf(laidOut, mention) === null) continue;
    if (kind === 'school') anchors.push({ kind: 'head', start, end, segment, mention });
    else if (kind === 'degree') {
      // A field above its degree starts the entry: dates may separate the degree from its school.
      const field = fields.get(mention);
      const first = field !== undefined && field.start < start ? field : mention;
      anchors.push({ kind: 'part', start: first.start, end: first.end, segment: first.segment, mention });
    }
  }
  const near = new Set(
    anchors.flatMap((anchor) => {
      const { segment } = anchor;
      // In a form, the label of a value is also a cell.
      const isLabelled = anchor.kind !== 'date' && anchor.mention.isLabelled === true;
      const before = isLabelled ? [segment - 3, segment - 2] : [];
      return [...before, segment - 1, segment, segment + 1, segment + 2];
    }),
  );
  for (const date of laidOut.dates) {
    const segment = segmentAt(laidOut, date.start);
    const isNear = near.has(segment) && (laidOut.sections[segment] === 'education' || !hasSection);
    if (isNear) anchors.push({ kind: 'date', start: date.start, end: date.end, segment, date });
  }
  anchors.sort((one, other) => one.start - other.start);
  return groupEntries(laidOut, anchors)
    .filter(({ head, part }) => head !== null || part !== null)
    .slice(0, MOST.education)
    .map((entry) => educationOf(laidOut, entry, fields));
}

/** The field of study on a separate line, by the mention of its degree. */
type Fields = ReadonlyMap<Mention, Mention>;

/**
 * "Bachelor" above or below "Computer Science" is one degree: one line contains only the degree, the other the field. The
 * dates may stand between them.
 */
function pairFields(
  laidOut: LaidOutText,
  mentions: readonly Mention[],
): { readonly rest: readonly Mention[]; readonly fields: Fields } {
  const fields = new Map<Mention, Mention>();
  const paired = new Set<Mention>();
  const sorted = [...mentions].sort((one, other) => one.start - other.start);
  const kindOf = new Map(sorted.map((one) => [one, degreeKind(laidOut, one)]));
  sorted.forEach((first, at) => {
    const second = sorted[at + 1];
    if (second === undefined || paired.has(first) || !isBeside(laidOut, first, second)) return;
    const kinds = [kindOf.get(first), kindOf.get(second)];
    const isReversed =
      kinds[1] === 'degree' && (kinds[0] === 'field' || isBeforeDegree(laidOut, first, second));
    if (!isReversed && !(kinds[0] === 'degree' && kinds[1] === 'field')) return;
    const [degree, field] = isReversed ? [second, first] : [first, second];
    fields.set(degree, field);
    for (const one of [first, second]) paired.add(one);
  });
  const used = new Set(fields.values());
  return { rest: mentions.filter((one) => !used.has(one)), fields };
}

/** On the same or the next line, or on the one below a line with only a date. */
function isBeside({ segments, dates }: LaidOutText, first: Mention, second: Mention): boolean {
  const distance = second.segment - first.segment;
  const between = segments[first.segment + 1];
  if (distance !== 2 || between === undefined) return distance <= 1;
  const date = dates.find(({ start }) => start >= between.start && start < between.end);
  return date !== undefined && date.end - date.start >= between.end - between.start - 2;
}

/** "Information Systems, Bachelor of Science": a field without a degree, and a comma or a line end before the degree. */
function isBeforeDegree(
  { text, tokens, segments, sections }: LaidOutText,
  field: Mention,
  degree: Mention,
): boolean {
  if (field.kind !== 'degree' || sections[field.segment] !== 'education') return false;
  if (degreesIn(tokens.slice(field.from, field.to)).length > 0) return false;
  const isLine = field.segment !== degree.segment;
  return isLine
    ? field.end === segments[field.segment]?.end && degree.start === segments[degree.segment]?.start
    : text.slice(field.end, degree.start).trim() === ',';
}

/** 'degree' for a line with only a degree, 'field' for one tagged as a degree that names none, otherwise null. */
function degreeKind(
  { tokens, tokenStarts, sections }: LaidOutText,
  mention: Mention,
): 'degree' | 'field' | null {
  const { kind, from, to, segment } = mention;
  if (kind !== 'degree' || sections[segment] !== 'education') return null;
  const own = tokens.slice(from, to);
  if (STUDIES.test(own.map(({ text }) => text).join(' '))) return 'degree';
  const seen = degreesIn(own);
  if (seen.length > 0) {
    const isOther = (at: number) => !seen.some((one) => one.from <= at && at < one.to);
    const isBare = own.every(
      ({ text }, at) => !isOther(at) || !/\p{L}/u.test(text) || BESIDE_DEGREE.test(text),
    );
    return isBare ? 'degree' : null;
  }
  const line = tokens.slice(tokenStarts[segment] ?? from, tokenStarts[segment + 1] ?? to);
  const words = line.filter(({ text }) => /\p{L}/u.test(text));
  return words.length <= own.length + 1 ? 'field' : null;
}

/** Studies without a degree, or before one. */
const STUDIES = /^(?:(?:under|post)?graduate|doctoral|master'?s) studies$/i;
const BESIDE_DEGREE = /^(?:degree|hons|honors|honours|studies)$/i;

function educationOf(laidOut: LaidOutText, entry: Entry, fields: Fields): FoundEducation {
  const { text } = laidOut;
  const { head, part } = entry;
  const institution = head === null ? null : traced(text, head.start, head.end, head.confidence);
  if (part === null)
    return { institution, studyType: null, area: null, entry, level: levelOf(laidOut, head) };
  const field = fields.get(part);
  const { studyType, area } =
    field === undefined
      ? splitDegree(laidOut, part)
      : {
          studyType: traced(text, part.start, part.end, part.confidence),
          area: traced(text, field.start, field.end, field.confidence),
        };
  return { institution, studyType, area, entry, level: levelOf(laidOut, part) ?? levelOf(laidOut, head) };
}

const FIELD_JOINT = /^(?:in|of|en|im|in der|di|em|mention|major|specialization|–|-|,|\(|:)$/i;

/** "Bachelor of Science in Computer Science": the degree ends with its last known word, and the field follows. */
function splitDegree(
  { text, tokens }: LaidOutText,
  part: Mention,
): { studyType: Traced | null; area: Traced | null } {
  const own = tokens.slice(part.from, part.to);
  const seen = degreesIn(own);
  const degree = seen[0];
  const whole = traced(text, part.start, part.end, part.confidence);
  const split = (last: Token | undefined, first: Token | undefined) => {
    const area = traced(text, first?.start ?? 0, own.at(-1)?.end ?? 0, part.confidence);
    if (last === undefined || first === undefined || !/\p{L}{2}/u.test(area.value)) return null;
    return { studyType: traced(text, part.start, last.end, part.confidence), area };
  };
  const unsplit = { studyType: whole, area: null };
  const lastSeen = seen.at(-1);
  if (degree === undefined || lastSeen === undefined) {
    const award = awardIn(own);
    return award === null ? unsplit : (split(own[award.to - 1], own[award.field]) ?? unsplit);
  }
  let at = lastSeen.to;
  while (
    at < own.length &&
    (FIELD_JOINT.test(own[at]?.text ?? '') ||
      own[at]?.text === '.' ||
      /^(?:degree|hons|honors|honours|\))$/i.test(own[at]?.text ?? ''))
  )
    at++;
  // A degree that names its field with "of" ends before it: "Bachelor" of "Business".
  const endsOpen = /^(?:of|in|en|di|em)$/i.test(own[lastSeen.to - 1]?.text ?? '');
  // Words before the degree belong to it if an "in" separates it from its field: "Level 3 Diploma in Horticulture".
  const isParted = own[lastSeen.to - (endsOpen ? 1 : 0)]?.lower === 'in';
  if (at >= own.length || (degree.from > 0 && !isParted)) return unsplit;
  const closes = own[lastSeen.to]?.text === ')' && own.slice(0, lastSeen.to).some((one) => one.text === '(');
  const end = endsOpen ? lastSeen.to - 2 : closes ? lastSeen.to : lastSeen.to - 1;
  return split(own[end], own[at]) ?? unsplit;
}

/** Awards that are not in the list of degrees, by their first word. */
const AWARD =
  /^(?:[BMD](?=\p{L}{0,5}\p{Lu})\p{L}{1,5}|HN[CD]|[NS]VQ|BTEC|PG(?:CE|Cert|Dip)|certificates?|diploma|award|licen[cs]e)$/u;
const MOST_AWARD = 6;

/** "NVQ Level 3" "Hairdressing", "Certificate" in "Data Analytics": where the award ends and its field starts. */
function awardIn(own: readonly Token[]): { readonly to: number; readonly field: number } | null {
  const joint = own.findIndex(({ lower }) => lower === 'in');
  if (joint > 0 && joint <= MOST_AWARD) return { to: joint, field: joint + 1 };
  const first = own[0];
  if (first === undefined || !(AWARD.test(first.text) || AWARD.test(first.lower))) return null;
  const isLevel = own[1]?.lower === 'level' && own[2]?.kind === 'number';
  const to = isLevel ? 3 : 1;
  let field = to;
  while (/^[,.:–-]$/.test(own[field]?.text ?? '')) field++;
  return /^\p{Lu}/u.test(own[field]?.text ?? '') ? { to, field } : null;
}

/** The highest level named by the words of a mention. */
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

/** The level of a degree's wording, for records from other sources. */
export function degreeLevelOf(wording: string): DegreeLevel | null {
  const words = wording.match(/[\p{L}\p{N}.'’+-]+/gu) ?? [];
  for (let length = Math.min(4, words.length); length > 0; length--) {
    for (let from = 0; from + length <= words.length; from++) {
      const phrase = words
        .slice(from, from + length)
        .join(' ')
        .replace(/\.$/, '');
      const level = degreeBook.of(phrase);
      if (level !== undefined && looksLikeDegree(phrase)) return level;
    }
  }
  return null;
}
