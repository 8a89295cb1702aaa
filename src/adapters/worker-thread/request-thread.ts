import type { Clock } from '../../ports/clock.ts';
import { type LocalFaults, THREAD_DESCRIPTORS } from '../../ports/local-faults.ts';
import type { Log } from '../../ports/log.ts';
import type { WorkerThread } from '../../ports/worker-thread.ts';

interface RequestThreadOptions {
  /** What the thread does, for errors and the log. */
  readonly name: string;
  /** A file that calls `serveRequests`. */
  readonly entry: URL;
  readonly clock: Clock;
  readonly log: Log;
  /** The most requests at a time; further ones are rejected. */
  readonly maxWaiting: number;
  /**
   * For one request, including the wait for earlier ones. A thread that takes longer is considered hung and terminated.
   */
  readonly timeoutMs: number;
  readonly localFaults?: Pick<LocalFaults, 'hasDescriptors'> | undefined;
}

type RequestMessage<Request> =
  | { readonly id: number; readonly request: Request }
  /** The caller no longer needs this request. */
  | { readonly id: number; readonly isAborted: true };

type ReplyMessage<Result> =
  | { readonly id: number; readonly outcome: 'done'; readonly result: Result }
  | { readonly id: number; readonly outcome: 'failed'; readonly reason: string };

/** A message for the log that belongs to no request. */
interface ThreadWarning {
  readonly outcome: 'warning';
  readonly message: string;
  readonly reason: string;
}

/**
 * One thread, started by the first request; it does not keep the process alive. If it breaks or hangs, all its
 * requests are rejected and the next request starts a new one.
 */
export function createRequestThread<Request, Result>(
  options: RequestThreadOptions,
): WorkerThread<Request, Result> {
  const { name, entry, clock, log, maxWaiting, timeoutMs, localFaults } = options;
  const waiting = new Map<number, PromiseWithResolvers<Result>>();
  let thread: Worker | null = null;
  let lastId = 0;

  function start(): Worker {
    if (localFaults?.hasDescriptors(THREAD_DESCRIPTORS) === false) {
      throw new Error(`${name}: the process has too few free descriptors to start the thread`);
    }
    const started = new Worker(entry.href);
    (started as Worker & { unref(): void }).unref();
    started.onmessage = ({ data }: MessageEvent<ReplyMessage<Result> | ThreadWarning>) => {
      if (data.outcome === 'warning') return log.warn(data.message, { thread: name, reason: data.reason });
      const request = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.outcome === 'done') request?.resolve(data.result);
      else request?.reject(new Error(`${name}: the request failed: ${data.reason}`));
    };
    started.onerror = () => {
      if (thread === started) terminate('the thread broke');
    };
    return started;
  }

  function terminate(reason: string): void {
    thread?.terminate();
    thread = null;
    if (waiting.size > 0)
      log.error('requests to a thread were rejected', { thread: name, reason, count: waiting.size });
    for (const { reject } of waiting.values()) reject(new Error(`${name}: ${reason}`));
    waiting.clear();
  }

  return {
    async call(request, signal) {
      if (waiting.size >= maxWaiting) throw new Error(`${name}: too many requests are waiting`);
      thread ??= start();
      lastId += 1;
      const id = lastId;
      const reply = Promise.withResolvers<Result>();
      waiting.set(id, reply);
      thread.postMessage({ id, request } satisfies RequestMessage<Request>);
      const target = thread;
      const abort = () => target.postMessage({ id, isAborted: true } satisfies RequestMessage<Request>);
      if (signal?.aborted === true) abort();
      signal?.addEventListener('abort', abort, { once: true });
      const timer = clock.after(timeoutMs, () => terminate('the thread hangs'));
      try {
        return await reply.promise;
      } finally {
        timer.cancel();
        signal?.removeEventListener('abort', abort);
      }
    },
    close: () => terminate('the thread was closed'),
  };
}

declare const self: Worker;

/**
 * The thread's side: replies to every request. Only the name of an error is passed on, because its message may quote
 * the request. The signal is aborted with the caller's, when the thread next reads its messages.
 */
export function serveRequests<Request, Result>(
  handle: (request: Request, signal: AbortSignal) => Promise<Result> | Result,
): void {
  const running = new Map<number, AbortController>();
  self.onmessage = async ({ data }: MessageEvent<RequestMessage<Request>>) => {
    const { id } = data;
    if ('isAborted' in data) {
      running.get(id)?.abort();
      return;
    }
    const reply = (message: ReplyMessage<Result>) => self.postMessage(message);
    const controller = new AbortController();
    running.set(id, controller);
    try {
      reply({ id, outcome: 'done', result: await handle(data.request, controller.signal) });
    } catch (error) {
      reply({ id, outcome: 'failed', reason: error instanceof Error ? error.name : 'unknown error' });
    } finally {
      running.delete(id);
    }
  };
}

/** The thread's side: a warning for operators. The reason must not quote a request. */
export function warnFromThread(message: string, reason: string): void {
  self.postMessage({ outcome: 'warning', message, reason } satisfies ThreadWarning);
}
