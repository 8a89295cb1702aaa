import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { FromThread, ToThread } from './embedding-messages.ts';

/** The main thread's end of the wire to the thread that runs the embedding model. */
export interface EmbeddingModel {
  /** Rejects with the signal's reason where it aborts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded>;
  close(): Promise<void>;
}

export type Embedded =
  /** One vector after the other. */
  | { readonly outcome: 'embedded'; readonly vectors: Float32Array<ArrayBuffer> }
  | { readonly outcome: 'too-many-waiting' }
  /** The thread ended, or the model failed; the next request starts anew. */
  | { readonly outcome: 'failed' };

/** What of a Worker is used. */
export interface ThreadHandle {
  postMessage(message: ToThread): void;
  terminate(): void;
  addEventListener(type: 'message', listener: (event: { readonly data: FromThread }) => void): void;
  addEventListener(type: 'error', listener: (event: { readonly message: string }) => void): void;
  addEventListener(type: 'close', listener: () => void): void;
}

interface EmbeddingModelOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly startThread?: () => ThreadHandle;
}

/** Besides the one that is worked on. Past it requests are turned away at once. */
const MAX_WAITING = 64;
/** A thread without work is ended: it gives its 130 MB back, and starts again in about half a second. */
const IDLE_MS = 10 * 60_000;

const startEmbeddingThread = (): ThreadHandle =>
  new Worker(new URL('./embedding-thread.ts', import.meta.url).href);

export function createEmbeddingModel({
  clock,
  log,
  startThread = startEmbeddingThread,
}: EmbeddingModelOptions): EmbeddingModel {
  const waiting = new Map<number, (embedded: Embedded) => void>();
  let thread: ThreadHandle | null = null;
  let idleTimer: Timer | null = null;
  let lastId = 0;
  let isClosed = false;

  /** The first request starts the thread: nobody else pays its 130 MB. */
  function running(): ThreadHandle {
    if (thread !== null) return thread;
    const started = startThread();
    const died = (why: string) => {
      // A thread that was replaced or ended by us has nothing more to say.
      if (thread !== started) return;
      end();
      log.error('the embedding model stopped; the next request starts it anew', { why });
    };
    started.addEventListener('message', ({ data }) => {
      if (data.kind === 'broken') return died(data.message);
      if (data.kind === 'failed') log.error('the embedding model failed', { why: data.message });
      const settle = waiting.get(data.id);
      leave(data.id);
      settle?.(
        data.kind === 'failed' ? { outcome: 'failed' } : { outcome: 'embedded', vectors: data.vectors },
      );
    });
    started.addEventListener('error', ({ message }) => died(message));
    started.addEventListener('close', () => died('its thread ended'));
    thread = started;
    return started;
  }

  function leave(id: number): void {
    waiting.delete(id);
    if (waiting.size === 0) idleTimer ??= clock.after(IDLE_MS, end);
  }

  function stayAwake(): void {
    idleTimer?.cancel();
    idleTimer = null;
  }

  function end(): void {
    const ended = thread;
    thread = null;
    stayAwake();
    for (const settle of waiting.values()) settle({ outcome: 'failed' });
    waiting.clear();
    ended?.terminate();
  }

  return {
    embed(texts, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (isClosed) return Promise.resolve({ outcome: 'failed' });
      if (waiting.size > MAX_WAITING) return Promise.resolve({ outcome: 'too-many-waiting' });
      stayAwake();
      lastId += 1;
      const id = lastId;
      const asked = running();
      return new Promise((resolve, reject) => {
        const forget = () => {
          leave(id);
          asked.postMessage({ kind: 'forget', id });
          reject(signal.reason);
        };
        waiting.set(id, (embedded) => {
          signal.removeEventListener('abort', forget);
          resolve(embedded);
        });
        signal.addEventListener('abort', forget, { once: true });
        asked.postMessage({ kind: 'embed', id, texts });
      });
    },
    close() {
      isClosed = true;
      end();
      return Promise.resolve();
    },
  };
}
