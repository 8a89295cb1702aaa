import { Hono } from 'hono';
import type { PoolStatus } from '../ports/database.ts';
import type { ProcessFigures } from '../ports/process-figures.ts';
import { internalAccess } from './client-identity.ts';

/** One measurement of a metric, with its labels. */
export interface MetricSample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** What follows the name: the parts of a histogram have one. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

export interface Metric {
  /** As Prometheus has them: base units, `_total` for what only grows. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus' text. A metric without a sample is left out, and so is a value that is no number. */
export function metricsText(metrics: readonly Metric[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of metrics) {
    const told = samples.filter(({ value }) => Number.isFinite(value));
    if (told.length === 0) continue;
    lines.push(`# HELP ${name} ${escapedText(help, false)}`, `# TYPE ${name} ${type}`);
    for (const { labels = {}, value, suffix = '' } of told) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapedText(text, true)}"`);
      lines.push(`${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** What opens `/metrics`, and the setting that it comes from. */
export interface MetricsAccess {
  readonly tokens: readonly string[];
  readonly setting: string;
}

interface MetricsRouteParts {
  readonly access: MetricsAccess;
  readonly collect: () => Promise<readonly Metric[]>;
}

/** `GET /metrics` for Prometheus, which sends its token as a bearer token. */
export function createMetricsRoute({ access, collect }: MetricsRouteParts): Hono {
  const app = new Hono();
  const { tokens, setting } = access;
  const message = `Metrics need "Authorization: Bearer <token>": the token is the ${setting} setting.`;
  app.use('/metrics', internalAccess(tokens, setting === 'INTERNAL_TOKEN' ? undefined : message));
  app.get('/metrics', async () => {
    return new Response(metricsText(await collect()), { headers: { 'content-type': METRICS_CONTENT_TYPE } });
  });
  return app;
}

interface ProcessMetricsParts {
  readonly figures: ProcessFigures;
  readonly pool: PoolStatus;
  /** Null where a process calls no AI service. */
  readonly circuitBreakers: Readonly<Record<string, string>> | null;
  /** Targets that are tried last, because their provider limits their rate or refuses their key. */
  readonly coolingTargets?: readonly { readonly alias: string; readonly reason: string }[];
}

const BREAKER_STATES: Readonly<Record<string, number>> = { closed: 0, 'half-open': 1, open: 2 };

/** What every service tells of its process, in the names that dashboards know. */
export function processMetrics(parts: ProcessMetricsParts): readonly Metric[] {
  const { figures, pool, circuitBreakers, coolingTargets = [] } = parts;
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
    {
      name: 'turnpike_database_step_backs_total',
      help: 'Times the database was found to have lost commits, by a restore or a fail-over.',
      type: 'counter',
      samples: [{ value: figures.databaseStepBacks }],
    },
    gauge(
      'turnpike_circuit_breaker_state',
      'Of each external AI service: 0 closed, 1 half-open, 2 open.',
      Object.entries(circuitBreakers ?? {}).map(([service, state]) => {
        return { labels: { service }, value: BREAKER_STATES[state] ?? Number.NaN };
      }),
    ),
    gauge(
      'turnpike_cooling_targets',
      'Model targets that are tried last, by the alias and the status that their provider answered with.',
      countedBy(coolingTargets),
    ),
  ];
}

function countedBy(coolingTargets: NonNullable<ProcessMetricsParts['coolingTargets']>): Metric['samples'] {
  const groups = Map.groupBy(coolingTargets, ({ alias, reason }) => `${alias} ${reason}`);
  return [...groups.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const { alias, reason } = first;
    return { labels: { alias, status: reason }, value: 1 + more.length };
  });
}

function escapedText(text: string, isLabel: boolean): string {
  const plain = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return isLabel ? plain.replaceAll('"', '\\"') : plain;
}
