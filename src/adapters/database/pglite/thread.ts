/**
 * PGlite runs a statement as one uninterrupted call: counting three million rows held the event loop for
 * 640 to 1,140 ms. So it has this thread to itself, and the process goes on serving meanwhile.
 */
import { PGlite, types } from '@electric-sql/pglite';
import type { Row, SqlValue } from '../../../ports/database.ts';

declare const self: Worker;

let pglite: PGlite | null = null;
const listeners = new Map<string, () => Promise<void>>();

function opened(): PGlite {
  if (pglite === null) throw new Error('the embedded database is not open');
  return pglite;
}

async function answer(request: ToThread): Promise<Row[]> {
  switch (request.kind) {
    case 'open':
      pglite = await PGlite.create({
        dataDir: request.folder,
        parsers: { [types.INT8]: (text: string) => BigInt(text) },
      });
      return [];
    case 'query':
      return (await opened().query<Row>(request.text, [...request.values])).rows;
    case 'script':
      return (await opened().exec(request.text)).flatMap((result) => result.rows as Row[]);
    case 'listen':
      if (listeners.has(request.channel)) return [];
      listeners.set(
        request.channel,
        await opened().listen(request.channel, (payload) =>
          tell({ kind: 'notified', channel: request.channel, payload }),
        ),
      );
      return [];
    case 'unlisten':
      await listeners.get(request.channel)?.();
      listeners.delete(request.channel);
      return [];
    case 'close':
      await pglite?.close();
      pglite = null;
      return [];
  }
}

function tell(message: FromThread): void {
  self.postMessage(message);
}

self.onmessage = async (event: MessageEvent<ToThread>) => {
  const { id } = event.data;
  try {
    tell({ kind: 'rows', id, rows: await answer(event.data) });
  } catch (error) {
    const { message, code, constraint } = error as { message: string; code?: string; constraint?: string };
    tell({ kind: 'failed', id, message, sqlState: code ?? null, constraint: constraint ?? null });
  }
};

/** What the main thread asks of the thread that runs PGlite. */
export type ToThread =
  | { id: number; kind: 'open'; folder: string }
  | { id: number; kind: 'query'; text: string; values: readonly SqlValue[] }
  | { id: number; kind: 'script'; text: string }
  | { id: number; kind: 'listen'; channel: string }
  | { id: number; kind: 'unlisten'; channel: string }
  | { id: number; kind: 'close' };

export type FromThread =
  | { kind: 'rows'; id: number; rows: Row[] }
  | { kind: 'failed'; id: number; message: string; sqlState: string | null; constraint: string | null }
  | { kind: 'notified'; channel: string; payload: string };
