/**
 * PGlite runs a statement as one uninterrupted call: counting three million rows blocked the event loop for 640 to 1,140 ms.
 * So it has its own thread, and the process serves requests meanwhile.
 */
import type { Row } from '../../../ports/database.ts';
import type { ChannelServer, ChannelSession } from '../../../ports/request-channel.ts';
import { createDeferredGate, type DeferredCounts, type DeferredGate } from './deferred-writes.ts';
import {
  type DatabaseRequest,
  type NotifiedEvent,
  type ServedDatabase,
  type Share,
  serveDatabase,
  sqlFields,
} from './serve.ts';

declare const self: Worker;

/** A message from the main thread to the thread that runs PGlite. */
export type ToThread = { readonly id: number } & (OpenRequest | { readonly kind: 'close' } | DatabaseRequest);

/** The write that the thread requested with `write-deferred` is done. */
export interface DeferredWritten {
  readonly kind: 'deferred-written';
}

interface OpenRequest {
  readonly kind: 'open';
  readonly folder: string;
  readonly sharedAt: string | null;
  readonly deferred: DeferredCounts;
}

export type FromThread =
  | { kind: 'rows'; id: number; rows: Row[] }
  | { kind: 'failed'; id: number; message: string; sqlState: string | null; constraint: string | null }
  | { kind: 'write-deferred' }
  | NotifiedEvent;

/** Runs the engine in the current thread. Without `share`, only the thread that started it is served. */
export function serveThread(share: Share | null): void {
  let database: ServedDatabase | null = null;
  let shared: ChannelServer | null = null;
  let own: ChannelSession | null = null;
  let gate: DeferredGate | null = null;
  const post = (message: FromThread) => self.postMessage(message);

  async function open({ folder, sharedAt, deferred }: OpenRequest): Promise<void> {
    database = await serveDatabase(folder);
    const { openSession } = database;
    // The thread that started this one makes its own statements wait for deferred writes.
    own = openSession((event) => post(event as NotifiedEvent));
    gate = createDeferredGate(deferred, () => post({ kind: 'write-deferred' }));
    const { pass } = gate;
    if (sharedAt !== null) shared = share?.(sharedAt, (tellOne) => openSession(tellOne, pass)) ?? null;
  }

  async function answer(request: ToThread): Promise<Row[]> {
    if (request.kind === 'open') {
      await open(request);
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

  self.onmessage = async (event: MessageEvent<ToThread | DeferredWritten>) => {
    const request = event.data;
    if (request.kind === 'deferred-written') return gate?.opened();
    const { id } = request;
    try {
      post({ kind: 'rows', id, rows: await answer(request) });
    } catch (error) {
      post({ kind: 'failed', id, ...sqlFields(error) });
    }
  };
}
