import type { DeferredWrites, Statements } from '../../../ports/database.ts';

/** Shared counters, so that neither thread has to ask the other whether writes are deferred. */
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

/** For the thread that defers writes. `statements` do not wait for deferred writes. */
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
      const target = added();
      while (!areWritten(counts, target)) {
        writing ??= writeAll().finally(() => {
          writing = null;
        });
        await writing;
      }
    },
  };
}

/** For the engine's thread, where the requests of other processes arrive and wait. */
export interface DeferredGate {
  /** Resolves when everything deferred until now is written. */
  pass(): Promise<void>;
  /** The other thread has completed the requested write. */
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
