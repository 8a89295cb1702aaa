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
