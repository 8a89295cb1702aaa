import { fileURLToPath } from 'node:url';
import type { Clock } from '../ports/clock.ts';

/** The word that tells a gateway process that it is one of several and has a parent. */
export const ONE_OF_SEVERAL = '--one-of-several';
export const GATEWAY_PROGRAM = fileURLToPath(new URL('./gateway.ts', import.meta.url));

/** What parent and child say to each other. */
export const SAYS = { ready: 'ready', retire: 'retire', areYouThere: 'are you there', here: 'here' } as const;

const ASKED_EVERY_MS = 1_000;

export interface GatewayProcess {
  readonly pid: number;
  readonly began: Promise<'ready' | 'ended'>;
  readonly ended: Promise<Ending>;
  /** It leaves the port without failing a call, lets running calls end, and ends. */
  retire(): void;
  signal(name: NodeJS.Signals): void;
}

export interface Ending {
  readonly exitCode: number | null;
  readonly signalCode: string | null;
  /** Null where it never was ready. */
  readonly readyForMs: number | null;
}

/**
 * One child. It is asked once a second whether it is there, and one that has not said so for `silentSeconds` questions
 * is killed: the kernel goes on giving it its share of the connections, and nobody would answer them. Questions are
 * counted, not time, so that a machine that slept kills nobody.
 */
export function startGatewayProcess(
  program: string,
  clock: Clock,
  silentSeconds: number,
  onSilent: (pid: number) => void,
): GatewayProcess {
  const began = Promise.withResolvers<'ready' | 'ended'>();
  const ended = Promise.withResolvers<Ending>();
  let readyAt: number | null = null;
  let unanswered = 0;
  let hasEnded = false;

  const child = Bun.spawn([process.execPath, program, ONE_OF_SEVERAL], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc(said) {
      unanswered = 0;
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

  function say(what: string): void {
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
    retire: () => say(SAYS.retire),
    signal: (name) => child.kill(name),
  };
}
