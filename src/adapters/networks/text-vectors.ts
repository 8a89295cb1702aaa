import type { Clock, Timer } from '../../ports/clock.ts';
import { type LocalFaults, THREAD_DESCRIPTORS } from '../../ports/local-faults.ts';
import type { Log } from '../../ports/log.ts';
import type { EmbeddedVectors, TextVectors } from '../../ports/networks/text-vectors.ts';
import type { FromThread, ToThread } from './encoder-jobs.ts';
import { ENCODER } from './network-files.ts';

/** The used part of a Worker. */
export interface ThreadHandle {
  postMessage(message: ToThread): void;
  addEventListener(type: 'message', listener: (event: { readonly data: FromThread }) => void): void;
  addEventListener(type: 'error', listener: (event: { readonly message: string }) => void): void;
  addEventListener(type: 'close', listener: () => void): void;
}

interface TextVectorsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly startThread?: () => ThreadHandle;
  readonly localFaults?: Pick<LocalFaults, 'hasDescriptors'>;
}

/** Requests in addition to the one in progress. Further ones are refused immediately. */
const MAX_WAITING = 64;
/** An idle thread is ended, which frees about 50 MB; it starts again in about half a second. */
const IDLE_MS = 10 * 60_000;

/** The main thread's side of the encoder's thread, which the first request starts. */
export function createTextVectors({
  clock,
  log,
  startThread = startEncoderThread,
  localFaults,
}: TextVectorsOptions): TextVectors {
  const waiting = new Map<number, (embedded: EmbeddedVectors) => void>();
  let thread: ThreadHandle | null = null;
  let idleTimer: Timer | null = null;
  let lastId = 0;
  let isClosed = false;
  let isUnavailable = false;

  function running(): ThreadHandle {
    if (thread !== null) return thread;
    const started = startThread();
    const died = (why: string) => {
      // A thread that was replaced or that we ended has nothing more to report.
      if (thread !== started) return;
      end({ outcome: 'failed' });
      log.error('the embedding model stopped; the next request starts it again', { why });
    };
    started.addEventListener('message', ({ data }) => {
      if (data.kind === 'broken') return died(data.message);
      if (data.kind === 'unavailable') return giveUp(data.reason);
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

  /** Only once: the platform does not change while the process runs. */
  function giveUp(reason: string): void {
    if (isUnavailable) return;
    isUnavailable = true;
    end({ outcome: 'unavailable' });
    log.warn(
      'the embedded embedding model cannot run on this platform: give the embed aliases a provider, or matching works without vectors',
      { reason },
    );
  }

  function leave(id: number): void {
    waiting.delete(id);
    if (waiting.size === 0) idleTimer ??= clock.after(IDLE_MS, () => end({ outcome: 'failed' }));
  }

  function stayAwake(): void {
    idleTimer?.cancel();
    idleTimer = null;
  }

  function end(outcome: EmbeddedVectors): void {
    const ended = thread;
    thread = null;
    stayAwake();
    for (const settle of waiting.values()) settle(outcome);
    waiting.clear();
    ended?.postMessage({ kind: 'close' });
  }

  return {
    dimensions: ENCODER.dimensions,
    version: ENCODER.version,
    embed(texts, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (isUnavailable) return Promise.resolve({ outcome: 'unavailable' });
      if (isClosed) return Promise.resolve({ outcome: 'failed' });
      if (waiting.size > MAX_WAITING) return Promise.resolve({ outcome: 'too-many-waiting' });
      if (thread === null && localFaults?.hasDescriptors(THREAD_DESCRIPTORS) === false) {
        return Promise.resolve({ outcome: 'failed' });
      }
      stayAwake();
      lastId += 1;
      const id = lastId;
      const used = running();
      return new Promise((resolve, reject) => {
        const forget = () => {
          leave(id);
          used.postMessage({ kind: 'forget', id });
          reject(signal.reason);
        };
        waiting.set(id, (embedded) => {
          signal.removeEventListener('abort', forget);
          resolve(embedded);
        });
        signal.addEventListener('abort', forget, { once: true });
        used.postMessage({ kind: 'embed', id, texts });
      });
    },
    close() {
      isClosed = true;
      end({ outcome: 'failed' });
      return Promise.resolve();
    },
  };
}

const startEncoderThread = (): ThreadHandle =>
  new Worker(new URL('./encoder-thread.ts', import.meta.url).href);
