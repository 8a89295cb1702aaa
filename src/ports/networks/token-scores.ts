/** A network that says what the words of a document are. */
export interface TokenScores {
  /**
   * Log-probabilities: one row a word, one column a label of that kind of document. `signs` has one row a word too, of
   * zeros and ones: what a network without capitals and layout cannot see. Null if the network cannot run on this
   * platform, fails, or the signal is aborted. Never rejects: texts can be read without it.
   */
  scoreWords(
    document: 'cv' | 'posting',
    words: readonly string[],
    signs: Uint8Array,
    signal?: AbortSignal,
  ): Promise<Float32Array | null>;
}
