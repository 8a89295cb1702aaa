/** Reads one document after the other. It is killed in the middle of its work when it takes too much of anything. */
import type { DocumentLimits, DocumentReading } from '../../ports/document-reader.ts';
import { warmUpPdf } from './pdf-text.ts';
import { readDocument } from './read-document.ts';

declare const self: Worker;

/** No document has a reason to reach the network from here, whatever a library may one day think. */
const refuse = () => Promise.reject(new Error('no network in the document reader'));
Object.assign(globalThis, { fetch: refuse, WebSocket: undefined, EventSource: undefined });

const BROKEN: DocumentReading = {
  outcome: 'unreadable',
  reason: 'broken',
  message: 'The document is damaged and cannot be read. Create it again and send it again.',
};

function tell(answer: ReadAnswer): void {
  self.postMessage(answer);
}

self.onmessage = async ({ data }: MessageEvent<ReadRequest>) => {
  // What a library throws may quote the document, so it is not passed on.
  const reading = await readDocument(data.bytes, data.limits).catch(() => BROKEN);
  tell({ kind: 'reading', reading, rssBytes: 0 });
};

await warmUpPdf();
tell({ kind: 'ready' });

/** What goes to a reading process, and on to its thread. One document at a time. */
export interface ReadRequest {
  readonly bytes: Uint8Array;
  readonly limits: DocumentLimits;
}

/** What comes back. A process that is killed says nothing: its end is the answer. */
export type ReadAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'reading'; readonly reading: DocumentReading; readonly rssBytes: number };
