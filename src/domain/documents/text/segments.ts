/**
 * A text in the pieces that its layout shows: lines, cells, columns, bullets. Some texts come with their line breaks
 * collapsed to double blanks, others as columns set apart by blanks, so two blanks part as a line feed does.
 */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly isBulleted: boolean;
  /** Whether a line feed, and not only a wide gap, stands before it. */
  readonly beginsLine: boolean;
  /** Whether an empty line stands before it. */
  readonly beginsBlock: boolean;
}

const SEPARATOR =
  /[ \u00a0]*(?:\r?\n[ \t\u00a0]*)+|\t+|[ \u00a0]{2,}|[ \u00a0]*[|•▪●◦■‣➢➤✓✔❖\uf0b7\uf0a7\u2023\u2043][ \u00a0]*/g;
const LEADING_MARK = /^(?:[-–—*·o»>+]\s+|\d{1,2}[.)]\s+)/;
const BULLETS = /[•▪●◦■‣➢➤✓✔❖\uf0b7\uf0a7\u2023\u2043]/;

/** More than any document has; the rest would be noise. */
const MOST_SEGMENTS = 40_000;

export function segmentsOf(text: string): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  let gap = '\n\n';
  for (const match of text.matchAll(SEPARATOR)) {
    if (match.index > from) {
      addSegment(segments, text, from, match.index, gap);
      gap = match[0];
    } else {
      gap += match[0];
    }
    from = match.index + match[0].length;
    if (segments.length >= MOST_SEGMENTS) return segments;
  }
  if (from < text.length) addSegment(segments, text, from, text.length, gap);
  return segments;
}

function addSegment(segments: Segment[], text: string, from: number, to: number, gap: string): void {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  if (start === end) return;
  const mark = LEADING_MARK.exec(text.slice(start, Math.min(end, start + 6)))?.[0];
  const isBulleted = mark !== undefined || BULLETS.test(gap);
  if (mark !== undefined && start + mark.length < end) start += mark.length;
  segments.push({
    start,
    end,
    text: text.slice(start, end),
    isBulleted,
    beginsLine: gap.includes('\n'),
    beginsBlock: /\n[^\n]*\n/.test(gap),
  });
}

function isBlank(code: number): boolean {
  return code === 32 || code === 160 || code === 9 || code === 10 || code === 13;
}
