import { readFileSync, statfsSync } from 'node:fs';
import { cpus, freemem, loadavg, totalmem, uptime } from 'node:os';
import type { Clock } from '../../ports/clock.ts';
import type { HostFigures } from '../../ports/process-figures.ts';

/** Reads within this time share one figure: the kernel counts in hundredths of a second. */
const SHORTEST_LOOK_MS = 1_000;
/** The value that cgroups report without a limit is far above any machine's memory. */
const NO_LIMIT_BYTES = 2 ** 60;

interface CpuTimes {
  readonly busyMs: number;
  readonly idleMs: number;
}

interface HostFiguresParts {
  readonly clock: Clock;
  readonly dataDir: string;
  /** For tests: the root of the kernel's files. */
  readonly root?: string;
}

export function openHostFigures({ clock, dataDir, root = '' }: HostFiguresParts): () => HostFigures {
  let last = { times: cpuTimes(), atMs: clock.uptimeMs() };
  let usedShare = shareOf(last.times);

  return () => {
    const times = cpuTimes();
    const atMs = clock.uptimeMs();
    if (atMs - last.atMs >= SHORTEST_LOOK_MS) {
      usedShare = shareOf({
        busyMs: times.busyMs - last.times.busyMs,
        idleMs: times.idleMs - last.times.idleMs,
      });
      last = { times, atMs };
    }
    const [one = 0, five = 0, fifteen = 0] = loadavg();
    return {
      uptimeSeconds: Math.round(uptime()),
      cpu: {
        count: cpus().length,
        busySeconds: times.busyMs / 1_000,
        idleSeconds: times.idleMs / 1_000,
        usedShare,
      },
      loadAverage: [one, five, fifteen],
      memory: {
        totalBytes: totalmem(),
        availableBytes: availableMemory(root),
        limitBytes: memoryLimit(root),
      },
      disk: diskOf(dataDir),
    };
  };
}

function cpuTimes(): CpuTimes {
  let [busyMs, idleMs] = [0, 0];
  for (const { times } of cpus()) {
    idleMs += times.idle;
    busyMs += times.user + times.nice + times.sys + times.irq;
  }
  return { busyMs, idleMs };
}

function shareOf({ busyMs, idleMs }: CpuTimes): number {
  const share = busyMs / (busyMs + idleMs);
  return Number.isFinite(share) ? Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 1_000 : 0;
}

/** Free memory does not include what the page cache could release. */
function availableMemory(root: string): number {
  const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(readText(`${root}/proc/meminfo`))?.[1];
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1_024;
}

/** Reads cgroup v2, then v1. */
function memoryLimit(root: string): number | null {
  const files = ['memory.max', 'memory/memory.limit_in_bytes'];
  for (const file of files) {
    const text = readText(`${root}/sys/fs/cgroup/${file}`).trim();
    if (/^\d+$/.test(text) && Number(text) < NO_LIMIT_BYTES) return Number(text);
  }
  return null;
}

function diskOf(folder: string): HostFigures['disk'] {
  try {
    const { bsize, blocks, bavail } = statfsSync(folder);
    return { totalBytes: blocks * bsize, availableBytes: bavail * bsize };
  } catch {
    return null;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
