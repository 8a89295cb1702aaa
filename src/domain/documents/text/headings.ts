import headings from '../words/headings.json' with { type: 'json' };
import type { Segment } from './segments.ts';

export type SectionKind =
  | 'top'
  | 'contact'
  | 'summary'
  | 'work'
  | 'education'
  | 'skills'
  | 'languages'
  | 'certificates'
  | 'projects'
  | 'other';

const KINDS = new Map<string, SectionKind>();
for (const [kind, lines] of Object.entries(headings)) {
  for (const name of lines.flatMap((line) => line.split('; '))) KINDS.set(name, kind as SectionKind);
}

export interface Heading {
  readonly kind: SectionKind;
  /** How many characters of the segment are the heading; the rest is already content. */
  readonly length: number;
}

const INLINE = /^([\p{L}][\p{L} &/'’-]{2,40}?)\s*(?::|[-–—](?=\s))\s*/u;
const CAPITALS = /^([\p{Lu}][\p{Lu} &/-]{3,40})(?=\s[^\p{Lu}]|\s\p{Lu}\p{Ll}|$)/u;
const LONGEST = 60;

/** A segment that is a heading, or begins with one (`Skills: Java, SQL`, `EDUCATION Stanford University`). */
export function headingOf(segment: Segment): Heading | null {
  const { text } = segment;
  if (text.length <= LONGEST) {
    const kind = kindOf(text);
    if (kind !== null && looksLikeHeading(text)) return { kind, length: text.length };
  }
  const inline = INLINE.exec(text.slice(0, LONGEST));
  if (inline !== null) {
    const kind = kindOf(`${inline[1] ?? ''}:`);
    if (kind !== null && looksLikeHeading(inline[1] ?? '')) return { kind, length: inline[0].length };
  }
  const capitals = CAPITALS.exec(text.slice(0, LONGEST));
  if (capitals !== null) {
    const kind = kindOf(capitals[1] ?? '');
    if (kind !== null) return { kind, length: (capitals[1] ?? '').length };
  }
  return null;
}

/** A word in the middle of a sentence begins with a small letter; a heading does not. */
function looksLikeHeading(text: string): boolean {
  return /^[^\p{L}]*\p{Lu}/u.test(text);
}

function kindOf(raw: string): SectionKind | null {
  const clean = raw
    .toLowerCase()
    .replace(/[’`]/g, "'")
    .replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
    .replace(/\s+/g, ' ');
  const known = KINDS.get(clean);
  if (known !== undefined) return known;
  // Spaced capitals: "E D U C A T I O N".
  if (/^(?:\p{L} ){3,}\p{L}$/u.test(clean)) return KINDS.get(clean.replaceAll(' ', '')) ?? null;
  const [first, second] = clean.split(/ (?:and|&|und|et|y|e|en) |\//);
  if (first !== undefined && second !== undefined && KINDS.has(second) && KINDS.has(first))
    return KINDS.get(first) ?? null;
  return kindByLastWord(raw.trim(), clean);
}

/** The words that close a heading nobody listed: "Student Teaching Experience", "FINANCIAL MANAGEMENT ROLES:". */
const LAST_WORDS: readonly (readonly [RegExp, SectionKind])[] = [
  [
    /^(?:experiences?|employment|internships?|placements?|appointments|assignments|positions|jobs|clerkships?|practicums?|residencies)$/,
    'work',
  ],
  [/^(?:education|degrees?|academics|studies|schooling|coursework|courses)$/, 'education'],
  [
    /^(?:skills|competenc(?:ies|es)|expertise|proficienc(?:y|ies)|technologies|strengths|abilities|toolset|skillset)$/,
    'skills',
  ],
  [/^(?:certifications?|certificates|licen[cs]es|licensures?|credentials|trainings?)$/, 'certificates'],
  [/^projects$/, 'projects'],
  [
    /^(?:publications|presentations|awards|honou?rs|interests|hobbies|references|referees|memberships|affiliations|activities|achievements|accomplishments|volunteering|involvement|patents|conferences|grants)$/,
    'other',
  ],
];
const MOST_WORDS = 5;
/** "Customer experience" and "mobile technologies" are what somebody knows, "5 years' experience" is a claim. */
const NO_HEADING =
  /^(?:customer|user|client|guest|candidate|employee|years?|hands[- ]on|proven|extensive|strong|excellent|good|solid|total|no|my|with|special|elementary|physical|higher|early|teacher|web|mobile|emerging|department|school|college|university|institute|doctor|master|bachelor|masters|bachelors)\b/;

function kindByLastWord(raw: string, clean: string): SectionKind | null {
  const words = clean.split(' ');
  const last = words.at(-1) ?? '';
  if (words.length < 2 || words.length > MOST_WORDS || /[\d,.;@]/.test(raw) || NO_HEADING.test(clean))
    return null;
  const isShouted = raw === raw.toUpperCase();
  const isTitled = raw.split(/\s+/).every((word) => /^(?:\p{Lu}|[(&/-]|and$|of$|in$|the$|for$)/u.test(word));
  if (!isShouted && !raw.endsWith(':') && !(isTitled && /^(?:experiences?|employment)$/.test(last)))
    return null;
  if (!isShouted && !isTitled) return null;
  return LAST_WORDS.find(([pattern]) => pattern.test(last))?.[1] ?? null;
}
