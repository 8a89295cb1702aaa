/**
 * Cuts a text for the tokenizer, in one pass and no further than it is asked to.
 *
 * The tokenizer merges byte pairs in a time that grows with the square of a run: 100,000 spaces took it 38 s.
 * So a run of letters, of marks or of white space is cut after 128 characters; one so long is counted as at most
 * one token more for each cut. And a long text is cut into slices, so that whoever counts it can let others
 * run in between: there only between a letter and a space that a letter follows, where the tokenizer's own
 * pattern always ends a piece. The count stays exact.
 */
const LONGEST_RUN = 128;
/** About 4,000 tokens of English, 1 to 2 ms. */
export const SLICE_LENGTH = 16_384;
/** A text without such a place (Chinese, say) is cut where any run ends, at this length. */
const LONGEST_SLICE = 2 * SLICE_LENGTH;

export function* tokenSlices(text: string): Generator<string> {
  let sliceStart = 0;
  let runStart = 0;
  let runKind = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // The second half of a pair belongs to its first: no cut between them.
    if (code >= 0xdc00 && code <= 0xdfff) continue;
    const kind = kindOf(text, at, code);
    const runEnds = kind !== runKind;
    const sliceLength = at - sliceStart;
    const cuts = runEnds
      ? (sliceLength >= SLICE_LENGTH && isBetweenWords(text, at)) || sliceLength >= LONGEST_SLICE
      : at - runStart >= LONGEST_RUN;
    if (cuts) {
      yield text.slice(sliceStart, at);
      sliceStart = at;
    }
    if (cuts || runEnds) runStart = at;
    runKind = kind;
  }
  yield text.slice(sliceStart);
}

const SPACE = 0;
const LETTER = 1;
const DIGIT = 2;
const MARK = 3;

/** As the tokenizer's pattern tells them apart; digits are never more than three to a piece. */
function kindOf(text: string, at: number, code: number): number {
  if (code < 0x80) {
    if (isAsciiLetter(code)) return LETTER;
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return SPACE;
    return code >= 0x30 && code <= 0x39 ? DIGIT : MARK;
  }
  const character = String.fromCodePoint(text.codePointAt(at) ?? code);
  if (/[\p{L}\p{M}]/u.test(character)) return LETTER;
  if (/\p{N}/u.test(character)) return DIGIT;
  return /\s/u.test(character) ? SPACE : MARK;
}

function isAsciiLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function isBetweenWords(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === 0x20 &&
    isAsciiLetter(text.charCodeAt(at - 1)) &&
    isAsciiLetter(text.charCodeAt(at + 1))
  );
}
