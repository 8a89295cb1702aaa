/** A network that labels the words of a document. */
export interface TokenScores {
  /**
   * Log-probabilities: one row per word, one column per label of that kind of document. `signs` also has one row per
   * word: binary features of capitalization and layout, which the network does not see itself. Null if the network cannot
   * run on this platform, fails, or the signal is aborted. Never rejects: documents can be read without it.
   */
  scoreWords(
    document: 'cv' | 'posting',
    words: readonly string[],
    signs: Uint8Array,
    signal?: AbortSignal,
  ): Promise<Float32Array | null>;
}
