import { monitorEventLoopDelay } from 'node:perf_hooks';
import { withGapSignal } from '../../adapters/shared-state/gap-signal.ts';
import { type DatabaseEpoch, startDatabaseEpoch } from '../../domain/processes/database-epoch.ts';
import type { Listening } from '../../http/listen.ts';
import { localFaultMetrics, processMetrics } from '../../http/metrics.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HostFigures, ProcessFigures } from '../../ports/process-figures.ts';
import type { Configuration } from '../settings/configuration.ts';
import { type AttachedParts, connect, isTextLog, type Parts } from '../wiring/connect.ts';
import { readyTexts } from './announce-ready.ts';
import { ONE_OF_SEVERAL } from './child-process.ts';
import { openHostFigures } from './host-figures.ts';
import { createHostMetrics, type HostMetrics, toParentProcess } from './host-metrics.ts';
import { type Closing, closeAll, createStop, type Stop } from './lifecycle.ts';

export interface Opening extends Parts {
  /** Parts are closed in the reverse order of opening. */
  whenClosing(name: string, close: Closing['close']): void;
}

export interface ServiceOpening extends Opening {
  /** The metrics for Prometheus, of this process and the processes that belong to it. */
  readonly metrics: HostMetrics;
  /** The figures of the process, whichever services run in it. */
  readonly processFigures: () => ProcessFigures;
  readonly hostFigures: () => HostFigures;
  readonly databaseEpoch: DatabaseEpoch;
  /** Stops this process like a signal. */
  readonly stop: Stop['begin'];
}

/**
 * Runs the process of a service: connects the parts, lets `open` start the service on them, prints `ready` and the line
 * that `open` returns (null if a parent prints it), and closes everything in order on a signal. `attached` are the
 * embedded parts of that parent.
 */
export async function startService(
  configuration: Configuration,
  open: (opening: ServiceOpening) => Promise<string | null>,
  attached: AttachedParts | null = null,
): Promise<void> {
  const parts = await connect(configuration, attached);
  const closings = [...parts.closings];
  const whenClosing: Opening['whenClosing'] = (name, close) => void closings.unshift({ name, close });
  const sharedState = withGapSignal(parts.sharedState);
  const databaseEpoch = startDatabaseEpoch({ ...parts, onStepBack: sharedState.signalGap });
  whenClosing('database epoch', databaseEpoch.close);
  const isChild = attached !== null || process.argv.includes(ONE_OF_SEVERAL);
  const metrics = createHostMetrics({ clock: parts.clock, parent: isChild ? toParentProcess() : null });
  // Opened before everything that counts, so that nothing is counted after the last report.
  whenClosing('metrics', metrics.close);
  try {
    const processFigures = openProcessFigures(parts.clock, databaseEpoch.stepBacks);
    const { begin: stop, onSignal } = createStop(parts, closings, configuration.shutdownTimeoutMs);
    const hostFigures = openHostFigures({ clock: parts.clock, dataDir: configuration.dataDir });
    const figures = { processFigures, hostFigures, metrics };
    metrics.add(localFaultMetrics(parts.localFaults.counts));
    metrics.add(processMetrics({ figures: processFigures, pool: parts.database.pool }));
    const line = await open({ ...parts, sharedState, databaseEpoch, whenClosing, ...figures, stop });
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    if (line !== null) announceReady(configuration, parts.clock, line);
  } catch (error) {
    await closeAll(parts.log, closings);
    throw error;
  }
}

function announceReady(configuration: Configuration, clock: Clock, line: string): void {
  const isTerminal = process.stdout.isTTY === true;
  const isText = isTextLog(configuration, isTerminal);
  const { output, errors } = readyTexts({ line, nowMs: clock.now(), isText, isTerminal });
  process.stdout.write(output);
  if (errors !== '') process.stderr.write(errors);
}

/** All servers of a process drain in parallel, under one deadline, while its child processes stop. */
export function drainTogether(
  opening: Opening,
  servers: readonly Listening[],
  stops: readonly (() => Promise<void>)[] = [],
): void {
  const { shutdownTimeoutMs } = opening.configuration;
  opening.whenClosing('servers', async () => {
    await Promise.all([
      ...servers.map((server) => server.drain(shutdownTimeoutMs)),
      ...stops.map((stop) => stop()),
    ]);
  });
}

/** Limited, so that old delays do not hide the current ones. */
const DELAY_WINDOW_MS = 60_000;
const DELAY_RESOLUTION_MS = 20;

/**
 * This process's figures, opened once and shared by its services. Delays are the maximum of the current and the
 * previous minute, independent of reads, so that no stall between two reads is missed.
 */
export function openProcessFigures(clock: Clock, databaseStepBacks: () => number): () => ProcessFigures {
  const delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delays.enable();
  const startedAtMs = clock.now() - process.uptime() * 1_000;
  const read = (): ProcessFigures['eventLoopDelayMs'] => {
    if (delays.count === 0) return { p50: 0, p99: 0, max: 0 };
    return {
      p50: msOfNanoseconds(delays.percentile(50)),
      p99: msOfNanoseconds(delays.percentile(99)),
      max: msOfNanoseconds(delays.max),
    };
  };
  let before = read();
  let memory = process.memoryUsage();

  /** The runtime reads a file for it, which fails without a free descriptor: metrics are needed then more than ever. */
  function readMemory(): NodeJS.MemoryUsage {
    try {
      memory = process.memoryUsage();
    } catch {
      // The last known figures are shown.
    }
    return memory;
  }

  function beginWindow(): void {
    clock.after(DELAY_WINDOW_MS, () => {
      before = read();
      delays.reset();
      beginWindow();
    });
  }
  beginWindow();

  return () => {
    const { rss, heapUsed, external } = readMemory();
    const { user, system } = process.cpuUsage();
    const now = read();
    return {
      startedAtMs,
      databaseStepBacks: databaseStepBacks(),
      uptimeSeconds: Math.round(process.uptime()),
      cpuSeconds: (user + system) / 1e6,
      memory: { residentBytes: rss, heapBytes: heapUsed, externalBytes: external },
      eventLoopDelayMs: {
        p50: Math.max(before.p50, now.p50),
        p99: Math.max(before.p99, now.p99),
        max: Math.max(before.max, now.max),
      },
    };
  };
}

function msOfNanoseconds(nanoseconds: number): number {
  return Number.isFinite(nanoseconds) ? Math.round(nanoseconds / 1e4) / 100 : 0;
}
