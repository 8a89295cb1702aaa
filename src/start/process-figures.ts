import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../ports/clock.ts';
import type { ProcessFigures } from '../ports/process-figures.ts';

/** Delays of long ago would hide those of now. */
const WINDOW_MS = 60_000;
const RESOLUTION_MS = 20;

/**
 * This process's own figures, opened once a process: its services share them. The delays are the worse of the minute
 * that runs and the one before, whoever looks and however often, so that no stall is lost between two looks.
 */
export function openProcessFigures(clock: Clock): () => ProcessFigures {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  const startedAtMs = clock.now() - process.uptime() * 1_000;
  const read = (): ProcessFigures['eventLoopDelayMs'] => {
    if (delays.count === 0) return { p50: 0, p99: 0, max: 0 };
    return { p50: ms(delays.percentile(50)), p99: ms(delays.percentile(99)), max: ms(delays.max) };
  };
  let before = read();

  function beginWindow(): void {
    clock.after(WINDOW_MS, () => {
      before = read();
      delays.reset();
      beginWindow();
    });
  }
  beginWindow();

  return () => {
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const now = read();
    return {
      startedAtMs,
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

function ms(nanoseconds: number): number {
  return Number.isFinite(nanoseconds) ? Math.round(nanoseconds / 1e4) / 100 : 0;
}
