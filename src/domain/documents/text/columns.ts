/** A text whose columns stand one after the other, with the way back to the offsets of the original. */
export interface UnfoldedText {
  readonly text: string;
  /** Null where the text has no columns and is what it was. */
  readonly offsets: Int32Array | null;
}

const GAP = /\S( {3,})(?=\S)/;
const LEAST_LINES = 8;
const LONGEST_LINE = 400;

/**
 * Plain text that was printed in two columns: many lines have a wide gap, and what stands behind it begins at the same
 * place in most of them. The left column is read first, then the right one, as a person would.
 */
export function unfoldColumns(text: string): UnfoldedText {
  const lines = text.split('\n');
  const filled = lines.filter((line) => line.trim() !== '' && line.length <= LONGEST_LINE);
  if (filled.length < LEAST_LINES || text.includes('\t')) return { text, offsets: null };
  const column = commonColumn(filled);
  if (column === null) return { text, offsets: null };
  const left: string[] = [];
  const offsets: number[] = [];
  const right: { text: string; at: number }[] = [];
  const pieces: { text: string; at: number }[] = [];
  let at = 0;
  let begun = false;
  for (const line of lines) {
    const isParted =
      line.length > column && line.slice(column - 2, column).trim() === '' && /\S/.test(line[column] ?? '');
    begun ||= isParted;
    // Above the columns stand the name and whatever runs over both.
    if (isParted) {
      pieces.push({ text: line.slice(0, column).trimEnd(), at });
      right.push({ text: line.slice(column), at: at + column });
    } else {
      pieces.push({ text: line, at });
      if (begun && line.trim() === '') right.push({ text: '', at });
    }
    at += line.length + 1;
  }
  for (const piece of [...pieces, { text: '', at }, ...right]) {
    left.push(piece.text);
    for (let index = 0; index <= piece.text.length; index++)
      offsets.push(Math.min(text.length, piece.at + index));
  }
  return { text: left.join('\n'), offsets: Int32Array.from(offsets) };
}

/** Where the right column begins: in a third of all lines at least, and in most of those that have a gap. */
function commonColumn(lines: readonly string[]): number | null {
  const counts = new Map<number, number>();
  let parted = 0;
  for (const line of lines) {
    const indent = /^ {8,}(?=\S)/.exec(line)?.[0].length;
    const gap = GAP.exec(line);
    const column = indent ?? (gap === null ? null : gap.index + gap[0].length);
    if (column === null) continue;
    parted++;
    counts.set(column, (counts.get(column) ?? 0) + 1);
  }
  const [best] = [...counts].sort((one, other) => other[1] - one[1]);
  if (best === undefined) return null;
  const [column, count] = best;
  return count >= lines.length / 3 && count >= parted * 0.6 && count >= 5 ? column : null;
}

/** A place of the unfolded text in the original one; of a place over several lines, its first line. */
export function foldedPlace(
  { text, offsets }: UnfoldedText,
  start: number,
  end: number,
): { start: number; end: number } {
  if (offsets === null) return { start, end };
  const lineEnd = text.indexOf('\n', start);
  const last = lineEnd === -1 || lineEnd >= end ? end : lineEnd;
  return { start: offsets[start] ?? 0, end: (offsets[last - 1] ?? 0) + 1 };
}
