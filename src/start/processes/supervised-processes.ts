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
/** Who was ready for this long and ended then did not fail to start. */
const SETTLED_MS = 10_000;
const SILENT_SECONDS = 15;

export interface SupervisedProcesses {
  /** One after the other: a new one is ready before the old one leaves. Resolves with whether all were replaced. */
  replaceAll(): Promise<'replaced' | 'kept'>;
  /** Tells all of them to stop and waits until they have. */
  stop(): Promise<void>;
  kill(): void;
  pids(): number[];
}

interface SupervisorOptions extends Pick<ChildOptions, 'clock' | 'program' | 'words' | 'hear'> {
  /** For the log. */
  readonly what: string;
  readonly count: number;
  readonly log: Log;
  readonly silentSeconds?: number;
  /** Of this process: the children's figures are a part of them. */
  readonly metrics: Pick<HostMetrics, 'heard' | 'ended'>;
}

/**
 * Processes of one kind, each at its place. A process is starting, ready, or leaving; a place belongs to
 * one process, and what has left its place is only waited for.
 *
 * One that dies is started again, after a pause that doubles while it keeps crashing; the others go on. On SIGUSR2 all are
 * replaced, place by place: the new process takes the place when it is ready, and only then the old one leaves the port.
 * Where a new one does not become ready, the old one keeps its place and the rest are left alone: a broken deployment
 * costs no call. Resolves once all answer.
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
      hear(said, say) {
        metrics.heard(said, say);
        options.hear?.(said, say);
      },
      onSilent: (pid) => log.error(`a ${what} process answers nothing and is killed`, { pid, silentSeconds }),
    });
    running.add(started);
    started.ended.then(() => {
      running.delete(started);
      metrics.ended(started.say);
    });
    return started;
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

/** GATEWAY_PROCESSES of them: replaced one by one on SIGUSR2 of this process. */
export async function superviseGateways(opening: ServiceOpening): Promise<SupervisedProcesses> {
  const { configuration, clock, log, metrics } = opening;
  const several = await superviseProcesses({
    ...{ what: 'gateway', count: configuration.gatewayProcesses, clock, log, metrics },
    ...{ program: GATEWAY_PROGRAM, words: [ONE_OF_SEVERAL], hear: undefined },
  });
  // None is left after a stop in order; a stop that was forced ends them too.
  process.on('exit', several.kill);
  process.on('SIGUSR2', () => {
    several.replaceAll().catch((error: unknown) => {
      log.error('the gateway processes could not be replaced', { reason: describe(error) });
    });
  });
  return several;
}
