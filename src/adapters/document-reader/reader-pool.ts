import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock, Timer } from '../../ports/clock.ts';
import {
  DOCUMENT_LIMITS,
  type DocumentLimits,
  type DocumentReader,
  type DocumentReading,
} from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import { readerIsolation } from './isolation.ts';
import type { ReadAnswer, ReadRequest } from './reading-thread.ts';

export interface DocumentReaderOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Replaces the default limits for all documents. */
  readonly limits?: Partial<DocumentLimits>;
  /** The number of documents read at once, each in its own process. */
  readonly processes?: number;
  readonly maxWaiting?: number;
  readonly waitMs?: number;
  /** The command that starts reader processes; empty for none. */
  readonly isolation?: () => readonly string[];
}

const PROCESSES = 2;
const MAX_WAITING = 64;
const WAIT_MS = 30_000;
/** A process starts in 150 to 250 ms, but may take seconds on a machine that swaps. */
const START_MS = 30_000;
/** An idle process uses 50 to 130 MB. */
const IDLE_MS = 5 * 60_000;
/** A process keeps much of its memory after a large document. Starting a new one is cheaper. */
const KEPT_RSS_BYTES = 256_000_000;
const MOST_DOCUMENTS_OF_A_PROCESS = 200;

interface IdleChild {
  readonly child: ReadingChild;
  readonly documents: number;
  readonly leaving: Timer;
}

/**
 * Reads documents in separate processes. They are started on demand, reused, and killed if a document takes too long or
 * too much memory, so a hostile document affects only its reader process.
 */
export function createDocumentReader(options: DocumentReaderOptions): DocumentReader {
  const { clock, log, processes = PROCESSES, maxWaiting = MAX_WAITING, waitMs = WAIT_MS } = options;
  const places = createWaitingPlaces(clock, { places: processes, maxWaiting, waitMs });
  const { isolation = readerIsolation } = options;
  const idle: IdleChild[] = [];
  const all = new Set<ReadingChild>();
  let isClosed = false;
  let hasSaidOpen = false;

  async function read(bytes: Uint8Array, own: Partial<DocumentLimits> = {}): Promise<DocumentReading> {
    const limits = { ...DOCUMENT_LIMITS, ...options.limits, ...own };
    if (isClosed) throw new Error('the document reader is closed');
    if (bytes.length > limits.maxBytes) {
      const message = `The file has ${bytes.length} bytes, and ${limits.maxBytes} are allowed: send a smaller one.`;
      return { outcome: 'too-large', message };
    }
    if (!(await places.take())) return busy();
    try {
      // The pool may have been closed meanwhile: a process started now would never be stopped.
      return isClosed ? busy() : await readInChild(bytes, limits);
    } finally {
      places.giveBack();
    }
  }

  async function readInChild(bytes: Uint8Array, limits: DocumentLimits): Promise<DocumentReading> {
    const { child, documents } = takeChild();
    const started = await within(START_MS, child, child.ready);
    if (started !== 'ready') {
      if (!isClosed) log.error('a document reading process could not start', { ended: started });
      return busy();
    }
    const answer = await within(limits.timeoutMs, child, child.read({ bytes, limits }));
    if (answer !== 'late' && answer.kind === 'answered') {
      keep(child, documents + 1, answer.answer.rssBytes);
      return answer.answer.reading;
    }
    return whatEndedIt(answer, limits);
  }

  /** After the time limit the process is killed. The result is returned once it is gone. */
  async function within<Result>(
    timeMs: number,
    child: ReadingChild,
    work: Promise<Result>,
  ): Promise<Result | 'late'> {
    const late = Promise.withResolvers<'late'>();
    const timer = clock.after(timeMs, () => late.resolve('late'));
    const first = await Promise.race([work, late.promise]);
    timer.cancel();
    if (first === 'late') await child.kill();
    return first;
  }

  function whatEndedIt(answer: 'late' | ChildAnswer, limits: DocumentLimits): DocumentReading {
    if (isClosed) return busy();
    if (answer === 'late') {
      log.warn('a document took too long to read', { timeoutMs: limits.timeoutMs });
      const message = `Reading the document took longer than ${limits.timeoutMs / 1_000} seconds. Send a simpler one, or its text.`;
      return { outcome: 'unreadable', reason: 'took-too-long', message };
    }
    const { signal, exitCode } = answer as Extract<ChildAnswer, { kind: 'ended' }>;
    log.warn('a document ended the process that read it', { signal, exitCode });
    // Killed by its own memory check, or by the system when the machine is out of memory.
    if (signal === 'SIGKILL') {
      const message = 'Reading the document took too much memory. Send a simpler one, or its text.';
      return { outcome: 'unreadable', reason: 'too-much-memory', message };
    }
    const message = 'The document is damaged and cannot be read. Create it again and send it again.';
    return { outcome: 'unreadable', reason: 'broken', message };
  }

  function takeChild(): { child: ReadingChild; documents: number } {
    for (let waiting = idle.pop(); waiting !== undefined; waiting = idle.pop()) {
      waiting.leaving.cancel();
      if (waiting.child.isAlive()) return waiting;
      all.delete(waiting.child);
    }
    const through = isolation();
    if (through.length === 0 && !hasSaidOpen) {
      hasSaidOpen = true;
      log.info('document readers share this machine’s network: namespaces are not permitted here');
    }
    const child = startReadingChild(through);
    for (const other of all) if (!other.isAlive()) all.delete(other);
    all.add(child);
    return { child, documents: 0 };
  }

  function keep(child: ReadingChild, documents: number, rssBytes: number): void {
    if (isClosed || rssBytes > KEPT_RSS_BYTES || documents >= MOST_DOCUMENTS_OF_A_PROCESS) {
      void child.kill();
      return;
    }
    const leaving = clock.after(IDLE_MS, () => {
      idle.splice(idle.indexOf(kept), 1);
      void child.kill();
    });
    const kept = { child, documents, leaving };
    idle.push(kept);
  }

  return {
    read,
    async close() {
      isClosed = true;
      places.close();
      for (const { leaving } of idle) leaving.cancel();
      await Promise.all([...all].map((child) => child.kill()));
    },
  };
}

function busy(): DocumentReading {
  return {
    outcome: 'busy',
    message: 'Too many documents are being parsed right now. Retry shortly.',
  };
}

/** A semaphore with a limited queue and a limited waiting time. */
interface WaitingPlaces {
  /** False if the queue is full or no place became free in time. The caller must release its place. */
  take(): Promise<boolean>;
  giveBack(): void;
  /** Waiting requests get false. */
  close(): void;
}

interface PlaceBounds {
  readonly places: number;
  readonly maxWaiting: number;
  readonly waitMs: number;
}

function createWaitingPlaces(clock: Clock, { places, maxWaiting, waitMs }: PlaceBounds): WaitingPlaces {
  // A Set keeps the insertion order, so this is first in, first out.
  const waiting = new Set<(hasPlace: boolean) => void>();
  let free = places;
  let isClosed = false;
  return {
    take() {
      if (isClosed) return Promise.resolve(false);
      if (free > 0) {
        free -= 1;
        return Promise.resolve(true);
      }
      if (waiting.size >= maxWaiting) return Promise.resolve(false);
      return new Promise((resolve) => {
        const end = (hasPlace: boolean) => {
          timer.cancel();
          waiting.delete(end);
          resolve(hasPlace);
        };
        const timer = clock.after(waitMs, () => end(false));
        waiting.add(end);
      });
    },
    giveBack() {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else next(true);
    },
    close() {
      isClosed = true;
      for (const end of [...waiting]) end(false);
    },
  };
}

const PROGRAM = fileURLToPath(new URL('./reading-process.ts', import.meta.url));

type ChildAnswer =
  | { readonly kind: 'answered'; readonly answer: Extract<ReadAnswer, { kind: 'reading' }> }
  /** Without a signal the process exited on its own, which it should never do. */
  | { readonly kind: 'ended'; readonly signal: string | null; readonly exitCode: number | null };

/** A reader process. It reads one document at a time. */
interface ReadingChild {
  readonly pid: number;
  /** Resolves when the process is ready, or with how it ended before that. */
  readonly ready: Promise<'ready' | ChildAnswer>;
  read(request: ReadRequest): Promise<ChildAnswer>;
  isAlive(): boolean;
  /** Resolves when the process is gone. */
  kill(): Promise<void>;
}

/**
 * Started with an empty environment and in a folder without settings, so that it has none of the service's secrets. Its
 * output is discarded, because libraries may print parts of the document.
 */
export function startReadingChild(through: readonly string[] = readerIsolation()): ReadingChild {
  const ready = Promise.withResolvers<'ready' | ChildAnswer>();
  let onAnswer: ((answer: ChildAnswer) => void) | null = null;
  let isAlive = true;
  const child = Bun.spawn([...through, process.execPath, PROGRAM], {
    cwd: dirname(PROGRAM),
    env: {},
    stdio: ['ignore', 'ignore', 'ignore'],
    serialization: 'advanced',
    ipc(answer: ReadAnswer) {
      if (answer.kind === 'ready') ready.resolve('ready');
      else settle({ kind: 'answered', answer });
    },
    onExit(_, exitCode, signalCode) {
      isAlive = false;
      const ended: ChildAnswer = {
        kind: 'ended',
        signal: signalCode === null ? null : String(signalCode),
        exitCode,
      };
      ready.resolve(ended);
      settle(ended);
    },
  });
  // It does not keep the parent process alive; the owner of the reader closes it.
  child.unref();

  function settle(answer: ChildAnswer): void {
    onAnswer?.(answer);
    onAnswer = null;
  }

  return {
    pid: child.pid,
    ready: ready.promise,
    read: (request) =>
      new Promise((resolve) => {
        if (!isAlive) return resolve({ kind: 'ended', signal: null, exitCode: child.exitCode });
        onAnswer = resolve;
        child.send(request);
      }),
    isAlive: () => isAlive,
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}
