/** Reads one document after the other. The process is killed if a document exceeds a limit. */
import type { DocumentLimits, DocumentReading } from '../../ports/document-reader.ts';
import { warmUpPdf } from './pdf-text.ts';
import { readDocument } from './read-document.ts';

declare const self: Worker;

/** Removes network access: no library has a reason to use it here. */
const refuse = () => Promise.reject(new Error('no network in the document reader'));
Object.assign(globalThis, { fetch: refuse, WebSocket: undefined, EventSource: undefined });

const BROKEN: DocumentReading = {
  outcome: 'unreadable',
  reason: 'broken',
  message: 'The document is damaged and cannot be read. Create it again and send it again.',
};

function send(answer: ReadAnswer): void {
  self.postMessage(answer);
}

self.onmessage = async ({ data }: MessageEvent<ReadRequest>) => {
  // Error messages of libraries may quote the document, so they are not passed on.
  const reading = await readDocument(data.bytes, data.limits).catch(() => BROKEN);
  send({ kind: 'reading', reading, rssBytes: 0 });
};

await warmUpPdf();
send({ kind: 'ready' });

/** The message to a reader process and its thread: one document. */
export interface ReadRequest {
  readonly bytes: Uint8Array;
  readonly limits: DocumentLimits;
}

/** The reply. A killed process sends none. */
export type ReadAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'reading'; readonly reading: DocumentReading; readonly rssBytes: number };
