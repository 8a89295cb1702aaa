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
    const kind = kindOf(inline[1] ?? '');
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
  if (first === undefined || second === undefined) return null;
  return KINDS.has(second) ? (KINDS.get(first) ?? null) : null;
}
