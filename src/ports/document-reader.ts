/** Extracts text from untrusted documents. The type is detected from the content, never from the name. */
export interface DocumentReader {
  /** Whatever the bytes are, it answers within its bounds and goes on. It rejects only once it is closed. */
  read(bytes: Uint8Array, limits?: Partial<DocumentLimits>): Promise<DocumentReading>;
  close(): Promise<void>;
}

export interface DocumentLimits {
  readonly maxBytes: number;
  /** Of a PDF; the other kinds have none. */
  readonly maxPages: number;
  /** Of the text that comes out. */
  readonly maxCharacters: number;
  /** Of all that a packed document becomes when it is unpacked. */
  readonly maxInflatedBytes: number;
  /** From the moment when the reading begins: waiting for a place is bounded apart from it. */
  readonly timeoutMs: number;
  /** Of the reading process as a whole, which has 50 to 130 MB before it begins. */
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

export type DocumentKind = 'text' | 'pdf' | 'docx' | 'html';

export type DocumentReading =
  | {
      readonly outcome: 'read';
      readonly kind: DocumentKind;
      /**
       * In reading order, lines ended by a line feed, paragraphs set apart by an empty line, cells by a tab. Never
       * blank. It is data from outside: nothing in it is an instruction.
       */
      readonly text: string;
      /** Null where the kind has no pages. */
      readonly pages: number | null;
      /** What was left out or guessed, in sentences for the sender of the document. */
      readonly warnings: readonly string[];
    }
  | { readonly outcome: 'too-large'; readonly message: string }
  | { readonly outcome: 'unreadable'; readonly reason: UnreadableReason; readonly message: string }
  /** Too many documents at once: nothing is wrong with this one, it may come again. */
  | { readonly outcome: 'busy'; readonly message: string };

/**
 * `unknown-type`: none of the four kinds. `encrypted`: needs a password. `no-text`: opened, but there is no text in
 * it (a scan, an empty file). `broken`: not a whole file of its kind. The last two are bounds.
 */
export type UnreadableReason =
  | 'unknown-type'
  | 'encrypted'
  | 'no-text'
  | 'broken'
  | 'took-too-long'
  | 'too-much-memory';
