import { dlopen } from 'bun:ffi';
import type { Clock } from '../../ports/clock.ts';

/** Messages between parent and child. */
export const PROCESS_MESSAGES = {
  loaded: 'loaded',
  ready: 'ready',
  retire: 'retire',
  stop: 'stop',
  ping: 'are you there',
  pong: 'here',
} as const;

/** The argument that marks a gateway process as one of several, which has a parent. */
export const ONE_OF_SEVERAL = '--one-of-several';

const ASKED_EVERY_MS = 1_000;

export interface ChildProcess {
  readonly pid: number;
  readonly began: Promise<'ready' | 'ended'>;
  readonly ended: Promise<Ending>;
  /** The same function that is passed to `onMessage`. */
  send(message: unknown): void;
  /** The process leaves the port without failing a call, finishes running calls, and ends. */
  retire(): void;
  /** Sends a message once it is ready: a signal in addition to the process group's would force it to end. */
  stop(): void;
  kill(): void;
}

export interface Ending {
  readonly exitCode: number | null;
  readonly signalCode: string | null;
  /** Null if it never was ready. */
  readonly readyForMs: number | null;
}

export interface ChildOptions {
  readonly program: string;
  readonly words: readonly string[];
  readonly clock: Clock;
  readonly silentSeconds: number;
  readonly onSilent: (pid: number) => void;
  /** Receives all messages of the child, with a function to answer. */
  readonly onMessage?: ((received: unknown, send: (message: unknown) => void) => void) | undefined;
}

/**
 * One child process. It is pinged once a second, and killed after `silentSeconds` pings without a reply: the kernel would
 * keep giving it its share of the connections, which would hang. Pings are counted instead of time, so that a suspended
 * machine does not kill its children on resume.
 */
export function startChild(options: ChildOptions): ChildProcess {
  const { clock, silentSeconds, onSilent, onMessage } = options;
  const began = Promise.withResolvers<'ready' | 'ended'>();
  const ended = Promise.withResolvers<Ending>();
  let readyAt: number | null = null;
  let unanswered = 0;
  let hasEnded = false;

  const child = Bun.spawn([process.execPath, options.program, ...options.words], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc(received) {
      unanswered = 0;
      onMessage?.(received, send);
      if (received !== PROCESS_MESSAGES.ready || readyAt !== null) return;
      readyAt = clock.now();
      began.resolve('ready');
      ask();
    },
    onExit(_, exitCode, signalCode) {
      hasEnded = true;
      began.resolve('ended');
      const readyForMs = readyAt === null ? null : clock.now() - readyAt;
      ended.resolve({ exitCode, signalCode: signalCode === null ? null : String(signalCode), readyForMs });
    },
  });

  function send(message: unknown): void {
    try {
      child.send(message);
    } catch {
      // The process has ended; `onExit` handles that.
    }
  }

  function ask(): void {
    if (hasEnded) return;
    if (unanswered >= silentSeconds) {
      onSilent(child.pid);
      return void child.kill('SIGKILL');
    }
    unanswered += 1;
    send(PROCESS_MESSAGES.ping);
    clock.after(ASKED_EVERY_MS, ask);
  }

  return {
    pid: child.pid,
    began: began.promise,
    ended: ended.promise,
    send,
    retire: () => send(PROCESS_MESSAGES.retire),
    stop: () => (readyAt === null ? child.kill('SIGTERM') : send(PROCESS_MESSAGES.stop)),
    kill: () => child.kill('SIGKILL'),
  };
}

const [PR_SET_PDEATHSIG, SIGKILL] = [1, 9];

/**
 * For a child that cannot work without its parent: the kernel kills it when the parent ends, for whatever reason and
 * whatever the child is doing, so that its ports are free for the next start. This needs Linux with glibc; elsewhere,
 * the child exits when it handles the closed channel.
 */
export function endWithParent(): void {
  process.on('disconnect', () => process.exit(1));
  try {
    const libc = dlopen('libc.so.6', {
      prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
    });
    libc.symbols.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  } catch {
    // Another kernel or C library.
  }
}
