/** Sends events to addresses that operators or companies have configured. */
export interface WebhookSender {
  /** One POST, signed, without following redirects. Never rejects. */
  send(webhook: Webhook): Promise<WebhookAnswer>;
  /** Null if requests may be sent to this address; otherwise one sentence that says why not. */
  addressProblem(url: string): Promise<string | null>;
}

export interface Webhook {
  readonly url: string;
  /** JSON. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request is signed with each of them; not signed if there is none. */
  readonly secrets: readonly string[];
  readonly timeoutMs: number;
  /** Answers are read up to this size. */
  readonly maxAnswerBytes: number;
  readonly signal?: AbortSignal;
}

export type WebhookAnswer =
  | {
      readonly outcome: 'answered';
      readonly status: number;
      /** At most `maxAnswerBytes`. */
      readonly body: Uint8Array<ArrayBuffer>;
      /** False if the answer is longer than what was read. */
      readonly isWhole: boolean;
      readonly durationMs: number;
    }
  | {
      readonly outcome: 'failed';
      readonly reason: 'address-refused' | 'timed-out' | 'not-connected' | 'broken-off' | 'aborted';
      /** One sentence, without the address. */
      readonly problem: string;
      readonly durationMs: number;
    };
