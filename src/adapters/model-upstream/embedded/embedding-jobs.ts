import { meanVector, type TextWindow } from './text-windows.ts';

/**
 * The requests that the model works on, and which windows it takes next. A slice takes from each request in
 * turn: one sentence does not wait for the two thousand texts that came before it, and sentences of several
 * requests share one run of the model, which costs about 35 ms besides 1 ms for each token.
 */
export interface EmbeddingJobs {
  add(id: number, texts: readonly string[]): void;
  forget(id: number): void;
  /** Empty where nothing is left to do. */
  nextSlice(): readonly WindowInJob[];
  /** In the order of the slice. What is finished by it comes back, one vector for each text. */
  finish(slice: readonly WindowInJob[], vectors: readonly ArrayLike<number>[]): readonly FinishedJob[];
}

export interface WindowInJob {
  readonly jobId: number;
  readonly window: TextWindow;
  readonly text: TextInWork;
  readonly place: number;
}

export interface FinishedJob {
  readonly id: number;
  readonly vectors: readonly Float32Array<ArrayBuffer>[];
}

/** A text whose windows are being taken; it is cut only now, so that a large request holds nobody up. */
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
