import type { ReasoningCount } from '../../../ports/model-upstream.ts';
/**
 * Serves one API with a target that has another: translates the client's request for the target, and the target's
 * answer for the client. Pure: bytes and text in, bytes and text out, without I/O or a clock.
 */
export interface Translator {
  /** Translates the client's body to the target's. What the target's API cannot express is refused, not dropped. */
  translateRequest(body: Uint8Array, to: TranslationTarget, stamps: TranslationStamps): TranslatedRequest;
}

/** The properties of a target that affect the body it gets. */
export interface TranslationTarget {
  readonly model: string;
  /** The target's name for the limit of an answer, in chat completions. */
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens';
  /** Whether the target knows stream_options; otherwise, include_usage is not sent. */
  readonly hasStreamOptions: boolean;
  /** Omitted: by numbers. */
  readonly reasoning?: ReasoningCount | undefined;
  /** For an API that requires a limit, if the client set none: the alias's max_output_tokens. */
  readonly defaultMaxTokens: number;
  /** Whether the body gets cache breakpoints, where the API has them. Omitted: no. */
  readonly cacheBreakpoints?: boolean;
  /** The name of its preset. Omitted for a server that none describes. */
  readonly provider?: string | undefined;
}

/** Values that an answer needs and no body contains. */
export interface TranslationStamps {
  /** Random, of letters and digits; the translator adds the API's prefix (`resp_`, `msg_`, `chatcmpl-`, `fc_`). */
  readonly newId: () => string;
  readonly nowSeconds: number;
}

export type TranslatedRequest =
  | {
      readonly outcome: 'translated';
      readonly body: Uint8Array<ArrayBuffer>;
      /** Has the parts of the request that its answer repeats (tools, instructions, response format). */
      readonly answer: AnswerTranslation;
    }
  /** A 400: what is wrong and what to send instead. `param` is the path of the member, such as `tools[0].type`. */
  | { readonly outcome: 'refused'; readonly message: string; readonly param: string | null };

export interface AnswerTranslation {
  /** Translates a whole answer. Null if it is not an answer of the target's API. */
  whole(bytes: Uint8Array): Uint8Array<ArrayBuffer> | null;
  /** After `whole`: whether the target reported no usage, so that the counts are 0. Omitted if 0 is never filled in. */
  lacksUsage?(): boolean;
  /** Translates a streamed answer: one for each attempt. */
  stream(): StreamTranslation;
}

export interface StreamTranslation {
  /**
   * Translates one event of the target's stream: its name (null if it has none) and its data. Returns the text of whole
   * server-sent events for the client, often empty; or `failed` if the event is an error or is not of the target's API:
   * the stream then ends with an error of our own.
   */
  event(name: string | null, data: string): string | 'failed';
  /** The target has announced the end of its stream: at most usage follows. */
  isDone(): boolean;
  /** The target has ended its stream. Returns the last events, or `cut-off` if the answer is incomplete. */
  end(): string | 'cut-off';
  /** After `end`, as above. */
  lacksUsage?(): boolean;
}
