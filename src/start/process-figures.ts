import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../ports/clock.ts';
import type { ProcessFigures } from '../ports/process-figures.ts';

/** Delays of long ago would hide those of now. */
const DELAYS_OF_MS = 60_000;
const RESOLUTION_MS = 20;

/** This process's own figures. The delays are those of the last one to two minutes of looking. */
export function openProcessFigures(clock: Clock): () => ProcessFigures {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  const startedAtMs = clock.now() - process.uptime() * 1_000;
  let sinceMs = clock.now();
  return () => {
    const ms = (nanoseconds: number) =>
      Number.isFinite(nanoseconds) ? Math.round(nanoseconds / 1e4) / 100 : 0;
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const figures: ProcessFigures = {
      startedAtMs,
      uptimeSeconds: Math.round(process.uptime()),
      cpuSeconds: (user + system) / 1e6,
      memory: { residentBytes: rss, heapBytes: heapUsed, externalBytes: external },
      eventLoopDelayMs: {
        p50: ms(delays.percentile(50)),
        p99: ms(delays.percentile(99)),
        max: delays.count === 0 ? 0 : ms(delays.max),
      },
    };
    if (clock.now() - sinceMs > DELAYS_OF_MS) {
      delays.reset();
      sinceMs = clock.now();
    }
    return figures;
  };
}
