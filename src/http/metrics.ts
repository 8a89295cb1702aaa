import { Hono } from 'hono';
import type { PoolStatus } from '../ports/database.ts';
import type { ProcessFigures } from '../ports/process-figures.ts';
import { internalAccess } from './client-identity.ts';
import { envelopeResponse, errorEnvelope } from './error-envelope.ts';
import type { DependencyChecks } from './health.ts';

/** One measurement of a metric, with its labels. */
export interface MetricSample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** Appended to the name, for the parts of a histogram. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

interface NamedMetric {
  /** Named as in Prometheus: base units, and `_total` for counters. */
  readonly name: string;
  readonly help: string;
  readonly samples: readonly MetricSample[];
}

/** Only increases during the life of a process. The counts of all processes of a host are added. */
export interface Counter extends NamedMetric {
  readonly type: 'counter' | 'histogram';
}

/** A current value. `merge` determines how the values of several processes of a host are combined. */
export interface Gauge extends NamedMetric {
  readonly type: 'gauge';
  readonly merge: 'sum' | 'max' | 'min';
}

/** A counter of the machine or the database: every process that reports it reports the same value. */
interface SharedCounter extends NamedMetric {
  readonly type: 'counter';
  readonly merge: 'max';
}

export type Metric = Counter | Gauge | SharedCounter;

/** The metrics of one part of a process. Counters are read often and when the process ends; gauges only for a scrape. */
export interface MetricSource {
  counters?(): readonly Counter[];
  gauges?(): readonly (Gauge | SharedCounter)[] | Promise<readonly (Gauge | SharedCounter)[]>;
}

const UNKNOWN_FIGURES = errorEnvelope(
  'api_error',
  'The figures of all processes cannot be collected right now. Retry shortly.',
);
const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus's text format. Metrics without a sample and values that are not finite are omitted. */
export function metricsText(metrics: readonly Metric[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of metrics) {
    const shown = samples.filter(({ value }) => Number.isFinite(value));
    if (shown.length === 0) continue;
    lines.push(`# HELP ${name} ${escapedText(help, false)}`, `# TYPE ${name} ${type}`);
    for (const { labels = {}, value, suffix = '' } of shown) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapedText(text, true)}"`);
      lines.push(`${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** The tokens for `/metrics`, and the setting that they come from. */
export interface MetricsAccess {
  readonly tokens: readonly string[];
  readonly setting: string;
}

interface MetricsRouteParts {
  readonly access: MetricsAccess;
  /** Metrics of the whole host. Rejects if a part is unknown, because a smaller count would look like a restart. */
  readonly collect: () => Promise<readonly Metric[]>;
}

/** `GET /metrics` for Prometheus, which sends its token as a bearer token. */
export function createMetricsRoute({ access, collect }: MetricsRouteParts): Hono {
  const app = new Hono();
  const { tokens, setting } = access;
  const message = `Metrics need "Authorization: Bearer <token>": the token is the ${setting} setting.`;
  app.use('/metrics', internalAccess(tokens, setting === 'INTERNAL_TOKEN' ? undefined : message));
  app.get('/metrics', async () => {
    try {
      const text = metricsText(await collect());
      return new Response(text, { headers: { 'content-type': METRICS_CONTENT_TYPE } });
    } catch {
      return envelopeResponse(503, UNKNOWN_FIGURES, { 'retry-after': '5' });
    }
  });
  return app;
}

interface ProcessMetricsParts {
  readonly figures: () => ProcessFigures;
  readonly pool: () => PoolStatus;
}

/** Metrics that every process reports about itself, under the names that dashboards expect. */
export function processMetrics({ figures, pool }: ProcessMetricsParts): MetricSource {
  return {
    counters() {
      const { cpuSeconds, databaseStepBacks } = figures();
      return [
        {
          name: 'process_cpu_seconds_total',
          help: 'CPU time of the processes, user and system.',
          type: 'counter',
          samples: [{ value: cpuSeconds }],
        },
        {
          name: 'turnpike_database_step_backs_total',
          help: 'How often a process detected that the database had lost commits through a restore or a failover.',
          type: 'counter',
          samples: [{ value: databaseStepBacks }],
        },
      ];
    },
    gauges() {
      const { startedAtMs, memory, eventLoopDelayMs } = figures();
      const { size, busy, waiting } = pool();
      return [
        gauge('turnpike_processes', 'Number of processes included.', 'sum', [{ value: 1 }]),
        gauge(
          'process_start_time_seconds',
          'Start time of the newest process, in seconds since the epoch.',
          'max',
          [{ value: startedAtMs / 1_000 }],
        ),
        gauge('process_resident_memory_bytes', 'Resident memory of the processes.', 'sum', [
          { value: memory.residentBytes },
        ]),
        gauge('turnpike_heap_bytes', 'Heap in use.', 'sum', [{ value: memory.heapBytes }]),
        gauge(
          'turnpike_event_loop_delay_seconds',
          'Recent event loop delay of the slowest process.',
          'max',
          (['p50', 'p99', 'max'] as const).map((statistic) => {
            return { labels: { statistic }, value: eventLoopDelayMs[statistic] / 1_000 };
          }),
        ),
        gauge(
          'turnpike_database_connections',
          'Connections of the pools, and statements that wait for one.',
          'sum',
          [
            { labels: { state: 'open' }, value: size },
            { labels: { state: 'busy' }, value: busy },
            { labels: { state: 'waiting' }, value: waiting },
          ],
        ),
      ];
    },
  };
}

export function localFaultMetrics(counts: () => Readonly<Record<string, number>>): MetricSource {
  return {
    counters: () => [
      {
        name: 'turnpike_local_faults_total',
        help: 'Connections that failed because the process or its machine lacked descriptors, ports or memory, and seconds in which it could accept none.',
        type: 'counter',
        samples: Object.entries(counts()).map(([lack, value]) => ({ labels: { lack }, value })),
      },
    ],
  };
}

/**
 * Whether this process can use the database, as found for the scrape before: the check of a database that hangs takes longer
 * than a scrape may wait.
 */
export function databaseMetric(dependencies: DependencyChecks): MetricSource {
  let found: number | null = null;
  async function look(): Promise<number> {
    const { database } = await dependencies();
    found = database?.status === 'up' ? 1 : 0;
    return found;
  }
  return {
    async gauges() {
      const looking = look();
      return [
        gauge(
          'turnpike_database_up',
          '0 while the database does not answer a process, or takes no writes.',
          'min',
          [{ value: found ?? (await looking) }],
        ),
      ];
    },
  };
}

interface ProviderMetricsParts {
  readonly circuitBreakers: () => Readonly<Record<string, string>>;
  /** Targets that are tried last, because their provider limits their rate or refuses their key. */
  readonly coolingTargets: () => readonly CoolingTarget[];
  /** Parts of prices that are below the cost of a target; none if omitted. */
  readonly pricesBelowCost?: () => readonly { readonly alias: string }[];
  /** Aliases whose calls are refused because nothing serves them; none if omitted. */
  readonly aliasesWithoutTargets?: () => readonly string[];
}

interface CoolingTarget {
  readonly alias: string;
  readonly reason: string;
}

const BREAKER_STATES: Readonly<Record<string, number>> = { closed: 0, 'half-open': 1, open: 2 };

/** Metrics about providers, from a process that calls models. */
export function providerMetrics({
  circuitBreakers,
  coolingTargets,
  pricesBelowCost = () => [],
  aliasesWithoutTargets = () => [],
}: ProviderMetricsParts): MetricSource {
  return {
    gauges: () => [
      gauge(
        'turnpike_circuit_breaker_state',
        'For each external AI service: 0 closed, 1 half-open, 2 open.',
        'max',
        Object.entries(circuitBreakers()).map(([service, state]) => {
          return { labels: { service }, value: BREAKER_STATES[state] ?? Number.NaN };
        }),
      ),
      gauge(
        'turnpike_cooling_targets',
        'Model targets in cooldown, by alias and by the status that the provider returned.',
        'max',
        countedBy(coolingTargets()),
      ),
      gauge(
        'turnpike_prices_below_cost',
        'Parts of prices that are below what a target of the alias costs.',
        'max',
        [...Map.groupBy(pricesBelowCost(), ({ alias }) => alias)].map(([alias, { length: value }]) => ({
          labels: { alias },
          value,
        })),
      ),
      gauge(
        'turnpike_aliases_without_targets',
        '1 for each alias whose calls answer 503 because neither it nor its fallbacks have a target.',
        'max',
        aliasesWithoutTargets().map((alias) => ({ labels: { alias }, value: 1 })),
      ),
    ],
  };
}

export function gauge(
  name: string,
  help: string,
  merge: Gauge['merge'],
  samples: readonly MetricSample[],
): Gauge {
  return { name, help, type: 'gauge', merge, samples };
}

function countedBy(coolingTargets: readonly CoolingTarget[]): readonly MetricSample[] {
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
