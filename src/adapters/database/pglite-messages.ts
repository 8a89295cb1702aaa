import type { Row, SqlValue } from '../../ports/database.ts';

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
