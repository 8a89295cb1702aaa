/** A network that embeds texts: texts with similar meanings get vectors with similar directions. */
export interface TextVectors {
  /** The number of dimensions. */
  readonly dimensions: number;
  /** Identifies the network and its preprocessing. Vectors of different versions cannot be compared. */
  readonly version: string;
  /** Rejects with the signal's reason if it aborts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedVectors>;
  /** Waiting requests fail. */
  close(): Promise<void>;
}

export type EmbeddedVectors =
  /** The vectors one after the other, each of unit length. */
  | { readonly outcome: 'embedded'; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly outcome: 'too-many-waiting' }
  /** The network cannot run on this platform. */
  | { readonly outcome: 'unavailable' }
  /** The thread ended or the network failed. The next request starts a new thread. */
  | { readonly outcome: 'failed' };
