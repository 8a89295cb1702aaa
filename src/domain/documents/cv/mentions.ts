import {
  type Mention,
  type MentionKind,
  type NetworkScores,
  type Tagged,
  type TaggerWeights,
  tagMentions,
} from '../tagger/decode.ts';
import { guessLanguage } from '../text/classify.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { SectionKind } from '../text/sections.ts';
import type { Token } from '../text/tokens.ts';
import {
  companySuffixes,
  degreesIn,
  isPositionWord,
  isSchoolWord,
  namesPosition,
} from '../words/word-lists.ts';
import { isOfForm } from './form-labels.ts';
import { isBesideDuties, labelledFields, withLabelled } from './labelled-fields.ts';
import {
  EDGE,
  isCapital,
  isNoName,
  joinAdjacent,
  joinFaculties,
  joinShortNames,
  nextOther,
  widened,
  withDepartment,
} from './name-ends.ts';
import { inSentences, namesDegree, partedEmployers, plainParts } from './plain-mentions.ts';

export interface SeenMentions {
  /** In text order. */
  readonly mentions: readonly Mention[];
  isLikely: Tagged['isLikely'];
}

/**
 * All names, titles, companies, schools, degrees, places and skills of a text: those found by the tagger, corrected at
 * wrapped lines, and those found by rules where it was not sure.
 */
export function mentionsIn(
  laidOut: LaidOutText,
  weights: TaggerWeights,
  isPlain = false,
  scores: NetworkScores | null = null,
): SeenMentions {
  const { mentions: tagged, isLikely: isLikelyInEnglish } = tagMentions(laidOut, weights, scores);
  // The tagger learned from long English texts: for other texts, rules and word lists do not need its confirmation.
  const language = guessLanguage(laidOut.tokens);
  const needsLeave = !isPlain && (language === 'en' || language === 'und');
  const isLikely = needsLeave ? isLikelyInEnglish : () => true;
  // "Software development" and "SAP WM" are tagged as positions but are not: an English position contains a word for
  // one.
  const namesItsKind = ({ kind, from, to }: Mention) =>
    !needsLeave ||
    kind !== 'title' ||
    namesPosition(laidOut.tokens.slice(from, to).map(({ lower }) => lower));
  const trim = partedEmployers(
    laidOut,
    joinWrapped(laidOut, tagged).flatMap((mention) => trimmed(laidOut, mention) ?? []),
  );
  const whole = partCapitals(laidOut, joinSubjects(laidOut, joinFields(laidOut, trim)))
    .filter((mention) => !isLabel(laidOut, mention) && !isSentence(laidOut, mention))
    .filter((mention) => mention.kind !== 'title' || !isBesideDuties(laidOut, mention))
    .filter((mention) => mention.kind !== 'title' || !isOfOthers(laidOut, mention))
    .flatMap((mention) => partedSchool(laidOut, mention));
  const wide = joinAdjacent(laidOut, joinTitles(laidOut, whole))
    .filter((mention) => !isNoName(laidOut, mention))
    .map((mention, at, all) => withDepartment(laidOut, mention, all[at - 1]))
    .map((mention, at, all) => widened(laidOut, mention, nextOther(all, at)))
    .filter(namesItsKind);
  const joined = isPlain ? wide.flatMap((mention) => plainParts(laidOut, mention)) : wide;
  const added = byRules(laidOut, joined, isPlain).filter(
    (mention) => isPossible(isLikely, mention) && !isLabel(laidOut, mention) && namesItsKind(mention),
  );
  const seen = [
    ...joined,
    ...added.flatMap((one) => (isPlain || one.kind === 'title' ? (trimmed(laidOut, one) ?? []) : [one])),
  ];
  const inProse = isPlain ? inSentences(laidOut, seen) : [];
  const all = [...seen, ...inProse].filter(
    (mention) => !isInHeading(laidOut, mention) && !isOfForm(laidOut, mention),
  );
  const mentions = withLabelled(
    joinFaculties(
      laidOut,
      joinShortNames(
        laidOut,
        all.sort((one, other) => one.from - other.from),
      ),
    ),
    isPlain ? [] : labelledFields(laidOut),
  );
  return { mentions, isLikely };
}

/** "Beruflicher Werdegang" is the heading of the jobs, not a job. */
function isInHeading({ segments, headings }: LaidOutText, { segment, end }: Mention): boolean {
  const heading = headings[segment];
  return heading != null && end <= (segments[segment]?.start ?? 0) + heading.length;
}

/** A school may also be an employer, so either kind is accepted for the other. */
function isPossible(isLikely: Tagged['isLikely'], { kind, from, to }: Mention): boolean {
  const isOrganisation = kind === 'company' || kind === 'school';
  return isOrganisation
    ? isLikely('company', from, to) || isLikely('school', from, to)
    : isLikely(kind, from, to);
}

/** "University" at the end of a line and "of Pune" at the start of the next are one school. */
function joinWrapped({ tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const joined: Mention[] = [];
  for (const mention of mentions) {
    const last = joined.at(-1);
    const first = tokens[mention.from];
    const before = tokens[mention.from - 1];
    const goesOn =
      last !== undefined &&
      last.kind === mention.kind &&
      last.to === mention.from &&
      mention.segment === last.segment + 1 &&
      mention.kind !== 'skill' &&
      (/^(?:of|and|for|in|the|&|de|und|et|-)$/i.test(first?.text ?? '') ||
        /^(?:of|and|for|in|the|&|de|und|et|-)$/i.test(before?.text ?? ''));
    if (goesOn) joined[joined.length - 1] = { ...last, to: mention.to, end: mention.end };
    else joined.push(mention);
  }
  return joined;
}

/** "B.Tech in Information Technology": the text after the "in" of a degree is its field, if it names no school. */
function joinFields({ tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const joined: Mention[] = [];
  for (const mention of mentions) {
    const last = joined.at(-1);
    const { from, to } = mention;
    const isField =
      mention.kind === 'school' &&
      last?.kind === 'degree' &&
      from - last.to <= 1 &&
      tokens[from - 1]?.lower === 'in' &&
      !tokens.slice(from, to).some(({ lower }) => isSchoolWord(lower));
    if (isField) joined[joined.length - 1] = { ...last, to, end: mention.end };
    else joined.push(mention);
  }
  return joined;
}

/**
 * "Lecturer in Chemistry, University of Leeds": the text between the "in" of a position and its employer is its
 * subject.
 */
function joinSubjects({ tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const joined: Mention[] = [];
  mentions.forEach((mention, at) => {
    const last = joined.at(-1);
    const next = mentions[at + 1];
    const { from, to, kind, segment } = mention;
    const isOrganisation = (one: MentionKind | undefined) => one === 'company' || one === 'school';
    const isSubject =
      isOrganisation(kind) &&
      last?.kind === 'title' &&
      last.segment === segment &&
      from - last.to <= 1 &&
      tokens[from - 1]?.lower === 'in' &&
      tokens[to]?.text === ',' &&
      next?.from === to + 1 &&
      next.segment === segment &&
      isOrganisation(next.kind);
    if (isSubject) joined[joined.length - 1] = { ...last, to, end: mention.end };
    else joined.push(mention);
  });
  return joined;
}

/** "DEGREE IN ROBOTICS Technical" "University of Cluj": the degree ends where the capitals end. */
function partCapitals({ tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const parted = [...mentions];
  mentions.forEach((degree, at) => {
    const school = mentions[at + 1];
    if (degree.kind !== 'degree' || school?.kind !== 'school' || school.from !== degree.to) return;
    if (school.segment !== degree.segment) return;
    let to = degree.to;
    while (to > degree.from && /^\p{Lu}\p{Ll}/u.test(tokens[to - 1]?.text ?? '')) to--;
    const isCapitals = tokens.slice(degree.from, to).every(({ text }) => text === text.toUpperCase());
    const [last, first] = [tokens[to - 1], tokens[to]];
    if (to === degree.to || to - degree.from < 2 || !isCapitals || !last || !first) return;
    parted[at] = { ...degree, to, end: last.end };
    parted[at + 1] = { ...school, from: to, start: first.start };
  });
  return parted;
}

/** "Role Developer", where the colon was lost. */
const TITLE_LABEL = /^(?:role|designation|position)$/i;

/** Marks and small words at the edges belong to the sentence, not to the name. */
function trimmed({ tokens }: LaidOutText, mention: Mention): Mention | null {
  const isOrganisation = mention.kind === 'company' || mention.kind === 'school';
  let { from, to } = mention;
  while (
    from < to &&
    !(isOrganisation && tokens[from]?.text === 'The') &&
    /^(?:[^\p{L}\p{N}.(]|and|or|the|at|with|a|an|to|as|previously|formerly|currently|worked|working|employed|i|am|was)$/iu.test(
      tokens[from]?.text ?? '',
    )
  )
    from++;
  // "Client: Blue Harbour" is Blue Harbour.
  while (from + 2 < to && isLabelWord(tokens[from]?.text ?? '') && tokens[from + 1]?.text === ':') from += 2;
  if (mention.kind === 'title' && from + 1 < to && TITLE_LABEL.test(tokens[from]?.text ?? '')) from++;
  while (to > from && EDGE.test(tokens[to - 1]?.text ?? '')) to--;
  const [first, last] = [tokens[from], tokens[to - 1]];
  if (from >= to || first === undefined || last === undefined || last.end - first.start > 160) return null;
  const hasLetters = tokens.slice(from, to).some((token) => token.kind === 'word');
  return hasLetters ? { ...mention, from, to, start: first.start, end: last.end } : null;
}

/** "12 Jahre Erfahrung" is not an employer. */
export const SPAN_WORD = /^(?:years?|jahren?|berufserfahrung|erfahrung|experience|previously|formerly)$/i;
const MOST_TITLE = 8;
const MOST_NAME = 14;

/**
 * Text that is too long for a name or position, starts in lower case, or is a bullet without a word for a position is
 * prose.
 */
function isSentence({ tokens, segments }: LaidOutText, { kind, from, to, segment }: Mention): boolean {
  const isName = kind === 'company' || kind === 'school';
  if (kind === 'company' && SPAN_WORD.test(tokens[from]?.text ?? '')) return true;
  if (isName)
    return to - from > MOST_NAME || (to - from > 3 && !/^[\p{Lu}\p{N}]/u.test(tokens[from]?.text ?? ''));
  if (kind !== 'title') return false;
  const isNamed = tokens.slice(from, to).some(({ lower }) => isPositionWord(lower));
  return to - from > MOST_TITLE + (isNamed ? 3 : 0) || (!isNamed && segments[segment]?.isBulleted === true);
}

const BEFORE_OTHERS = /^(?:with|by|to|for|from|of)$/;

/** "Meetings with the structural engineer", "reports to our CFO": the position of another person. */
function isOfOthers({ tokens, tokenStarts }: LaidOutText, { from, segment }: Mention): boolean {
  const first = tokenStarts[segment] ?? 0;
  if (from - 2 < first || !/^(?:the|our|their)$/.test(tokens[from - 1]?.lower ?? '')) return false;
  return BEFORE_OTHERS.test(tokens[from - 2]?.lower ?? '') && tokens[from - 3]?.lower !== 'promoted';
}

/** "UX Designer, Product Owner" on one line is one position. */
function joinTitles({ tokens, segments }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const joined: Mention[] = [];
  for (const mention of mentions) {
    const last = joined.at(-1);
    const goesOn =
      last?.kind === 'title' &&
      mention.kind === 'title' &&
      mention.segment === last.segment &&
      mention.from === last.to + 1 &&
      mention.to - last.from <= MOST_TITLE + 3 &&
      /^(?:,|\/|&|and|–|—|-)$/.test(tokens[last.to]?.text ?? '') &&
      last.start === segments[last.segment]?.start;
    if (goesOn) joined[joined.length - 1] = { ...last, to: mention.to, end: mention.end };
    else joined.push(mention);
  }
  return joined;
}

/** "MBA Symbiosis University", tagged as one school because punctuation was lost, is a degree and its school. */
function partedSchool({ tokens }: LaidOutText, mention: Mention): Mention[] {
  if (mention.kind !== 'school') return [mention];
  const degree = degreesIn(tokens.slice(mention.from, mention.to))[0];
  const at = mention.from + (degree?.to ?? 0);
  const [first, last] = [tokens[at], tokens[at - 1]];
  if (degree?.from !== 0 || first === undefined || last === undefined || at + 1 >= mention.to)
    return [mention];
  if (!isCapital(first, mention.segment)) return [mention];
  return [
    { ...mention, kind: 'degree', to: at, end: last.end },
    { ...mention, from: at, start: first.start },
  ];
}

const LABEL_WORDS =
  /^(?:company|employer|organi[sz]ation|position|designation|title|role|job title|period|duration|dates?|institution|institute|university|college|school|degree|course|qualification|year|location|place|name|skills?|responsibilities|project|client|board|percentage|marks|address|mobile|phone|email|references?)$/i;

/** Column headers of a table and labels before values are not values. */
export function isLabel({ text }: LaidOutText, { start, end }: { start: number; end: number }): boolean {
  return isLabelWord(text.slice(start, end).trim());
}

function isLabelWord(text: string): boolean {
  return LABEL_WORDS.test(text);
}

const PARTING = /^(?:,|\||–|—|-|@|at|:|\/|bei|chez|bij|presso|;)$/i;
/** "Bricklayer with CSCS card". */
const PLAIN_PARTING = /^(?:with|mit|avec|con|com|met|[.;])$/i;
const MOST_PART = 9;
/** The maximum number of tokens of a line that is not prose. A plain text may have everything on one line. */
const MOST_LINE = 16;
const MOST_PLAIN_LINE = 40;

/** Parts of short lines that contain a word for their kind, where nothing else was found. */
function byRules(laidOut: LaidOutText, mentions: readonly Mention[], isPlain: boolean): Mention[] {
  const { tokens, tokenStarts, sections, segments, headings } = laidOut;
  const kindsIn = new Map<number, Set<MentionKind>>();
  const takenIn = new Map<number, Mention[]>();
  for (const mention of mentions) {
    kindsIn.set(mention.segment, (kindsIn.get(mention.segment) ?? new Set()).add(mention.kind));
    const taken = takenIn.get(mention.segment);
    if (taken === undefined) takenIn.set(mention.segment, [mention]);
    else taken.push(mention);
  }
  const added: Mention[] = [];
  for (let segment = 0; segment < segments.length; segment++) {
    const [from, to] = [tokenStarts[segment] ?? 0, tokenStarts[segment + 1] ?? 0];
    const section = sections[segment];
    if (to - from > (isPlain ? MOST_PLAIN_LINE : MOST_LINE) || to === from || headings[segment] !== null)
      continue;
    if (section !== 'work' && section !== 'education' && section !== 'top') continue;
    const kinds = kindsIn.get(segment) ?? new Set();
    const taken = takenIn.get(segment) ?? [];
    for (const part of partsOf(tokens, from, to, isPlain)) {
      if (taken.some((one) => one.from < part.to && part.from < one.to)) continue;
      const kind = kindByWords(tokens.slice(part.from, part.to), section, isPlain && section === 'top');
      const [first, last] = [tokens[part.from], tokens[part.to - 1]];
      if (kind === null || kinds.has(kind) || first === undefined || last === undefined) continue;
      kinds.add(kind);
      added.push({ kind, ...part, start: first.start, end: last.end, segment, confidence: 0.5 });
    }
  }
  return added;
}

function partsOf(
  tokens: readonly Token[],
  from: number,
  to: number,
  isPlain: boolean,
): { from: number; to: number }[] {
  const begins = isPlain ? /^\p{L}/u : /^\p{Lu}/u;
  const parts: { from: number; to: number }[] = [];
  let start = from;
  for (let at = from; at <= to; at++) {
    const token = tokens[at];
    const isEdge =
      at === to ||
      token === undefined ||
      PARTING.test(token.text) ||
      token.kind === 'date' ||
      token.kind === 'email' ||
      (isPlain && (token.kind === 'phone' || token.kind === 'link' || PLAIN_PARTING.test(token.text)));
    if (!isEdge) continue;
    if (at > start && at - start <= MOST_PART && begins.test(tokens[start]?.text ?? ''))
      parts.push({ from: start, to: at });
    start = at + 1;
  }
  return parts;
}

/** `isOpen`: a plain text has no headings, so any of its lines may be about work or education. */
function kindByWords(words: readonly Token[], section: SectionKind, isOpen: boolean): MentionKind | null {
  const namesSchool = words.some(({ lower }) => isSchoolWord(lower));
  if (section !== 'work') {
    if (namesSchool) return 'school';
    if (section === 'education' && degreesIn(words).length > 0) return 'degree';
    if (isOpen && namesDegree(words)) return 'degree';
    if (!isOpen) return null;
  }
  // A school among jobs is the employer.
  if (words.length > 1 && namesSchool) return 'school';
  if (
    words.length > 1 &&
    words.some(({ lower, text }) => companySuffixes.has(lower) && /^\p{Lu}/u.test(text))
  )
    return 'company';
  return words.length <= 6 && words.some(({ lower }) => isPositionWord(lower)) ? 'title' : null;
}
