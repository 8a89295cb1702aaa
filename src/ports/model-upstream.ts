/** Whoever answers a model call: a provider over HTTP, or the models embedded in this package. One wire for both. */
export interface ModelUpstream {
  /**
   * Sends the body as it is and resolves as soon as the status and headers are there; the body follows. Rejects
   * with an UpstreamFailure. Aborting `signal` ends the call at any moment, the body too.
   */
  send(target: UpstreamTarget, call: UpstreamCall): Promise<UpstreamAnswer>;
}

export interface UpstreamTarget {
  readonly id: string;
  /** Null is the embedded models. */
  readonly baseUrl: string | null;
  /** The provider's name of the model, which no client ever sees. */
  readonly model: string;
  readonly apiKey: string | null;
}

export type ModelEndpoint = 'chat/completions' | 'completions' | 'embeddings';

export interface UpstreamCall {
  readonly endpoint: ModelEndpoint;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Those of the client's headers that may go on. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface UpstreamAnswer {
  readonly status: number;
  /** Lower-case, without its parameters; empty where there was none. */
  readonly contentType: string;
  /** Not compressed. It errors where the upstream breaks off. */
  readonly body: ReadableStream<Uint8Array>;
  /** All of it at once, in the place of `body`: a short one whose length was declared is quicker to have so. */
  readonly whole?: (() => Promise<Uint8Array<ArrayBuffer>>) | undefined;
}

/** Every failure before the status is there, as an Error with these fields. */
export interface UpstreamFailure extends Error {
  readonly name: 'UpstreamFailure';
  readonly reason: 'connect' | 'first-byte-time-out' | 'broken' | 'aborted';
}
