import { dlopen } from 'bun:ffi';
import type { Clock } from '../../ports/clock.ts';

/** What parent and child say to each other. */
export const SAYS = {
  loaded: 'loaded',
  ready: 'ready',
  retire: 'retire',
  stop: 'stop',
  areYouThere: 'are you there',
  here: 'here',
} as const;

/** The word that tells a gateway process that it is one of several and has a parent. */
export const ONE_OF_SEVERAL = '--one-of-several';

const ASKED_EVERY_MS = 1_000;

export interface ChildProcess {
  readonly pid: number;
  readonly began: Promise<'ready' | 'ended'>;
  readonly ended: Promise<Ending>;
  /** The one that `hear` has got. */
  say(what: unknown): void;
  /** It leaves the port without failing a call, lets running calls end, and ends. */
  retire(): void;
  /** By a message: a signal after that of the process group would force its end. */
  stop(): void;
  kill(): void;
}

export interface Ending {
  readonly exitCode: number | null;
  readonly signalCode: string | null;
  /** Null where it never was ready. */
  readonly readyForMs: number | null;
}

export interface ChildOptions {
  readonly program: string;
  readonly words: readonly string[];
  readonly clock: Clock;
  readonly silentSeconds: number;
  readonly onSilent: (pid: number) => void;
  /** What it says besides the words of every child, and the way to answer. */
  readonly hear?: ((said: unknown, say: (what: unknown) => void) => void) | undefined;
}

/**
 * One child process. It is pinged once a second, and killed after `silentSeconds` pings without a reply: the kernel would
 * keep giving it its share of the connections, which would hang. Pings are counted instead of time, so that a suspended
 * machine does not kill its children on resume.
 */
export function startChild(options: ChildOptions): ChildProcess {
  const { clock, silentSeconds, onSilent, hear } = options;
  const began = Promise.withResolvers<'ready' | 'ended'>();
  const ended = Promise.withResolvers<Ending>();
  let readyAt: number | null = null;
  let unanswered = 0;
  let hasEnded = false;

  const child = Bun.spawn([process.execPath, options.program, ...options.words], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc(said) {
      unanswered = 0;
      hear?.(said, say);
      if (said !== SAYS.ready || readyAt !== null) return;
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

  function say(what: unknown): void {
    try {
      child.send(what);
    } catch {
      // It has ended, which `onExit` hears by itself.
    }
  }

  function ask(): void {
    if (hasEnded) return;
    if (unanswered >= silentSeconds) {
      onSilent(child.pid);
      return void child.kill('SIGKILL');
    }
    unanswered += 1;
    say(SAYS.areYouThere);
    clock.after(ASKED_EVERY_MS, ask);
  }

  return {
    pid: child.pid,
    began: began.promise,
    ended: ended.promise,
    say,
    retire: () => say(SAYS.retire),
    stop: () => (readyAt === null ? child.kill('SIGTERM') : say(SAYS.stop)),
    kill: () => child.kill('SIGKILL'),
  };
}

const [PR_SET_PDEATHSIG, SIGKILL] = [1, 9];

/**
 * For a child that can do nothing without its parent: the kernel kills it when that ends, however it ends and whatever the
 * child is busy with, so that its ports are free for the next start. Linux with glibc; elsewhere it notices by the closed
 * channel, as soon as it comes to it.
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
