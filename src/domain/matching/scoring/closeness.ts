import { closenessOfVectors } from '../facts/encoders.ts';
import { commonWeight, type WeighedWords } from '../facts/words.ts';
import type { JobFeatures, TalentFeatures } from './features.ts';

export interface WordsCompared {
  readonly byWords: number | null;
  readonly byVectors: number | null;
  /** 0 to 1: how little of this kind of work is in the CV beside its lists of skills. */
  readonly unshown: number;
}

/** A long posting has more words that no CV has: what is in common counts by less than the whole of its length. */
const USUAL_WEIGHT = 100;
const BY_LENGTH = 0.65;
const WORDS_IN_COMMON = 4;
/** So much in common with a posting is no chance any more, and so close a title is that of the work. */
const SHOWN = { words: 0.4, title: 0.5 } as const;
/** Of CVs with so much in common by words, three quarters are no nearer by their vector than this times as much. */
const VECTOR_BY_WORDS = 1.25;

/**
 * By words and by vectors. What lists of skills add to the words is taken off both, as far as neither the titles nor the rest of
 * the CV show this kind of work: a list says what is asked for as easily as what was done.
 */
export function wordsCompared(talent: TalentFeatures, job: JobFeatures, title: number): WordsCompared {
  const all = closenessOfWords(talent.words, job);
  const vectors = closenessOfVectors(talent.vector, job.vector);
  const shown = talent.shownWords === null ? all : closenessOfWords(talent.shownWords, job);
  const isShown = Math.max((shown ?? 0) / SHOWN.words, title / SHOWN.title);
  const unshown = 1 - Math.min(1, isShown);
  const added = unshown * Math.max(0, (all ?? 0) - (shown ?? 0));
  const byWords = all === null ? null : all - added;
  const byVectors = vectors === null ? null : Math.max(0, vectors - added);
  // The vector is of the whole CV, with what was copied.
  const most = talent.isPartCopied ? VECTOR_BY_WORDS * (byWords ?? 0) : 1;
  return {
    byWords,
    byVectors: byVectors === null && !talent.isPartCopied ? null : Math.min(most, byVectors ?? 1),
    unshown,
  };
}

/** BM25 of the posting's words in the CV, with fixed rarities, as a share: it grows towards 1 and does not reach it. */
function closenessOfWords(said: WeighedWords, job: JobFeatures): number | null {
  const asked = job.words.total;
  if (said.hashes.length === 0 || asked === 0) return null;
  const long = USUAL_WEIGHT ** (1 - BY_LENGTH) * asked ** BY_LENGTH;
  return 1 - Math.exp((-WORDS_IN_COMMON * commonWeight(job.words, said)) / long);
}
