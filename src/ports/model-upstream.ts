/** Answers model calls: a provider over HTTP, or the models embedded in this package, which use the same wire format. */
export interface ModelUpstream {
  /**
   * Sends the body unchanged and resolves when the status and headers have arrived, before the body. Rejects with an
   * UpstreamFailure. Aborting `signal` ends the call at any time, including the body, and closes it at the upstream.
   */
  send(target: UpstreamTarget, call: UpstreamCall): Promise<UpstreamAnswer>;
}

export interface UpstreamTarget {
  readonly id: string;
  /** Null means the embedded models. */
  readonly baseUrl: string | null;
  /** The provider's name of the model. Clients never see it. */
  readonly model: string;
  readonly apiKey: string | null;
  /** Default: OpenAI's wire format, with the key as a bearer token. */
  readonly wire?: TargetWire;
  /** From sending a call until its status arrives. Default: the upstream's own. */
  readonly timeoutMs?: number;
  /** Between two chunks of an answer. Default: the reader's own. */
  readonly idleTimeoutMs?: number;
}

export type ModelEndpoint =
  | 'chat/completions'
  | 'completions'
  | 'embeddings'
  | 'responses'
  | 'responses/input_tokens'
  | 'responses/compact'
  | 'messages'
  | 'messages/count_tokens';

/**
 * Where chat completions count reasoning. `beside`: in `reasoning_tokens`, which `completion_tokens` does not include. `in-total`: only within `total_tokens`, as what
 * prompt and completion leave of it. `by-numbers`: within `completion_tokens`, unless the numbers say otherwise.
 */
export type ReasoningCount = 'by-numbers' | 'beside' | 'in-total';

/** The dialect of a target's provider. */
export interface TargetWire {
  /** The name of its preset: `openai`, `anthropic`, `azure`, `ollama`, `vllm` and others. */
  readonly provider: string;
  /** The endpoints it supports. Calls of other endpoints are translated into one of these, or refused. */
  readonly endpoints: readonly ModelEndpoint[];
  /** The header that carries the key; `authorization` carries it as a bearer token. */
  readonly keyHeader: 'authorization' | 'x-api-key' | 'api-key';
  /** Sent with every call, in place of the client's headers of the same names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Sent if the client sent no header of that name. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** Azure only: paths contain the deployment, and every URL has the version. */
  readonly apiVersion: string | null;
  /** The provider's name for the limit of output tokens, in chat completions that we write to models that have no own one. */
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` may be sent. */
  readonly hasStreamOptions: boolean;
  readonly reasoning: ReasoningCount;
  /** The alias's limit of output tokens, used if the provider requires one and the call has none. */
  readonly maxOutputTokens: number;
  /** Whether calls that are translated for it get cache breakpoints. Omitted: yes. */
  readonly cacheBreakpoints?: boolean;
}

export interface UpstreamCall {
  readonly endpoint: ModelEndpoint;
  readonly body: Uint8Array<ArrayBuffer>;
  /** The client's headers that are forwarded. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: EndSignal;
  /** Whether the answer is streamed: its status then arrives early, and is waited for less long. */
  readonly isStream?: boolean;
  /** Reads or deletes an object that the provider stores under the endpoint; the body is then empty. Default: POST. */
  readonly stored?: StoredAtProvider;
  /** For an answer that is gathered to be translated: returns false if there is no memory for this many bytes of it. */
  readonly hold?: ((bytes: number) => boolean) | undefined;
}

export interface StoredAtProvider {
  readonly method: 'GET' | 'DELETE';
  /** The path after the endpoint, such as `/resp_1/input_items`. The caller has checked each part of it. */
  readonly path: string;
  /** The query string without its question mark; empty if there is none. */
  readonly query: string;
}

/** The part of AbortSignal that is needed to end a call. The gateway's own implementation costs a tenth of an AbortSignal. */
export interface EndSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export interface UpstreamAnswer {
  readonly status: number;
  /** In lower case, without parameters; empty if there was none. */
  readonly contentType: string;
  /** The upstream's retry delay, from now; null or undefined if it gave none. */
  readonly retryAfterMs?: number | null;
  readonly body: UpstreamBody;
  /** Written by us; the provider was not called. */
  readonly isOurs?: true;
}

/** The body of an answer, decompressed. A reader that does not read to the end must cancel it. */
export interface UpstreamBody {
  /**
   * Returns the next bytes, synchronously if they are buffered. Applies back-pressure to the upstream while nothing is
   * read. One read at a time; never rejects.
   */
  read(idleMs: number): BodyRead | Promise<BodyRead>;
  /** Discards the rest, at any time. */
  cancel(): void;
  /**
   * After the end: whether the upstream reported no usage, although the bytes contain counts of 0 because the client's
   * wire format requires them. Undefined if the bytes show it.
   */
  lacksUsage?(): boolean;
}

/** Bytes, never empty; null at the end of a complete body; `idle` if nothing arrived in time; otherwise the body broke off. */
export type BodyRead = Uint8Array<ArrayBuffer> | null | 'idle' | 'broken';

/** The fields of every Error before the status has arrived. */
export interface UpstreamFailure extends Error {
  readonly name: 'UpstreamFailure';
  readonly reason: 'connect' | 'local' | 'first-byte-time-out' | 'broken' | 'aborted';
  /** The time-out that was reached; only for that reason. */
  readonly limitMs?: number;
}

/** Limits for the events of a stream. */
export const STREAM_LIMITS = {
  /** Enough for a chunk with an image or a long tool call. A stream with a longer event is broken off. */
  maxEventBytes: 16 * 1024 * 1024,
  /** How long to read on after [DONE] or the last event: some providers send usage after it. */
  doneGraceMs: 1_000,
} as const;
