/** What the main thread asks of the thread that runs the embedding model. */
export type ToThread =
  | { readonly kind: 'embed'; readonly id: number; readonly texts: readonly string[] }
  /** Whoever asked has gone: what is left of it need not be done. */
  | { readonly kind: 'forget'; readonly id: number };

export type FromThread =
  /** One vector after the other, all of unit length. */
  | { readonly kind: 'embedded'; readonly id: number; readonly vectors: Float32Array<ArrayBuffer> }
  /** The model failed at this request; others go on. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  /** The thread is of no use any more. */
  | { readonly kind: 'broken'; readonly message: string };

/** The model's own. */
export const VECTOR_LENGTH = 512;

/**
 * The requests that the model works on, and which windows it takes next. A slice takes from each request in
 * turn: one sentence does not wait for the two thousand texts that came before it, and sentences of several
 * requests share one run of the model, which costs about 35 ms besides 1 ms for each token.
 */
interface EmbeddingJobs {
  add(id: number, texts: readonly string[]): void;
  forget(id: number): void;
  /** Empty where nothing is left to do. */
  nextSlice(): readonly WindowInJob[];
  /** In the order of the slice. What is finished by it comes back, one vector for each text. */
  finish(slice: readonly WindowInJob[], vectors: readonly ArrayLike<number>[]): readonly FinishedJob[];
}

interface WindowInJob {
  readonly jobId: number;
  readonly window: TextWindow;
  readonly text: TextInWork;
  readonly place: number;
}

interface FinishedJob {
  readonly id: number;
  readonly vectors: readonly Float32Array<ArrayBuffer>[];
}

/** A text whose windows are being processed. It is split lazily, so that a large request does not block others. */
interface TextInWork {
  readonly index: number;
  readonly windows: readonly TextWindow[];
  readonly vectors: ArrayLike<number>[];
  taken: number;
  missing: number;
}

interface Job {
  readonly texts: readonly string[];
  readonly vectors: Float32Array<ArrayBuffer>[];
  current: TextInWork | null;
  nextText: number;
  missing: number;
}

/** The model pads all windows of a run to the longest: places times longest, about a third of a second. */
const SLICE_TOKENS = 256;

export function createEmbeddingJobs(cut: (text: string) => readonly TextWindow[]): EmbeddingJobs {
  // A Map keeps the order of insertion; who was served goes to its end.
  const jobs = new Map<number, Job>();

  function upcoming(jobId: number, job: Job): WindowInJob | null {
    if (job.current === null || job.current.taken === job.current.windows.length) {
      const text = job.texts[job.nextText];
      if (text === undefined) return null;
      const windows = cut(text);
      job.current = { index: job.nextText, windows, vectors: [], taken: 0, missing: windows.length };
      job.nextText += 1;
    }
    const text = job.current;
    const window = text.windows[text.taken];
    return window === undefined ? null : { jobId, window, text, place: text.taken };
  }

  return {
    add(id, texts) {
      jobs.set(id, { texts, vectors: [], current: null, nextText: 0, missing: texts.length });
    },
    forget(id) {
      jobs.delete(id);
    },
    nextSlice() {
      const slice: WindowInJob[] = [];
      let longest = 0;
      for (let before = -1; before !== slice.length; ) {
        before = slice.length;
        for (const [id, job] of [...jobs]) {
          const next = upcoming(id, job);
          if (next === null) continue;
          longest = Math.max(longest, next.window.tokenCount);
          if (slice.length > 0 && (slice.length + 1) * longest > SLICE_TOKENS) return slice;
          slice.push(next);
          next.text.taken += 1;
          jobs.delete(id);
          jobs.set(id, job);
        }
      }
      return slice;
    },
    finish(slice, vectors) {
      const finished: FinishedJob[] = [];
      slice.forEach(({ jobId, text, place }, at) => {
        const job = jobs.get(jobId);
        const vector = vectors[at];
        if (job === undefined || vector === undefined) return;
        text.vectors[place] = vector;
        text.missing -= 1;
        if (text.missing > 0) return;
        job.vectors[text.index] = meanVector(text.windows, text.vectors);
        job.missing -= 1;
        if (job.missing > 0) return;
        jobs.delete(jobId);
        finished.push({ id: jobId, vectors: job.vectors });
      });
      return finished;
    },
  };
}

/**
 * The model reads the first 128 of its own tokens and silently drops the rest. So a longer text is cut into
 * windows between words; its vector is the mean of theirs, each weighted by its tokens, at unit length. Of more
 * than 16 windows, 16 are taken, evenly spread: a text of 8,192 tokens would hold the thread for 10 s, and one
 * window among 65 hardly moves the mean.
 */
interface TextWindow {
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
