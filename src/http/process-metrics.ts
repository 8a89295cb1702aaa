import type { PoolStatus } from '../ports/database.ts';
import type { ProcessFigures } from '../ports/process-figures.ts';
import type { Metric } from './metrics-text.ts';

export interface ProcessMetricsParts {
  readonly figures: ProcessFigures;
  readonly pool: PoolStatus;
  /** Null where a process calls no AI service. */
  readonly circuitBreakers: Readonly<Record<string, string>> | null;
}

const STATES: Readonly<Record<string, number>> = { closed: 0, 'half-open': 1, open: 2 };

/** What every service tells of its process, in the names that dashboards know. */
export function processMetrics({ figures, pool, circuitBreakers }: ProcessMetricsParts): readonly Metric[] {
  const gauge = (name: string, help: string, samples: Metric['samples']): Metric => {
    return { name, help, type: 'gauge', samples };
  };
  const { memory, eventLoopDelayMs } = figures;
  return [
    {
      name: 'process_cpu_seconds_total',
      help: 'CPU time of the process, user and system.',
      type: 'counter',
      samples: [{ value: figures.cpuSeconds }],
    },
    gauge('process_start_time_seconds', 'When the process began, in seconds since the epoch.', [
      { value: figures.startedAtMs / 1_000 },
    ]),
    gauge('process_resident_memory_bytes', 'Resident memory.', [{ value: memory.residentBytes }]),
    gauge('turnpike_heap_bytes', 'Heap in use.', [{ value: memory.heapBytes }]),
    gauge(
      'turnpike_event_loop_delay_seconds',
      'How late timers came lately.',
      (['p50', 'p99', 'max'] as const).map((quantile) => {
        return { labels: { quantile }, value: eventLoopDelayMs[quantile] / 1_000 };
      }),
    ),
    gauge('turnpike_database_connections', 'Connections of the pool, and statements that wait for one.', [
      { labels: { state: 'open' }, value: pool.size },
      { labels: { state: 'busy' }, value: pool.busy },
      { labels: { state: 'waiting' }, value: pool.waiting },
    ]),
    gauge(
      'turnpike_circuit_breaker_state',
      'Of each external AI service: 0 closed, 1 half-open, 2 open.',
      Object.entries(circuitBreakers ?? {}).map(([service, state]) => {
        return { labels: { service }, value: STATES[state] ?? Number.NaN };
      }),
    ),
  ];
}
