import type { Statements } from '../../ports/database.ts';
import { type GeneratorProcess, listProcesses, queueSize } from './generator-board.ts';
import { type CountsNow, sumOfCounts } from './generator-counts.ts';

/** A-11, field by field, in the names of the interface. */
export interface GeneratorMetrics extends ProcessMetrics {
  readonly queue_depth: number;
  /** The services that the embed and the extract alias are served by: the worst of their states. */
  readonly circuit_breaker_state: 'CLOSED' | 'OPEN' | 'HALF-OPEN';
  readonly processes: readonly (ProcessMetrics & { readonly id: string; readonly status: string })[];
}

export interface ProcessMetrics {
  /** Matches computed and stored since the last restart. */
  readonly total_processed: number;
  readonly total_errors: number;
  /** Of one match, from the claim of its batch to the commit, by its share of the batch. */
  readonly avg_processing_time_ms: number;
  /** Matches of the last 60 seconds. */
  readonly throughput_per_minute: number;
  /** ISO 8601, UTC; null before the first. */
  readonly last_processed_at: string | null;
  /** Matches a second while a batch is worked on. */
  readonly processing_rate: number;
  /** Failed calculations in a hundred. */
  readonly error_rate: number;
}

/** Summed over all processes that are alive, and each by itself. */
export async function readMetrics(
  statements: Statements,
  {
    nowMs,
    own,
    breakerState,
  }: {
    readonly nowMs: number;
    readonly own: GeneratorProcess | null;
    readonly breakerState: 'closed' | 'open' | 'half-open';
  },
): Promise<GeneratorMetrics> {
  const processes = await listProcesses(statements, nowMs, own);
  const total = sumOfCounts(processes.map(({ counts }) => counts));
  // Processes work side by side: their time adds up, their pace too.
  const pace = processes.reduce((sum, { counts }) => sum + paceOf(counts), 0);
  return {
    ...metricsOf(total),
    processing_rate: twoDecimals(pace),
    queue_depth: await queueSize(statements),
    circuit_breaker_state: breakerState.toUpperCase() as GeneratorMetrics['circuit_breaker_state'],
    processes: processes.map(({ id, state, counts }) => ({ id, status: state, ...metricsOf(counts) })),
  };
}

function metricsOf(counts: CountsNow): ProcessMetrics {
  const { totalProcessed, totalErrors, busyMs, lastMinute, lastProcessedAtMs } = counts;
  const tried = totalProcessed + totalErrors;
  return {
    total_processed: totalProcessed,
    total_errors: totalErrors,
    avg_processing_time_ms: tried === 0 ? 0 : twoDecimals(busyMs / tried),
    throughput_per_minute: lastMinute,
    last_processed_at: lastProcessedAtMs === null ? null : new Date(lastProcessedAtMs).toISOString(),
    processing_rate: twoDecimals(paceOf(counts)),
    error_rate: tried === 0 ? 0 : twoDecimals((100 * totalErrors) / tried),
  };
}

function paceOf({ totalProcessed, busyMs }: CountsNow): number {
  return busyMs === 0 ? 0 : (totalProcessed * 1_000) / busyMs;
}

function twoDecimals(value: number): number {
  return Math.round(value * 100) / 100;
}
