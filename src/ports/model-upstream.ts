/** What answers a model call: a provider over HTTP, or the models embedded in this package. One wire for both. */
export interface ModelUpstream {
  /**
   * Sends the body as it is and resolves as soon as the status and headers are there; the body follows. Rejects
   * with an UpstreamFailure. Aborting `signal` ends the call at any moment, the body too: the upstream sees it at once.
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
  /** Left out: OpenAI's wire, with the key as a bearer token. */
  readonly wire?: TargetWire;
  /** From sending a call until the status is there; left out: the upstream's own. */
  readonly timeoutMs?: number;
}

export type ModelEndpoint =
  | 'chat/completions'
  | 'completions'
  | 'embeddings'
  | 'responses'
  | 'messages'
  | 'messages/count_tokens';

/** How the provider of a target is spoken to. */
export interface TargetWire {
  /** The name of its preset: `openai`, `anthropic`, `azure`, `ollama`, `vllm` and others. */
  readonly provider: string;
  /** What it answers. A call of another endpoint is translated into one of these, or refused. */
  readonly endpoints: readonly ModelEndpoint[];
  /** The header that carries the key; `authorization` carries it as a bearer token. */
  readonly keyHeader: 'authorization' | 'x-api-key' | 'api-key';
  /** Sent with every call, in place of the client's headers of the same names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent where the client sent no header of the name. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** Azure's: paths then name the deployment, and every address carries the version. */
  readonly apiVersion: string | null;
  /** The provider's name for the bound of an answer, in bodies of chat completions that we write. */
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` may be sent. */
  readonly hasStreamOptions: boolean;
  /** Of the alias: the bound of an answer, where the provider's wire needs one and the call names none. */
  readonly maxOutputTokens: number;
}

export interface UpstreamCall {
  readonly endpoint: ModelEndpoint;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Those of the client's headers that may go on. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: EndSignal;
  /** Reads or deletes what the provider has stored below the endpoint; the body is then empty. Left out: a POST. */
  readonly stored?: StoredAtProvider;
}

export interface StoredAtProvider {
  readonly method: 'GET' | 'DELETE';
  /** Behind the endpoint, such as `/resp_1/input_items`: the caller has checked every part of it. */
  readonly path: string;
  /** Without a question mark; empty for none. */
  readonly query: string;
}

/** As much of an AbortSignal as ending a call needs. An AbortSignal is one; the gateway's own costs a tenth of it. */
export interface EndSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface UpstreamAnswer {
  readonly status: number;
  /** Lower-case, without its parameters; empty where there was none. */
  readonly contentType: string;
  /** When to retry, as the upstream says it, from now; null or left out where it says nothing. */
  readonly retryAfterMs?: number | null;
  readonly body: UpstreamBody;
  /** Written by us in the provider's place, which was not called. */
  readonly isOurs?: true;
}

/** The body of an answer, not compressed. A reader that does not read to the end cancels it. */
export interface UpstreamBody {
  /**
   * The next bytes, synchronously where they are buffered, without a promise. The upstream gets back-pressure while
   * nothing is read. One read at a time; it never rejects.
   */
  read(idleMs: number): BodyRead | Promise<BodyRead>;
  /** Gives the rest up, at any moment. */
  cancel(): void;
  /**
   * Once read to its end: whether the upstream reported no usage, though the bytes have counts of 0 because the client's
   * wire needs some. Left out where the bytes show it.
   */
  lacksUsage?(): boolean;
}

/** Bytes, never empty; null once the body has ended whole; `idle` where nothing came for so long; or it broke off. */
export type BodyRead = Uint8Array<ArrayBuffer> | null | 'idle' | 'broken';

/** Every failure before the status is there, as an Error with these fields. */
export interface UpstreamFailure extends Error {
  readonly name: 'UpstreamFailure';
  readonly reason: 'connect' | 'first-byte-time-out' | 'broken' | 'aborted';
}

/** Of the events of a stream, for all who read one. */
export const STREAM_LIMITS = {
  /** A chunk with an image or a long tool call in it; past this the stream counts as broken. */
  maxEventBytes: 16 * 1024 * 1024,
  /** What may still come after [DONE], or after the wire's last event: usage, from some. */
  doneGraceMs: 1_000,
} as const;
