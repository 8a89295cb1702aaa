import type { DocumentLimits, DocumentReading } from '../../ports/document-reader.ts';

/** What goes to a reading process, and on to its thread. One document at a time. */
export interface ReadRequest {
  readonly bytes: Uint8Array;
  readonly limits: DocumentLimits;
}

/** What comes back. A process that is killed says nothing: its end is the answer. */
export type ReadAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'reading'; readonly reading: DocumentReading; readonly rssBytes: number };
