import { degreeBook, schoolHeads, titleHeads } from '../words/single-words.ts';
import type { DateSpan } from './dates.ts';
import type { Heading, SectionKind } from './headings.ts';
import type { Segment } from './segments.ts';
import type { Token } from './tokens.ts';

/** Details of contact are a few lines; what follows without a heading goes on where the text was before. */
const LONGEST_CONTACT = 8;
/** Tokens of the longest line that can head an entry. */
const LONGEST_LINE = 14;

/** Above all headings the tagger sees for itself, and projects have roles and times as jobs have. */
const KEPT: ReadonlySet<SectionKind> = new Set(['top', 'projects']);

interface Outline {
  readonly segments: readonly Segment[];
  readonly headings: readonly (Heading | null)[];
  readonly tokens: readonly Token[];
  readonly tokenStarts: readonly number[];
  readonly dates: readonly DateSpan[];
}

/** The kind of section that each segment lies in: the last heading's, mended where the lines say otherwise. */
export function sectionsOf(outline: Outline): SectionKind[] {
  const { segments, headings } = outline;
  const looksLikeJob = jobLines(outline);
  let section: SectionKind = 'top';
  let before: SectionKind = 'top';
  let since = 0;
  return segments.map((_, at) => {
    const heading = headings[at] ?? null;
    if (heading !== null) {
      if (heading.kind === 'contact' && section !== 'contact') before = section;
      section = heading.kind;
      since = 0;
    } else if (section === 'contact' && ++since > LONGEST_CONTACT) section = before;
    // A heading that nobody knows hides its section: a job's line says that work has begun.
    if (heading === null && looksLikeJob[at] === 1 && !KEPT.has(section)) section = 'work';
    return section;
  });
}

/** Short lines with a span of time and the word of a position, on them or beside them, and nothing of a school. */
function jobLines({ segments, tokens, tokenStarts, dates }: Outline): Uint8Array {
  const positions = new Uint8Array(segments.length);
  const schools = new Uint8Array(segments.length);
  const lengths = segments.map((_, at) => (tokenStarts[at + 1] ?? 0) - (tokenStarts[at] ?? 0));
  for (const token of tokens) {
    const { lower, segment } = token;
    if (token.kind !== 'word' || (lengths[segment] ?? 0) > LONGEST_LINE || !/^\p{Lu}/u.test(token.text))
      continue;
    if (titleHeads.has(lower)) positions[segment] = 1;
    else if (schoolHeads.has(lower) || lower.includes('universit') || isDegree(token)) schools[segment] = 1;
  }
  const found = new Uint8Array(segments.length);
  const spans = dates.filter(({ isRange }) => isRange);
  let next = 0;
  segments.forEach(({ start, end }, at) => {
    while (next < spans.length && (spans[next]?.start ?? 0) < start) next++;
    if ((spans[next]?.start ?? Infinity) >= end || (lengths[at] ?? 0) > LONGEST_LINE) return;
    const near = [at, at - 1, at + 1].filter((one) => (lengths[one] ?? 99) <= LONGEST_LINE);
    if (near.some((one) => schools[one] === 1) || !near.some((one) => positions[one] === 1)) return;
    for (const one of near) found[one] = 1;
  });
  return found;
}

/** "B.A." and "Bachelor", not "Be" at the beginning of a line. */
function isDegree({ text }: Token): boolean {
  return (text.length > 3 || /^\p{Lu}[\p{Lu}.]/u.test(text)) && degreeBook.of(text) !== undefined;
}
