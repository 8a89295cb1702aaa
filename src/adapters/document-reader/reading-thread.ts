/** Reads one document after the other. It is killed in the middle of its work when it takes too much of anything. */
import type { DocumentReading } from '../../ports/document-reader.ts';
import { warmUpPdf } from './pdf-text.ts';
import { readDocument } from './read-document.ts';
import type { ReadAnswer, ReadRequest } from './reading-messages.ts';

declare const self: Worker;

/** No document has a reason to reach the network from here, whatever a library may one day think. */
const refuse = () => Promise.reject(new Error('no network in the document reader'));
Object.assign(globalThis, { fetch: refuse, WebSocket: undefined, EventSource: undefined });

const BROKEN: DocumentReading = {
  outcome: 'unreadable',
  reason: 'broken',
  message: 'The document is damaged: it cannot be read. Make it anew and send it again.',
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
