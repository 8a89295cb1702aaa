import { fileURLToPath } from 'node:url';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { describe, StartProblem } from './lifecycle.ts';
import type { Opening } from './start-service.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Who was ready for this long and ended then did not fail to start. */
const SETTLED_MS = 10_000;
const SILENT_SECONDS = 15;

export interface GatewayProcesses {
  /** One after the other: a new one is ready before the old one leaves. Resolves with whether all were replaced. */
  replaceAll(): Promise<'replaced' | 'kept'>;
  /** Tells all of them to stop and waits until they have. */
  stop(): Promise<void>;
  kill(): void;
  pids(): number[];
}

interface SupervisorOptions {
  readonly count: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Another one than the gateway, for tests of this file. */
  readonly program?: string;
  readonly silentSeconds?: number;
}

/**
 * Several gateway processes on one port, each at its place. A process is starting, ready, or leaving; a place belongs to
 * one process, and what has left its place is only waited for.
 *
 * One that dies is started again, after a pause that doubles while it keeps dying; the others go on. On SIGUSR2 all are
 * replaced, place by place: the new process takes the place when it is ready, and only then the old one leaves the port.
 * Where a new one does not become ready, the old one keeps its place and the rest are left alone: a broken deployment
 * costs no call. Resolves once all answer.
 */
export async function startGatewayProcesses(options: SupervisorOptions): Promise<GatewayProcesses> {
  const { count, clock, log, program = GATEWAY_PROGRAM, silentSeconds = SILENT_SECONDS } = options;
  const places: (GatewayProcess | null)[] = Array.from({ length: count }, () => null);
  const running = new Set<GatewayProcess>();
  let isStopping = false;
  let replacing: Promise<'replaced' | 'kept'> | null = null;

  function start(): GatewayProcess {
    const started = startGatewayProcess(program, clock, silentSeconds, (pid) =>
      log.error('a gateway process answers nothing and is killed', { pid, silentSeconds }),
    );
    running.add(started);
    started.ended.then(() => running.delete(started));
    return started;
  }

  function take(place: number, taker: GatewayProcess, pauseMs: number): void {
    places[place] = taker;
    taker.ended.then((ending) => {
      if (isStopping || places[place] !== taker) return;
      places[place] = null;
      startAgain(place, ending, pauseMs);
    });
  }

  function startAgain(place: number, { exitCode, signalCode, readyForMs }: Ending, pauseMs: number): void {
    const hadSettled = readyForMs !== null && readyForMs >= SETTLED_MS;
    const nextPauseMs = hadSettled ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    log.error('a gateway process ended and is started again', {
      ...{ place, exitCode, signalCode, readyForMs, afterMs: pauseMs },
    });
    clock.after(pauseMs, () => {
      if (isStopping || places[place] !== null) return;
      take(place, start(), nextPauseMs);
    });
  }

  async function replaceOne(place: number): Promise<boolean> {
    const next = start();
    if ((await next.began) === 'ended' || isStopping) return false;
    const old = places[place] ?? null;
    take(place, next, FIRST_PAUSE_MS);
    old?.retire();
    // With its calls: two of them at a place is all the memory that a replacement takes.
    await old?.ended;
    return !isStopping;
  }

  async function replaceEach(): Promise<'replaced' | 'kept'> {
    log.info('the gateway processes are replaced, one after the other', { count });
    for (let place = 0; place < count; place += 1) {
      if (await replaceOne(place)) continue;
      if (!isStopping) {
        log.error('a new gateway process did not start: its own line says why; the old ones go on', {
          place,
        });
      }
      return 'kept';
    }
    log.info('the gateway processes are replaced', { count });
    return 'replaced';
  }

  function replaceAll(): Promise<'replaced' | 'kept'> {
    // A second wish while one is carried out comes after it: what was deployed in between is wanted too.
    const before = replacing ?? Promise.resolve();
    const own = before.then(replaceEach);
    replacing = own;
    return own;
  }

  async function stop(): Promise<void> {
    isStopping = true;
    for (const one of running) one.stop();
    await Promise.all([...running].map(({ ended }) => ended));
  }

  for (let place = 0; place < count; place += 1) take(place, start(), FIRST_PAUSE_MS);
  const outcomes = await Promise.all(places.map((taker) => taker?.began));
  if (outcomes.includes('ended')) {
    await stop();
    throw new StartProblem('a gateway process could not start: its own line says why');
  }
  const kill = () => running.forEach((one) => void one.kill());
  return { replaceAll, stop, kill, pids: () => [...running].map(({ pid }) => pid) };
}

/** GATEWAY_PROCESSES of them: replaced one by one on SIGUSR2 of this process, stopped with it. */
export async function superviseGateways(opening: Opening): Promise<void> {
  const { configuration, clock, log } = opening;
  const several = await startGatewayProcesses({ count: configuration.gatewayProcesses, clock, log });
  opening.whenClosing('gateway processes', several.stop);
  // None is left after a stop in order; a stop that was forced ends them too.
  process.on('exit', several.kill);
  process.on('SIGUSR2', () => {
    several.replaceAll().catch((error: unknown) => {
      log.error('the gateway processes could not be replaced', { reason: describe(error) });
    });
  });
}

/** The word that tells a gateway process that it is one of several and has a parent. */
export const ONE_OF_SEVERAL = '--one-of-several';
const GATEWAY_PROGRAM = fileURLToPath(new URL('../gateway.ts', import.meta.url));

/** What parent and child say to each other. */
export const SAYS = {
  ready: 'ready',
  retire: 'retire',
  stop: 'stop',
  areYouThere: 'are you there',
  here: 'here',
} as const;

const ASKED_EVERY_MS = 1_000;

interface GatewayProcess {
  readonly pid: number;
  readonly began: Promise<'ready' | 'ended'>;
  readonly ended: Promise<Ending>;
  /** It leaves the port without failing a call, lets running calls end, and ends. */
  retire(): void;
  /** By a message: a signal after that of the process group would force its end. */
  stop(): void;
  kill(): void;
}

interface Ending {
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
function startGatewayProcess(
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
    stop: () => (readyAt === null ? child.kill('SIGTERM') : say(SAYS.stop)),
    kill: () => child.kill('SIGKILL'),
  };
}
