import type {
  CheckedAnswer,
  DocumentEngine,
  ParsedText,
  ParseKind,
} from '../../domain/documents/document-engine.ts';
import { createDocumentEngine } from '../../domain/documents/embedded-engine.ts';
import type { Opening } from '../processes/start-service.ts';

/** A text to read, or with an answer to hold that against the text. */
export interface ToEngine {
  readonly id: number;
  readonly kind: ParseKind;
  readonly text: string;
  readonly answer: string | null;
}

export type FromEngine =
  | { readonly id: number; readonly outcome: 'done'; readonly result: ParsedText | CheckedAnswer }
  | { readonly id: number; readonly outcome: 'failed'; readonly reason: string };

interface Waiting {
  resolve(result: ParsedText | CheckedAnswer): void;
  reject(error: Error): void;
}

const MOST_WAITING = 256;
/** Of one document, the ones before it included; a thread that takes longer hangs and is replaced. */
const LONGEST_WAIT_MS = 60_000;

/**
 * The engine in a thread of its own, which starts when somebody first needs it. One that breaks or hangs takes the
 * documents with it that it had, and the next document gets a new one.
 */
export function openEngine(
  opening: Pick<Opening, 'clock' | 'secrets' | 'log' | 'whenClosing'>,
): DocumentEngine {
  const { clock, secrets, log } = opening;
  let own: DocumentEngine | null = null;
  let thread: Worker | null = null;
  let nextId = 0;
  const waiting = new Map<number, Waiting>();

  function start(): Worker {
    const started = new Worker(new URL('./document-engine-thread.ts', import.meta.url));
    (started as Worker & { unref(): void }).unref();
    started.onmessage = ({ data }: MessageEvent<FromEngine>) => {
      const one = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.outcome === 'done') one?.resolve(data.result);
      else one?.reject(new Error(`a document could not be read: ${data.reason}`));
    };
    started.onerror = () => giveUp('the thread that reads documents broke');
    return started;
  }

  function giveUp(reason: string): void {
    thread?.terminate();
    thread = null;
    if (waiting.size > 0) log.error('documents are given up', { reason, count: waiting.size });
    for (const { reject } of waiting.values()) reject(new Error(reason));
    waiting.clear();
  }

  async function ask(kind: ParseKind, text: string, answer: string | null) {
    if (waiting.size >= MOST_WAITING) throw new Error('too many documents are being read at once');
    thread ??= start();
    nextId += 1;
    const id = nextId;
    const { promise, resolve, reject } = Promise.withResolvers<ParsedText | CheckedAnswer>();
    waiting.set(id, { resolve, reject });
    thread.postMessage({ id, kind, text, answer } satisfies ToEngine);
    const timer = clock.after(LONGEST_WAIT_MS, () => giveUp('the thread that reads documents hangs'));
    try {
      return await promise;
    } finally {
      timer.cancel();
    }
  }

  function here(): DocumentEngine {
    own ??= createDocumentEngine({ clock, secrets });
    return own;
  }

  opening.whenClosing('document engine', async () => giveUp('the process goes down'));
  return {
    read: async (kind, text) => (await ask(kind, text, null)) as ParsedText,
    check: async (kind, text, answer) => (await ask(kind, text, answer)) as CheckedAnswer,
    question: (kind, text) => here().question(kind, text),
    repair: (said, answer, problems) => here().repair(said, answer, problems),
  };
}
