/**
 * One wire in front of a target that speaks another: the client's request becomes the target's, and the target's answer
 * becomes the client's. Pure: bytes and text in, bytes and text out, no I/O, no clock of its own.
 */
export interface Translator {
  /** Reads the client's body and writes the target's. What cannot be said on the target's wire is refused, not left out. */
  translateRequest(body: Uint8Array, to: TranslationTarget, stamps: TranslationStamps): TranslatedRequest;
}

/** What of a target matters to the body it gets. */
export interface TranslationTarget {
  readonly model: string;
  /** The name that the target has for the bound of an answer, on the wire of chat completions. */
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens';
  /** Whether the target knows stream_options; without it, include_usage is not sent. */
  readonly hasStreamOptions: boolean;
  /** For a wire that needs a bound, where the client gave none: the alias's max_output_tokens. */
  readonly defaultMaxTokens: number;
}

/** What an answer needs that is in no body. */
export interface TranslationStamps {
  /** Random, of letters and digits; the translator adds the wire's prefix (`resp_`, `msg_`, `chatcmpl-`, `fc_`). */
  readonly newId: () => string;
  readonly nowSeconds: number;
}

export type TranslatedRequest =
  | {
      readonly outcome: 'translated';
      readonly body: Uint8Array<ArrayBuffer>;
      /** Knows of the request what its answer repeats (tools, instructions, response format). */
      readonly answer: AnswerTranslation;
    }
  /** A 400: what is wrong and what to send instead. `param` is the path of the member, such as `tools[0].type`. */
  | { readonly outcome: 'refused'; readonly message: string; readonly param: string | null };

export interface AnswerTranslation {
  /** Of an answer in one piece. Null where it is no answer of the target's wire. */
  whole(bytes: Uint8Array): Uint8Array<ArrayBuffer> | null;
  /** After `whole`: whether the target reported no usage and the counts are 0 in its place. Left out where there are none. */
  lacksUsage?(): boolean;
  /** Of an answer that is a stream: one for each try. */
  stream(): StreamTranslation;
}

export interface StreamTranslation {
  /**
   * One event of the target's stream: its name (null where it has none) and its data. Returns what the client gets for
   * it, as the text of whole server-sent events, often empty; or `failed` where the event is an error or is not of the
   * target's wire: the stream is then broken off with an error of our own.
   */
  event(name: string | null, data: string): string | 'failed';
  /** The target has said that its stream ends here: what follows is usage at most. */
  isDone(): boolean;
  /** The target has ended its stream. Returns the last events, or `cut-off` where the answer is not complete. */
  end(): string | 'cut-off';
  /** After `end`, as above. */
  lacksUsage?(): boolean;
}
