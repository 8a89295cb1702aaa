import type { DeferredWrites, Statements } from '../../../ports/database.ts';

/** Both threads count in it, so that neither asks the other whether something waits. */
export type DeferredCounts = Int32Array<SharedArrayBuffer>;

const ADDED = 0;
const WRITTEN = 1;

/** Up to `added`; the counts may wrap around. */
function areWritten(counts: DeferredCounts, added: number): boolean {
  return ((added - Atomics.load(counts, WRITTEN)) | 0) <= 0;
}

export interface OwnDeferredWrites extends DeferredWrites {
  readonly counts: DeferredCounts;
}

/** The part of the thread that writes later. `statements` go to the engine without waiting for what is deferred. */
export function createDeferredWrites(statements: Statements): OwnDeferredWrites {
  const counts: DeferredCounts = new Int32Array(new SharedArrayBuffer(8));
  let write: (statements: Statements) => Promise<void> = async () => {};
  let writing: Promise<void> | null = null;
  const added = () => Atomics.load(counts, ADDED);

  async function writeAll(): Promise<void> {
    const upTo = added();
    await write(statements);
    Atomics.store(counts, WRITTEN, upTo);
  }

  return {
    counts,
    writeBy(given) {
      write = given;
    },
    add() {
      Atomics.add(counts, ADDED, 1);
    },
    isEmpty: () => areWritten(counts, added()),
    async flush() {
      const wanted = added();
      while (!areWritten(counts, wanted)) {
        writing ??= writeAll().finally(() => {
          writing = null;
        });
        await writing;
      }
    },
  };
}

/** The part of the engine's thread: other processes reach the engine there, and wait there. */
export interface DeferredGate {
  /** Resolves when all that was deferred by now is written. */
  pass(): Promise<void>;
  /** The other thread has written what it was asked for. */
  opened(): void;
}

export function createDeferredGate(counts: DeferredCounts, askToWrite: () => void): DeferredGate {
  let waiting: { readonly added: number; readonly resolve: () => void }[] = [];
  return {
    async pass() {
      const added = Atomics.load(counts, ADDED);
      if (areWritten(counts, added)) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ added, resolve });
      askToWrite();
      await promise;
    },
    opened() {
      const passing = waiting.filter(({ added }) => areWritten(counts, added));
      waiting = waiting.filter(({ added }) => !areWritten(counts, added));
      for (const { resolve } of passing) resolve();
      if (waiting.length > 0) askToWrite();
    },
  };
}
