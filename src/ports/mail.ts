/** Sends mail. Which mail is sent, and when, is decided elsewhere. */
export interface Mail {
  /**
   * Resolves with the result; failures of the mail server do not reject. A caller that did not get the result, because its
   * process died, sends the same message again with the same `messageId`.
   */
  send(message: MailMessage): Promise<MailOutcome>;
  /** Messages being sent may finish within `deadlineMs`. */
  close(deadlineMs: number): Promise<void>;
}

export interface MailMessage {
  /** Without the angle brackets, as `id@domain`. */
  readonly messageId: string;
  readonly from: MailSender;
  /** One address, without a name. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** When it was written, which may be long before it is sent. */
  readonly date: Date;
  readonly headers?: { readonly [name: string]: string };
}

export interface MailSender {
  readonly name: string;
  readonly address: string;
}

/** No `reason` holds an address, a link or a line break: it may be logged and kept. */
export type MailOutcome =
  /** The mail server has accepted it. */
  | { readonly outcome: 'accepted' }
  /** Rejected permanently: do not send it again. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** Rejected temporarily: send it again later. */
  | { readonly outcome: 'failed'; readonly reason: string };

/** Mail that was stored instead of sent, for development. It contains links that give access to accounts. */
export interface CapturedMail {
  /** The newest first; `after` is the id of the last one seen. */
  list(limit: number, after?: string): Promise<readonly CapturedHead[]>;
  /** Null if it does not exist. */
  read(id: string): Promise<CapturedMessage | null>;
}

export interface CapturedHead {
  readonly id: string;
  readonly messageId: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly capturedAt: Date;
  readonly bytes: number;
}

export interface CapturedMessage extends CapturedHead {
  readonly text: string;
  readonly html: string;
  /** The whole message as it would have been sent. */
  readonly eml: string;
}
