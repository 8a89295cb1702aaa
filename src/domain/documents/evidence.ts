import { type SqueezedText, squeeze } from './squeezed-text.ts';

export interface FoundEvidence {
  /** Offsets into the text that was read. */
  readonly start: number;
  readonly end: number;
}

export interface EvidenceFinder {
  /**
   * Where a value stands in the text, whatever white space, capitals and kinds of quotes and dashes either has; null
   * where it does not stand there. The place nearest behind `from` is preferred, so that the second job's company is
   * not found in the first.
   */
  find(value: string, from?: number): FoundEvidence | null;
}

/** A longer value is a copied page, not a value. */
const LONGEST_VALUE = 20_000;

export function createEvidenceFinder(text: string): EvidenceFinder {
  const squeezed = squeeze(text);
  return {
    find: (value, from = 0) => {
      if (value.length > LONGEST_VALUE) return null;
      const wanted = squeeze(value).text;
      if (wanted === '') return null;
      return search(text, squeezed, wanted, from) ?? (from === 0 ? null : search(text, squeezed, wanted, 0));
    },
  };
}

/** One value in one text; for many values of one text the finder squeezes once. */
export function evidenceOf(text: string, value: string): FoundEvidence | null {
  return createEvidenceFinder(text).find(value);
}

/** Tries are bounded: a value of one letter could be in the middle of every word. */
const MOST_TRIES = 2000;

function search(
  text: string,
  { text: haystack, offsets }: SqueezedText,
  wanted: string,
  from: number,
): FoundEvidence | null {
  let at = haystack.indexOf(wanted, from === 0 ? 0 : placeOf(offsets, haystack.length, from));
  for (let tries = 0; at !== -1 && tries < MOST_TRIES; tries++) {
    const start = offsets[at] ?? 0;
    const end = (offsets[at + wanted.length - 1] ?? 0) + 1;
    if (isWhole(text, start, end)) return { start, end };
    at = haystack.indexOf(wanted, at + 1);
  }
  return null;
}

function placeOf(offsets: Int32Array, count: number, from: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

const WORD = /[\p{L}\p{N}]/u;

/** "Go" is not found in "good", nor "Java" in "JavaScript". */
function isWhole(text: string, start: number, end: number): boolean {
  const startsWord = WORD.test(text[start] ?? '') && WORD.test(text[start - 1] ?? '');
  const endsWord = WORD.test(text[end - 1] ?? '') && WORD.test(text[end] ?? '');
  const isCut = /[+#]/.test(text[end] ?? '') && WORD.test(text[end - 1] ?? '') && end - start <= 2;
  return !startsWord && !endsWord && !isCut;
}
