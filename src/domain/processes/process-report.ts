/** What runs in a process. */
export type ServiceName = 'gateway' | 'backend' | 'ai-service';

export const SERVICE_NAMES: readonly ServiceName[] = ['gateway', 'backend', 'ai-service'];

export interface ReadinessPart {
  /** As database, cache or cv_worker. */
  readonly name: string;
  readonly status: 'up' | 'down' | 'running' | 'failing' | 'stopped';
  /** Of dependencies, which are asked; null for workers. */
  readonly latencyMs: number | null;
}

/** Jobs of a queue, as they ended in one process in the last minutes. */
export interface JobRate {
  readonly donePerMinute: number;
  readonly failedPerMinute: number;
}

export interface BreakerReport {
  readonly state: 'closed' | 'open' | 'half-open';
  readonly failuresInARow: number;
  /** In a word, as 503 or time-out. */
  readonly lastError: { readonly reason: string; readonly atMs: number } | null;
  readonly nextTryAtMs: number | null;
}

/** How a process is, in its own words. */
export interface ProcessReport {
  readonly parts: readonly ReadinessPart[];
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** How late timers came lately. */
  readonly eventLoopDelayMs: number;
  /** Null where no workers run. */
  readonly workers: { readonly active: number; readonly idle: number } | null;
  /** By the AI service's name; none where the process calls no model. */
  readonly breakers: Readonly<Record<string, BreakerReport>>;
  /** By the queue's name; none where the process takes no jobs. */
  readonly jobRates: Readonly<Record<string, JobRate>>;
}

/** What does not change while a process lives. */
export interface ProcessName {
  readonly id: string;
  readonly services: readonly ServiceName[];
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly startedAt: Date;
}

export interface ServiceProcess extends ProcessName {
  readonly seenAt: Date;
  /** It has not told of itself for so long that it hangs, is cut off or is gone. */
  readonly isStale: boolean;
  readonly report: ProcessReport;
}

/** Ready is who is heard of and has all it depends on; a worker that was stopped is somebody's wish. */
export function isReady({ isStale, report }: ServiceProcess): boolean {
  return !isStale && report.parts.every(({ status }) => status !== 'down' && status !== 'failing');
}
