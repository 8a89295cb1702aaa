/** A network that gives texts vectors: texts of like meaning get vectors of like direction. */
export interface TextVectors {
  /** Numbers of a vector. */
  readonly dimensions: number;
  /** Changes with the network and with how it is used: vectors of two versions cannot be compared. */
  readonly version: string;
  /** Rejects with the signal's reason if it aborts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<EmbeddedVectors>;
  /** Requests that wait fail. */
  close(): Promise<void>;
}

export type EmbeddedVectors =
  /** One vector after the other, all of unit length. */
  | { readonly outcome: 'embedded'; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly outcome: 'too-many-waiting' }
  /** The network cannot run on this platform. */
  | { readonly outcome: 'unavailable' }
  /** The thread ended, or the network failed; the next request starts anew. */
  | { readonly outcome: 'failed' };
