import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadAnswer, ReadRequest } from './reading-messages.ts';

const PROGRAM = fileURLToPath(new URL('./reading-process.ts', import.meta.url));

export type ChildAnswer =
  | { readonly kind: 'answered'; readonly answer: Extract<ReadAnswer, { kind: 'reading' }> }
  /** Without a signal it has ended by itself, which it never does. */
  | { readonly kind: 'ended'; readonly signal: string | null; readonly exitCode: number | null };

/** One reading process, from its start to its end. It does one thing at a time. */
export interface ReadingChild {
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
export function startReadingChild(): ReadingChild {
  const ready = Promise.withResolvers<'ready' | ChildAnswer>();
  let onAnswer: ((answer: ChildAnswer) => void) | null = null;
  let isAlive = true;
  const child = Bun.spawn([process.execPath, PROGRAM], {
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
  // It keeps nobody's process alive; whoever opened the reader closes it.
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
