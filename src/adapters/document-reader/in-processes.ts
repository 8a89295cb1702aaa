import type { Clock, Timer } from '../../ports/clock.ts';
import {
  DOCUMENT_LIMITS,
  type DocumentLimits,
  type DocumentReader,
  type DocumentReading,
} from '../../ports/document-reader.ts';
import type { Log } from '../../ports/log.ts';
import { type ChildAnswer, type ReadingChild, startReadingChild } from './reading-child.ts';
import { createWaitingPlaces } from './waiting-places.ts';

export interface DocumentReaderOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** In place of the port's, for all documents. */
  readonly limits?: Partial<DocumentLimits>;
  /** Documents read at once, each in a process of its own. */
  readonly processes?: number;
  readonly maxWaiting?: number;
  readonly waitMs?: number;
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
  const idle: IdleChild[] = [];
  const all = new Set<ReadingChild>();
  let isClosed = false;

  async function read(bytes: Uint8Array, own: Partial<DocumentLimits> = {}): Promise<DocumentReading> {
    const limits = { ...DOCUMENT_LIMITS, ...options.limits, ...own };
    if (isClosed) throw new Error('the document reader is closed');
    if (bytes.length > limits.maxBytes) {
      const message = `The file has ${bytes.length} bytes, and ${limits.maxBytes} are allowed: send a smaller one.`;
      return { outcome: 'too-large', message };
    }
    if (!(await places.take())) return busy();
    try {
      // It may have been closed meanwhile, and nobody would end a process that begins now.
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
    const message = 'The document is damaged: it cannot be read. Make it anew and send it again.';
    return { outcome: 'unreadable', reason: 'broken', message };
  }

  function takeChild(): { child: ReadingChild; documents: number } {
    for (let waiting = idle.pop(); waiting !== undefined; waiting = idle.pop()) {
      waiting.leaving.cancel();
      if (waiting.child.isAlive()) return waiting;
      all.delete(waiting.child);
    }
    const child = startReadingChild();
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
    message: 'Too many documents are being read at the moment. Send it again in a while.',
  };
}
