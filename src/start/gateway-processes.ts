import { fileURLToPath } from 'node:url';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { StartProblem } from './start-problem.ts';

/** The word that tells a gateway process that it is one of several and has a parent. */
export const ONE_OF_SEVERAL = '--one-of-several';
const PROGRAM = fileURLToPath(new URL('./gateway.ts', import.meta.url));
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

export interface GatewayProcesses {
  /** Tells all of them to stop and waits until they have. */
  stop(): Promise<void>;
}

/**
 * Several gateway processes on one port. One that dies is started again, after a pause that doubles while it
 * keeps dying; the others go on. Resolves once all of them answer.
 */
export async function startGatewayProcesses(
  count: number,
  clock: Clock,
  log: Log,
): Promise<GatewayProcesses> {
  const running = new Set<Bun.Subprocess>();
  let isStopping = false;

  function spawn(place: number, pauseMs: number, onFirstReady: (outcome: 'ready' | 'ended') => void): void {
    let wasReady = false;
    const child = Bun.spawn([process.execPath, PROGRAM, ONE_OF_SEVERAL], {
      stdio: ['ignore', 'inherit', 'inherit'],
      ipc(message) {
        if (message !== 'ready') return;
        wasReady = true;
        onFirstReady('ready');
      },
      onExit(_, exitCode, signalCode) {
        running.delete(child);
        onFirstReady('ended');
        if (isStopping) return;
        const nextPauseMs = wasReady ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        log.error('a gateway process ended and is started again', {
          place,
          exitCode,
          signalCode,
          nextPauseMs,
        });
        clock.after(nextPauseMs, () => {
          if (!isStopping) spawn(place, nextPauseMs, () => {});
        });
      },
    });
    running.add(child);
  }

  async function stop(): Promise<void> {
    isStopping = true;
    for (const child of running) child.kill('SIGTERM');
    await Promise.all([...running].map((child) => child.exited));
  }

  const outcomes = await Promise.all(
    Array.from(
      { length: count },
      (_, place) => new Promise<'ready' | 'ended'>((resolve) => spawn(place, FIRST_PAUSE_MS, resolve)),
    ),
  );
  if (outcomes.includes('ended')) {
    await stop();
    throw new StartProblem('a gateway process could not start: its own line says why');
  }
  return { stop };
}
