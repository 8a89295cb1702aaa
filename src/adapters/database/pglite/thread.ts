/**
 * PGlite runs a statement as one uninterrupted call: counting three million rows held the event loop for
 * 640 to 1,140 ms. So it has a thread to itself, and the process goes on serving meanwhile.
 */
import type { Row } from '../../../ports/database.ts';
import type { ChannelServer, ChannelSession } from '../../../ports/request-channel.ts';
import {
  type DatabaseRequest,
  type NotifiedEvent,
  type ServedDatabase,
  type Share,
  serveDatabase,
  sqlFields,
} from './serve.ts';

declare const self: Worker;

/** What the main thread asks of the thread that runs PGlite. */
export type ToThread = { readonly id: number } & (
  | { readonly kind: 'open'; readonly folder: string; readonly sharedAt: string | null }
  | { readonly kind: 'close' }
  | DatabaseRequest
);

export type FromThread =
  | { kind: 'rows'; id: number; rows: Row[] }
  | { kind: 'failed'; id: number; message: string; sqlState: string | null; constraint: string | null }
  | NotifiedEvent;

/** Serves the thread that it is called in. Without `share` only the thread that started it is served. */
export function serveThread(share: Share | null): void {
  let database: ServedDatabase | null = null;
  let shared: ChannelServer | null = null;
  let own: ChannelSession | null = null;
  const tell = (message: FromThread) => self.postMessage(message);

  async function answer(request: ToThread): Promise<Row[]> {
    if (request.kind === 'open') {
      database = await serveDatabase(request.folder);
      own = database.openSession((event) => tell(event as NotifiedEvent));
      if (request.sharedAt !== null) shared = share?.(request.sharedAt, database.openSession) ?? null;
      return [];
    }
    if (request.kind === 'close') {
      shared?.close();
      await database?.close();
      return [];
    }
    if (own === null) throw new Error('the embedded database is not open');
    return (await own.answer(request)) as Row[];
  }

  self.onmessage = async (event: MessageEvent<ToThread>) => {
    const { id } = event.data;
    try {
      tell({ kind: 'rows', id, rows: await answer(event.data) });
    } catch (error) {
      tell({ kind: 'failed', id, ...sqlFields(error) });
    }
  };
}
