import type { EncodedText } from './word-pieces.ts';

/** Messages from the main thread to the encoder's thread. */
export type ToThread =
  | { readonly kind: 'embed'; readonly id: number; readonly texts: readonly string[] }
  /** The caller has left: the rest of its request is not computed. */
  | { readonly kind: 'forget'; readonly id: number }
  /** Frees the weights and ends the thread; terminating it from outside would free neither. */
  | { readonly kind: 'close' };

export type FromThread =
  /** The vectors in one array, one after the other, each of unit length. */
  | { readonly kind: 'embedded'; readonly id: number; readonly vectors: Float32Array<ArrayBuffer> }
  /** The network failed for this request; others continue. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  /** The network does not run on this platform, so that every request will fail. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** The thread cannot continue. */
  | { readonly kind: 'broken'; readonly message: string };

/**
 * The encoder's requests, and which window is computed next: one of each request in turn, so that a single sentence
 * does not wait for two thousand texts that arrived before it. Windows are computed one by one: in a batch the result
 * of a window would depend on the others, because the network scales its numbers over all of them.
 */
interface EncoderJobs {
  add(id: number, texts: readonly string[]): void;
  forget(id: number): void;
  /** Null if nothing is left to do. */
  next(): WindowInJob | null;
  /** Returns the request if that was its last window, with one vector for each text. */
  finish(window: WindowInJob, vector: Float32Array<ArrayBuffer>): FinishedJob | null;
}

export interface WindowInJob {
  readonly jobId: number;
  readonly ids: readonly number[];
  readonly text: TextInWork;
}

interface FinishedJob {
  readonly id: number;
  readonly vectors: readonly Float32Array<ArrayBuffer>[];
}

/** A text whose windows are being processed. It is cut when its turn comes, so that a large request does not block others. */
interface TextInWork {
  readonly index: number;
  readonly windows: readonly (readonly number[])[];
  readonly vectors: Float32Array<ArrayBuffer>[];
}

interface Job {
  readonly texts: readonly string[];
  readonly vectors: Float32Array<ArrayBuffer>[];
  current: TextInWork | null;
}

export function createEncoderJobs(cut: (text: string) => readonly (readonly number[])[]): EncoderJobs {
  // A Map keeps its insertion order; a request that was served moves to the end.
  const jobs = new Map<number, Job>();

  return {
    add(id, texts) {
      jobs.set(id, { texts, vectors: [], current: null });
    },
    forget(id) {
      jobs.delete(id);
    },
    next() {
      const [first] = jobs;
      if (first === undefined) return null;
      const [jobId, job] = first;
      const index = job.vectors.length;
      job.current ??= { index, windows: cut(job.texts[index] ?? ''), vectors: [] };
      jobs.delete(jobId);
      jobs.set(jobId, job);
      const text = job.current;
      return { jobId, ids: text.windows[text.vectors.length] ?? [], text };
    },
    finish({ jobId, text }, vector) {
      const job = jobs.get(jobId);
      if (job?.current !== text) return null;
      text.vectors.push(vector);
      if (text.vectors.length < text.windows.length) return null;
      job.vectors.push(meanVector(text.windows, text.vectors));
      job.current = null;
      if (job.vectors.length < job.texts.length) return null;
      jobs.delete(jobId);
      return { id: jobId, vectors: job.vectors };
    },
  };
}

/** In pieces, without the two that start and end every window. The network has 512 positions. */
const WINDOW_PIECES = 510;
/**
 * A longer text is cut between words; its vector is the mean of its windows' vectors, weighted by their numbers of
 * pieces, at unit length. If there are more than four windows, four evenly spread ones are used: a text of 8,192 tokens
 * would have 20 and block the thread for seconds, and a single one of 20 hardly changes the mean.
 */
const MAX_WINDOWS = 4;

export function windowsOf({ ids, isFirst }: EncodedText): readonly (readonly number[])[] {
  const windows: number[][] = [];
  let from = 0;
  while (ids.length - from > WINDOW_PIECES) {
    let to = from + WINDOW_PIECES;
    while (to > from && isFirst[to] !== true) to -= 1;
    // A word has at most 100 pieces, so there is always a word start to cut at.
    windows.push(ids.slice(from, to));
    from = to;
  }
  // A text without pieces has one empty window, so that it gets a vector too.
  windows.push(ids.slice(from));
  return windows.length <= MAX_WINDOWS ? windows : evenlySpread(windows);
}

/** Always includes the first and the last. */
function evenlySpread<Window>(windows: readonly Window[]): Window[] {
  const step = (windows.length - 1) / (MAX_WINDOWS - 1);
  const places = new Set(Array.from({ length: MAX_WINDOWS }, (_, place) => Math.round(place * step)));
  return windows.filter((_, at) => places.has(at));
}

export function meanVector(
  windows: readonly (readonly number[])[],
  vectors: readonly Float32Array<ArrayBuffer>[],
): Float32Array<ArrayBuffer> {
  const mean = new Float32Array(vectors[0]?.length ?? 0);
  vectors.forEach((vector, at) => {
    const weight = Math.max(1, windows[at]?.length ?? 1);
    for (let part = 0; part < mean.length; part += 1) {
      mean[part] = (mean[part] ?? 0) + weight * (vector[part] ?? 0);
    }
  });
  return toUnitLength(mean);
}

export function toUnitLength(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  let squares = 0;
  for (const part of vector) squares += part * part;
  // Vectors that cancel each other out have no direction: they are returned unchanged.
  if (squares === 0) return vector;
  const length = Math.sqrt(squares);
  return vector.map((part) => part / length);
}
