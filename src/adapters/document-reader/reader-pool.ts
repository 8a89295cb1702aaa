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
  /** In place of the port's, for all documents. */
  readonly limits?: Partial<DocumentLimits>;
  /** Documents read at once, each in a process of its own. */
  readonly processes?: number;
  readonly maxWaiting?: number;
  readonly waitMs?: number;
  /** The command that a reading process is started through; empty is none. */
  readonly isolation?: () => readonly string[];
}

const PROCESSES = 2;
const MAX_WAITING = 64;
const WAIT_MS = 30_000;
/** A process starts in 150 to 250 ms here; on a machine that swaps it may take seconds. */
const START_MS = 30_000;
/** One that waits for work holds 50 to 130 MB. */
const IDLE_MS = 5 * 60_000;
/** After a large document much of its memory stays with the process; a fresh one is cheaper than to keep it. */
const KEPT_RSS_BYTES = 256_000_000;
const MOST_DOCUMENTS_OF_A_PROCESS = 200;

interface IdleChild {
  readonly child: ReadingChild;
  readonly documents: number;
  readonly leaving: Timer;
}

/**
 * Reads documents in processes of their own, which are started when they are needed, kept for the next document, and
 * killed when one takes too long or too much memory. Whatever a document does, it does it there.
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
      // The pool may have been closed meanwhile: a process that starts now would never be ended.
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

  /** Past the time the process is killed, and gone before anybody hears of it. */
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
    // By its own look at its memory, or by the system's when the machine has none left.
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

/** A bounded number of places, and a bounded line of those who wait for one, for a bounded time. */
interface WaitingPlaces {
  /** False where the line is full, or no place became free in time. The holder of a place gives it back. */
  take(): Promise<boolean>;
  giveBack(): void;
  /** Those who wait get no place any more. */
  close(): void;
}

interface PlaceBounds {
  readonly places: number;
  readonly maxWaiting: number;
  readonly waitMs: number;
}

function createWaitingPlaces(clock: Clock, { places, maxWaiting, waitMs }: PlaceBounds): WaitingPlaces {
  // A Set keeps the order of insertion: first come, first served.
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
  /** Without a signal it has ended by itself, which it never does. */
  | { readonly kind: 'ended'; readonly signal: string | null; readonly exitCode: number | null };

/** One reading process, from its start to its end. It does one thing at a time. */
interface ReadingChild {
  readonly pid: number;
  /** Resolves when it can read, or with how it ended before it could. */
  readonly ready: Promise<'ready' | ChildAnswer>;
  read(request: ReadRequest): Promise<ChildAnswer>;
  isAlive(): boolean;
  /** Resolves when the process is gone. */
  kill(): Promise<void>;
}

/**
 * It gets an empty environment and a folder without settings: none of the service's secrets is there to be found. Its
 * output goes nowhere, since what libraries print about a document may quote it.
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
