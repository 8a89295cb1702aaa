import { fileURLToPath } from 'node:url';
import type { Log } from '../../ports/log.ts';
import {
  type ChildOptions,
  type ChildProcess,
  type Ending,
  ONE_OF_SEVERAL,
  startChild,
} from './child-process.ts';
import type { HostMetrics } from './host-metrics.ts';
import { describe, ReportedProblem, StartProblem } from './lifecycle.ts';
import type { ServiceOpening } from './start-service.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A process that ends after being ready for this long is not considered to have failed to start. */
const SETTLED_MS = 10_000;
const SILENT_SECONDS = 15;

export interface SupervisedProcesses {
  /** Replaces one process after the other: the new one is ready before the old one leaves. */
  replaceAll(): Promise<'replaced' | 'kept'>;
  /** Asks all of them to stop and waits until they have ended. */
  stop(): Promise<void>;
  kill(): void;
  pids(): number[];
}

interface SupervisorOptions extends Pick<ChildOptions, 'clock' | 'program' | 'words' | 'onMessage'> {
  /** Used in log messages. */
  readonly what: string;
  readonly count: number;
  readonly log: Log;
  readonly silentSeconds?: number;
  /** The metrics of this process, which include those of its children. */
  readonly metrics: Pick<HostMetrics, 'receive' | 'ended'>;
}

/**
 * Processes of the same type, each in a slot. A process is starting, ready, or leaving. A slot belongs to one process;
 * a process that has left its slot is only waited for.
 *
 * A process that dies is restarted, after a pause that doubles while it keeps crashing; the others continue. On SIGUSR2
 * all are replaced, slot by slot: the new process takes the slot once it is ready, and only then does the old one leave
 * the port. If a new one does not become ready, the old one keeps its slot and the rest are not replaced, so that a
 * broken deployment fails no call. Resolves once all are ready.
 */
export async function superviseProcesses(options: SupervisorOptions): Promise<SupervisedProcesses> {
  const { what, count, clock, log, program, words, metrics, silentSeconds = SILENT_SECONDS } = options;
  const places: (ChildProcess | null)[] = Array.from({ length: count }, () => null);
  const running = new Set<ChildProcess>();
  let isStopping = false;
  let haveAllBegun = false;
  let replacing: Promise<'replaced' | 'kept'> | null = null;

  function start(): ChildProcess {
    const started = startChild({
      ...{ program, words, clock, silentSeconds },
      onMessage(received, send) {
        metrics.receive(received, send);
        options.onMessage?.(received, send);
      },
      onSilent: (pid) => log.error(`a ${what} process answers nothing and is killed`, { pid, silentSeconds }),
    });
    running.add(started);
    started.ended.then(() => {
      running.delete(started);
      metrics.ended(started.send);
    });
    return started;
  }

  /** Null without descriptors, memory or room for a process: this process continues, and may try again. */
  function tryToStart(): ChildProcess | null {
    try {
      return start();
    } catch (error) {
      log.error(`a ${what} process could not be started`, { reason: describe(error) });
      return null;
    }
  }

  function take(place: number, taker: ChildProcess, pauseMs: number): void {
    places[place] = taker;
    taker.ended.then((ending) => {
      if (!haveAllBegun || isStopping || places[place] !== taker) return;
      places[place] = null;
      startAgain(place, ending, pauseMs);
    });
  }

  function startAgain(place: number, { exitCode, signalCode, readyForMs }: Ending, pauseMs: number): void {
    const hadSettled = readyForMs !== null && readyForMs >= SETTLED_MS;
    const nextPauseMs = hadSettled ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    log.error(`a ${what} process ended and is started again`, {
      ...{ place, exitCode, signalCode, readyForMs, afterMs: pauseMs },
    });
    startAfter(place, pauseMs, nextPauseMs);
  }

  function startAfter(place: number, pauseMs: number, nextPauseMs: number): void {
    clock.after(pauseMs, () => {
      if (isStopping || places[place] !== null) return;
      const started = tryToStart();
      if (started !== null) return take(place, started, nextPauseMs);
      startAfter(place, nextPauseMs, Math.min(nextPauseMs * 2, LONGEST_PAUSE_MS));
    });
  }

  async function replaceOne(place: number): Promise<boolean> {
    const next = tryToStart();
    if (next === null || (await next.began) === 'ended' || isStopping) return false;
    const old = places[place] ?? null;
    take(place, next, FIRST_PAUSE_MS);
    old?.retire();
    // Waits for its calls as well, so that a replacement needs the memory of at most one additional process.
    await old?.ended;
    return !isStopping;
  }

  async function replaceEach(): Promise<'replaced' | 'kept'> {
    log.info(`the ${what} processes are replaced, one after the other`, { count });
    for (let place = 0; place < count; place += 1) {
      if (await replaceOne(place)) continue;
      if (!isStopping) {
        log.error(`a new ${what} process did not start: its own line says why; the old ones go on`, {
          place,
        });
      }
      return 'kept';
    }
    log.info(`the ${what} processes are replaced`, { count });
    return 'replaced';
  }

  function replaceAll(): Promise<'replaced' | 'kept'> {
    // A second request runs after the current replacement, so that a deploy in between is picked up too.
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
    const ends = places.map(async (taker, place) =>
      outcomes[place] === 'ended' ? await taker?.ended : null,
    );
    const killedBy = (await Promise.all(ends)).find((ending) => (ending?.signalCode ?? null) !== null);
    await stop();
    if (killedBy == null) throw new ReportedProblem();
    throw new StartProblem(`a ${what} process was ended by ${killedBy.signalCode} while it started`);
  }
  haveAllBegun = true;
  const kill = () => running.forEach((one) => void one.kill());
  return { replaceAll, stop, kill, pids: () => [...running].map(({ pid }) => pid) };
}

const GATEWAY_PROGRAM = fileURLToPath(new URL('../gateway.ts', import.meta.url));

/** Starts GATEWAY_PROCESSES gateways, which are replaced one by one when this process receives SIGUSR2. */
export async function superviseGateways(opening: ServiceOpening): Promise<SupervisedProcesses> {
  const { configuration, clock, log, metrics } = opening;
  const several = await superviseProcesses({
    ...{ what: 'gateway', count: configuration.gatewayProcesses, clock, log, metrics },
    ...{ program: GATEWAY_PROGRAM, words: [ONE_OF_SEVERAL], onMessage: undefined },
  });
  // After an orderly stop none is left; after a forced stop this kills them.
  process.on('exit', several.kill);
  process.on('SIGUSR2', () => {
    several.replaceAll().catch((error: unknown) => {
      log.error('the gateway processes could not be replaced', { reason: describe(error) });
    });
  });
  return several;
}
