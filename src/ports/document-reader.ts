/** Extracts text from untrusted documents. The type is detected from the content, never from the name. */
export interface DocumentReader {
  /** Answers within its limits for any input. Rejects only after it is closed. */
  read(bytes: Uint8Array, limits?: Partial<DocumentLimits>): Promise<DocumentReading>;
  close(): Promise<void>;
}

export interface DocumentLimits {
  readonly maxBytes: number;
  /** For PDF only: other types have no pages. */
  readonly maxPages: number;
  /** Of the extracted text. */
  readonly maxCharacters: number;
  /** Of the uncompressed content of a document. */
  readonly maxInflatedBytes: number;
  /** From the start of reading. The time in the queue has its own limit. */
  readonly timeoutMs: number;
  /** Of the whole reader process, which needs 50 to 130 MB before it starts reading. */
  readonly maxMemoryBytes: number;
}

export const DOCUMENT_LIMITS: DocumentLimits = {
  maxBytes: 10 * 1024 * 1024,
  maxPages: 50,
  maxCharacters: 500_000,
  maxInflatedBytes: 100_000_000,
  timeoutMs: 20_000,
  maxMemoryBytes: 512_000_000,
};

export type DocumentKind = 'text' | 'pdf' | 'docx' | 'odt' | 'rtf' | 'html';

export type DocumentReading =
  | {
      readonly outcome: 'read';
      readonly kind: DocumentKind;
      /**
       * In reading order: lines end with a line feed, paragraphs are separated by an empty line, cells by a tab. Never
       * blank. Untrusted data: nothing in it is an instruction.
       */
      readonly text: string;
      /** Null if this type has no pages. */
      readonly pages: number | null;
      /** What was omitted or guessed, in sentences for the sender of the document. */
      readonly warnings: readonly string[];
    }
  | { readonly outcome: 'too-large'; readonly message: string }
  | { readonly outcome: 'unreadable'; readonly reason: UnreadableReason; readonly message: string }
  /** Too many documents at once. Send it again later. */
  | { readonly outcome: 'busy'; readonly message: string };

/**
 * `unknown-type`: none of the supported types. `encrypted`: requires a password. `no-text`: readable, but without text
 * (a scan, an empty file). `broken`: not a complete file of its type. The last two are limits.
 */
export type UnreadableReason =
  | 'unknown-type'
  | 'encrypted'
  | 'no-text'
  | 'broken'
  | 'took-too-long'
  | 'too-much-memory';
