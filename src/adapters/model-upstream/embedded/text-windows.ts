/**
 * The model reads the first 128 of its own tokens and silently drops the rest. So a longer text is cut into
 * windows between words; its vector is the mean of theirs, each weighted by its tokens, at unit length. Of more
 * than 16 windows, 16 are taken, evenly spread: a text of 8,192 tokens would hold the thread for 10 s, and one
 * window among 65 hardly moves the mean.
 */
export interface TextWindow {
  readonly text: string;
  readonly tokenCount: number;
}

const WINDOW_TOKENS = 128;
const MAX_WINDOWS = 16;
/** Longer words are cut: the model's tokenizer takes a time that grows with the square of its input. */
const LONGEST_WORD = 64;

export function textWindows(text: string, countTokens: (words: string) => number): TextWindow[] {
  const windows: TextWindow[] = [];
  let words: string[] = [];
  let tokenCount = 0;
  for (const word of wordsOf(text)) {
    // A token never reaches over a space, so a window has the tokens of its words.
    const wordTokens = countTokens(word);
    if (tokenCount + wordTokens > WINDOW_TOKENS) {
      windows.push({ text: words.join(' '), tokenCount });
      words = [];
      tokenCount = 0;
    }
    words.push(word);
    tokenCount += wordTokens;
  }
  // A text of white space alone still gets a vector, that of a space: nothing given, no window, would shift
  // the results of those after it.
  if (words.length === 0) words.push(' ');
  windows.push({ text: words.join(' '), tokenCount: Math.max(1, tokenCount) });
  return windows.length <= MAX_WINDOWS ? windows : evenlySpread(windows);
}

/** The first and the last are always among them. */
function evenlySpread(windows: readonly TextWindow[]): TextWindow[] {
  const step = (windows.length - 1) / (MAX_WINDOWS - 1);
  const places = new Set(Array.from({ length: MAX_WINDOWS }, (_, place) => Math.round(place * step)));
  return windows.filter((_, at) => places.has(at));
}

/** Line ends and tabs are unknown to the model; they separate words as a space does. */
function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.normalize('NFKC').matchAll(/\S+/gu)) {
    if (word.length <= LONGEST_WORD) yield word;
    else for (const part of word.match(/.{1,32}/gsu) ?? []) yield part;
  }
}

/** The windows' vectors, one after the other, become the text's: their weighted mean at unit length. */
export function meanVector(
  windows: readonly TextWindow[],
  vectors: readonly ArrayLike<number>[],
): Float32Array<ArrayBuffer> {
  const mean = new Float32Array(vectors[0]?.length ?? 0);
  vectors.forEach((vector, at) => {
    const weight = windows[at]?.tokenCount ?? 1;
    for (let part = 0; part < mean.length; part += 1) {
      mean[part] = (mean[part] ?? 0) + weight * (vector[part] ?? 0);
    }
  });
  return toUnitLength(mean);
}

export function toUnitLength(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  let squares = 0;
  for (const part of vector) squares += part * part;
  // Vectors that cancel each other out have no direction: they stay as they are.
  if (squares === 0) return vector;
  const length = Math.sqrt(squares);
  return vector.map((part) => part / length);
}
