/** Hands mail to whatever delivers it. Which mail is sent, and when, is decided elsewhere. */
export interface Mail {
  /**
   * Resolves with what became of it, and never rejects for a mail server's sake. A caller that did not learn the
   * outcome, because its process died, sends the same message again under the same `messageId`.
   */
  send(message: MailMessage): Promise<MailOutcome>;
  /** Messages under way may finish within `deadlineMs`. */
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
  /** The mail server is responsible for it from now on. */
  | { readonly outcome: 'accepted' }
  /** It would be refused again, however often it is sent. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** It may be accepted later. */
  | { readonly outcome: 'failed'; readonly reason: string };

/** Mail that was kept instead of sent, for people to look at. It holds links that open accounts. */
export interface CapturedMail {
  /** The newest first; `after` is the id of the last one seen. */
  list(limit: number, after?: string): Promise<readonly CapturedHead[]>;
  /** Null where there is none of that id (any more). */
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
  /** The whole message, as it would have gone over the wire. */
  readonly eml: string;
}
