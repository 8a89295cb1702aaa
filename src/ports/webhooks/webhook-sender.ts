/** Sends events to addresses that operators or companies have configured. */
export interface WebhookSender {
  /** One POST, signed, without following redirects. Never rejects. */
  send(webhook: Webhook): Promise<WebhookAnswer>;
  /** Null where requests may go to this address; else one sentence about what is wrong with it. */
  addressProblem(url: string): Promise<string | null>;
}

export interface Webhook {
  readonly url: string;
  /** JSON. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request carries a signature by each of them; none for an unsigned one. */
  readonly secrets: readonly string[];
  readonly timeoutMs: number;
  /** An answer is read up to here. */
  readonly maxAnswerBytes: number;
  readonly signal?: AbortSignal;
}

export type WebhookAnswer =
  | {
      readonly outcome: 'answered';
      readonly status: number;
      /** At most `maxAnswerBytes`. */
      readonly body: Uint8Array<ArrayBuffer>;
      /** False where the answer is longer than what was read of it. */
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
