import { closenessOfVectors } from '../facts/encoders.ts';
import { commonWeight, type WeighedWords } from '../facts/words.ts';
import type { JobFeatures, TalentFeatures } from './features.ts';

interface WordsCompared {
  readonly byWords: number | null;
  readonly byVectors: number | null;
  /** 0 to 1: how little the CV shows this type of work outside its lists of skills. */
  readonly unshown: number;
}

/** A long posting has more words that no CV has, so the common words are divided by less than its full length. */
const USUAL_WEIGHT = 100;
const BY_LENGTH = 0.65;
const WORDS_IN_COMMON = 4;
/** From this much in common with a posting, or this close a title, the CV counts as showing this type of work. */
const SHOWN = { words: 0.4, title: 0.5 } as const;
/** Of CVs with a given closeness by words, three quarters have a closeness by vector of at most this multiple of it. */
const VECTOR_BY_WORDS = 1.25;

/**
 * Compares by words and by vectors. The amount that lists of skills add to the closeness by words is subtracted from
 * both, as far as neither the titles nor the rest of the CV show this type of work: a list can name requested skills as
 * easily as used ones.
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
  // The vector covers the whole CV, including copied passages.
  const most = talent.isPartCopied ? VECTOR_BY_WORDS * (byWords ?? 0) : 1;
  return {
    byWords,
    byVectors: byVectors === null && !talent.isPartCopied ? null : Math.min(most, byVectors ?? 1),
    unshown,
  };
}

/** BM25 of the posting's words in the CV, with fixed rarities, as a share that approaches 1 but never reaches it. */
function closenessOfWords(cvWords: WeighedWords, job: JobFeatures): number | null {
  const total = job.words.total;
  if (cvWords.hashes.length === 0 || total === 0) return null;
  const long = USUAL_WEIGHT ** (1 - BY_LENGTH) * total ** BY_LENGTH;
  return 1 - Math.exp((-WORDS_IN_COMMON * commonWeight(job.words, cvWords)) / long);
}
