import { z } from 'zod';
import { MATCH_GENERATOR_BREAKER, serviceOf } from '../domain/breakers/breaker.ts';
import type { Breakers } from '../domain/breakers/breakers.ts';
import { countOperations, countOutcomes } from '../domain/calls/usage/ai-operations.ts';
import { findEntries, lastFailures, MAX_ENTRIES } from '../domain/logs/log-queries.ts';
import type { ModelDirectory } from '../domain/models/model-directory.ts';
import { readAuditFigures } from '../domain/reconciliation/provider/provider-audit.ts';
import { envelopeResponse, errorEnvelope } from '../http/error-envelope.ts';
import {
  createMetricsRoute,
  type Gauge,
  gauge,
  type Metric,
  type MetricSource,
  type MetricsAccess,
} from '../http/metrics.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import { type Database, isDatabaseUnavailable } from '../ports/database.ts';
import type { QueueDepth } from '../ports/job-queue.ts';
import type { HostFigures, ProcessFigures } from '../ports/process-figures.ts';
import { shownCooling, type WorkerRegistry } from './health.ts';
import { type MatchGeneratorParts, metricsOfGenerator } from './match-generator.ts';

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

const SERVICE_FILTER = 'gateway, backend, ai-service, or shared for lines of none of them.';

/** The query of the log viewer. Unknown names are refused, because a misspelt filter would show too much. */
export const entryQuery = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error']).optional(),
  contains: z.string().max(200).optional(),
  service: z.string().max(100).optional().meta({ description: SERVICE_FILTER }),
  request_id: z.string().max(200).optional(),
  company_id: z.string().max(100).optional(),
  from: time.optional(),
  to: time.optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ENTRIES).optional(),
  after: z.string().max(200).optional(),
});

/** The log, for operators. All routes are internal: the caller must have added the guard. */
export function addMonitoring(app: ServiceApp, database: Database): void {
  app.get('/monitoring/app-logs', (context) => showEntries(database, context.req.query()));
  app.get('/monitoring/errors', (context) =>
    showEntries(database, { ...context.req.query(), level: 'error' }),
  );
}

async function showEntries(database: Database, query: Record<string, string>): Promise<Response> {
  const read = entryQuery.safeParse(query);
  if (!read.success) {
    const [issue] = read.error.issues;
    return refuse(issue?.path.join('.') || null, issue?.message ?? 'it cannot be read');
  }
  const { request_id: requestId, company_id: companyId, ...filter } = read.data;
  const found = await findEntries(database, { ...filter, requestId, companyId });
  if (found.outcome === 'invalid-cursor') return refuse('after', 'it is not a cursor of ours');
  return Response.json({ entries: found.entries, next_cursor: found.nextCursor });
}

function refuse(param: string | null, reason: string): Response {
  const message = `The query is wrong${param === null ? '' : ` at ${param}`}: ${reason}.`;
  return envelopeResponse(400, errorEnvelope('invalid_request_error', message, null, param));
}

export interface MonitoringStatsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly breakers: Pick<Breakers, 'states' | 'failuresInARow' | 'troubleOf'>;
  readonly models: Pick<ModelDirectory, 'all' | 'cooling'>;
  readonly workers: WorkerRegistry;
  readonly processFigures: () => ProcessFigures;
  readonly hostFigures: () => HostFigures;
  readonly queueDepths: () => Promise<readonly QueueDepth[]>;
}

const HOUR_MS = 3_600_000;
/** The outcome of a call, as shown in answers. */
const LOWERCASE = { SUCCEEDED: 'succeeded', FAILED: 'failed', REFUSED: 'refused' } as const;
const FAILURES_OF_MS = 24 * HOUR_MS;
/** The status is degraded if more than this share of calls fails. */
const DEGRADED_SHARE = 0.1;

/** The counted period, at most a week: beyond that, monthly invoices are more informative. */
export const operationsQuery = z.strictObject({ hours: z.coerce.number().int().min(1).max(168).default(1) });

/** A-8, except the log. All routes are internal: the caller must have added the guard. */
export function addMonitoringStats(app: ServiceApp, parts: MonitoringStatsParts): void {
  app.get('/monitoring/stats', async (context) => context.json(await statsOf(parts)));
  app.get('/monitoring/operations', async (context) => {
    const read = operationsQuery.safeParse(context.req.query());
    if (!read.success) {
      const message = 'Invalid query: the only parameter is hours, an integer from 1 to 168.';
      return envelopeResponse(400, errorEnvelope('invalid_request_error', message, null, 'hours'));
    }
    return context.json(await operationsOf(parts, read.data.hours));
  });
  app.get('/monitoring/ai-services', async (context) => context.json(await servicesOf(parts)));
}

async function statsOf(parts: MonitoringStatsParts): Promise<Stats> {
  const { uptimeSeconds, cpuSeconds, memory, eventLoopDelayMs } = parts.processFigures();
  return {
    uptime_seconds: uptimeSeconds,
    cpu_seconds: cpuSeconds,
    memory: {
      resident_bytes: memory.residentBytes,
      heap_bytes: memory.heapBytes,
      external_bytes: memory.externalBytes,
    },
    event_loop_delay_ms: { ...eventLoopDelayMs },
    host: hostOf(parts.hostFigures()),
    database_pool: { ...parts.database.pool() },
    workers: parts.workers.summary(),
    queues: await parts.queueDepths().then((depths) => depths.map(shownDepth), nullWithoutDatabase),
  };
}

function shownDepth({ oldestWaitingSeconds, ...depth }: QueueDepth) {
  return { ...depth, oldest_waiting_seconds: oldestWaitingSeconds };
}

/** What the process knows by itself is shown also while the database is unavailable. */
function nullWithoutDatabase(error: unknown): null {
  if (!isDatabaseUnavailable(error)) throw error;
  return null;
}

function hostOf({ uptimeSeconds, cpu, loadAverage, memory, disk }: HostFigures): Stats['host'] {
  const [one, five, fifteen] = loadAverage;
  return {
    uptime_seconds: uptimeSeconds,
    cpu: { count: cpu.count, used_share: cpu.usedShare },
    load_average: { '1m': one, '5m': five, '15m': fifteen },
    memory: {
      total_bytes: memory.totalBytes,
      available_bytes: memory.availableBytes,
      limit_bytes: memory.limitBytes,
    },
    disk: disk === null ? null : { total_bytes: disk.totalBytes, available_bytes: disk.availableBytes },
  };
}

async function operationsOf(
  { database, clock }: Pick<MonitoringStatsParts, 'database' | 'clock'>,
  hours: number,
): Promise<z.output<typeof operationsAnswer>> {
  const since = new Date(clock.now() - hours * HOUR_MS);
  const counted = await countOperations(database, since);
  const sum = (name: string) =>
    counted.reduce((total, { outcome, count }) => total + (outcome === name ? count : 0), 0);
  const totals = { succeeded: sum('SUCCEEDED'), failed: sum('FAILED'), refused: sum('REFUSED') };
  const tried = totals.succeeded + totals.failed;
  const isDegraded = totals.failed > tried * DEGRADED_SHARE;
  return {
    since: since.toISOString(),
    status: tried === 0 ? 'idle' : isDegraded ? 'degraded' : 'healthy',
    totals,
    operations: counted.map(({ kind, outcome, count, latencyMs }) => {
      return { kind, outcome: LOWERCASE[outcome], count, latency_ms: latencyMs };
    }),
  };
}

async function servicesOf(parts: MonitoringStatsParts): Promise<z.output<typeof aiServicesAnswer>> {
  const { database, clock, breakers, models } = parts;
  const since = new Date(clock.now() - FAILURES_OF_MS);
  const failures = (await lastFailures(database, since).catch(nullWithoutDatabase)) ?? [];
  const cooling = models.cooling().map(shownCooling);
  const services = Object.entries(breakers.states()).map(([service, state]) => {
    const served = models
      .all()
      .flatMap(({ alias, kind, targets }) =>
        targets
          .filter((target) => servesBreaker(service, kind, serviceOf(target)))
          .map(({ id }) => ({ alias, id })),
      );
    const trouble = breakers.troubleOf(service);
    // Processes inform each other when a breaker opens or closes. Other failures of other processes are read from the
    // stored log.
    const errors = failures
      .filter(({ targetId }) => served.some(({ id }) => id === targetId))
      .map(({ reason, failedAt }) => ({ reason, atMs: failedAt.getTime() }));
    if (trouble?.lastError != null) errors.unshift(trouble.lastError);
    const [last] = errors.toSorted((a, b) => b.atMs - a.atMs);
    return {
      service,
      state,
      failures_in_a_row: breakers.failuresInARow(service),
      aliases: [...new Set(served.map(({ alias }) => alias))].sort(),
      last_error: last === undefined ? null : { reason: last.reason, at: new Date(last.atMs).toISOString() },
      next_try_at: trouble?.nextTryAtMs == null ? null : new Date(trouble.nextTryAtMs).toISOString(),
      cooling: cooling.filter((target) => target.service === service),
    };
  });
  return { services: services.toSorted((a, b) => (a.service < b.service ? -1 : 1)) };
}

/** The generator's breaker covers all providers that serve it. */
function servesBreaker(name: string, kind: string, service: string | null): boolean {
  if (name !== MATCH_GENERATOR_BREAKER) return service === name;
  return kind !== 'chat' && service !== null;
}

export interface MetricsRouteParts {
  readonly metricsAccess: MetricsAccess;
  readonly metrics: { collect(): Promise<readonly Metric[]> };
}

export function addMetrics(app: ServiceApp, { metricsAccess: access, metrics }: MetricsRouteParts): void {
  const route = createMetricsRoute({ access, collect: metrics.collect });
  app.get('/metrics', (context) => route.fetch(context.req.raw));
}

/** Metrics of the AI service: the machine and the workers; the queues, the generator and the AI operations of the last hour. */
export function aiServiceMetrics(
  parts: MonitoringStatsParts & MatchGeneratorParts,
): readonly [ofProcess: MetricSource, ofDatabase: MetricSource] {
  return [
    { gauges: () => [...hostMetrics(parts.hostFigures()), workerMetric(parts)] },
    { gauges: () => workMetrics(parts) },
  ];
}

function workerMetric({ workers }: Pick<MonitoringStatsParts, 'workers'>): Gauge {
  return gauge(
    'turnpike_worker_up',
    'For each background worker: 1 while it runs or is intentionally idle, otherwise 0.',
    'min',
    workers.each().map(({ name: worker, isWell }) => ({ labels: { worker }, value: isWell ? 1 : 0 })),
  );
}

async function workMetrics(parts: MonitoringStatsParts & MatchGeneratorParts): Promise<readonly Gauge[]> {
  const [queues, generator, audit, operations] = [
    await parts.queueDepths(),
    await metricsOfGenerator(parts),
    await readAuditFigures(parts.database),
    await countOutcomes(parts.database, new Date(parts.clock.now() - HOUR_MS)),
  ];
  return [
    gauge(
      'turnpike_queue_jobs',
      'Jobs of each queue that wait, run or are dead letters.',
      'max',
      queues.flatMap(({ name: queue, ...counts }) =>
        (['waiting', 'active', 'dead'] as const).map((state) => {
          return { labels: { queue, state }, value: counts[state] };
        }),
      ),
    ),
    gauge(
      'turnpike_queue_oldest_waiting_seconds',
      'Age of the oldest job that is ready to run. 0 if none is waiting.',
      'max',
      queues.map(({ name, oldestWaitingSeconds }) => {
        return { labels: { queue: name }, value: oldestWaitingSeconds ?? 0 };
      }),
    ),
    gauge(
      'turnpike_ai_operations_last_hour',
      'AI operations that began in the last hour, by kind and outcome, of all processes.',
      'max',
      operations.map(({ kind, outcome, count }) => {
        return { labels: { kind, outcome: LOWERCASE[outcome] }, value: count };
      }),
    ),
    gauge('turnpike_match_scores', 'Matches computed since the last restart, of all processes.', 'max', [
      { labels: { outcome: 'succeeded' }, value: generator.total_processed },
      { labels: { outcome: 'failed' }, value: generator.total_errors },
    ]),
    gauge(
      'turnpike_audit_differences',
      'Differences between our books and the payment provider that the last audit found, by kind.',
      'max',
      [...(audit?.kinds ?? [])].map(([kind, value]) => ({ labels: { kind }, value })),
    ),
    gauge(
      'turnpike_audit_checked_timestamp_seconds',
      'When the last audit against the payment provider ended.',
      'max',
      audit === null ? [] : [{ value: Math.floor(audit.checkedAt.getTime() / 1000) }],
    ),
    gauge('turnpike_match_queue_pairs', 'Pairs that wait to be scored.', 'max', [
      { value: generator.queue_depth },
    ]),
  ];
}

/** The machine of this process. A node exporter on the same machine gives more detailed figures. */
function hostMetrics({ cpu, loadAverage, memory, disk }: HostFigures) {
  const bytes = (kind: string, value: number | null | undefined) =>
    value == null ? [] : [{ labels: { kind }, value }];
  return [
    {
      ...({ name: 'turnpike_host_cpu_seconds_total', type: 'counter', merge: 'max' } as const),
      help: 'Time of all cores of the machine since it started, busy and idle.',
      samples: [
        { labels: { mode: 'busy' }, value: cpu.busySeconds },
        { labels: { mode: 'idle' }, value: cpu.idleSeconds },
      ],
    },
    gauge('turnpike_host_cpus', 'Cores of the machine.', 'max', [{ value: cpu.count }]),
    gauge('turnpike_host_load1', 'Load average over one minute.', 'max', [{ value: loadAverage[0] }]),
    gauge('turnpike_host_memory_bytes', 'Memory of the machine, and the limit of the container.', 'max', [
      ...bytes('total', memory.totalBytes),
      ...bytes('available', memory.availableBytes),
      ...bytes('limit', memory.limitBytes),
    ]),
    gauge('turnpike_host_disk_bytes', 'File system of DATA_DIR.', 'max', [
      ...bytes('total', disk?.totalBytes),
      ...bytes('available', disk?.availableBytes),
    ]),
  ];
}

/**
 * The answers of the monitoring routes. The API documentation is generated from these schemas, and the answers are
 * typed by them.
 */
const count = z.int().nonnegative();
const delay = z.number().nonnegative();

const queueAnswer = z.strictObject({
  ...{ name: z.string(), waiting: count, active: count, dead: count },
  oldest_waiting_seconds: count.nullable(),
});

export const statsAnswer = z.strictObject({
  uptime_seconds: count,
  cpu_seconds: z.number().nonnegative(),
  memory: z.strictObject({ resident_bytes: count, heap_bytes: count, external_bytes: count }),
  event_loop_delay_ms: z.strictObject({ p50: delay, p99: delay, max: delay }),
  host: z.strictObject({
    uptime_seconds: count,
    cpu: z.strictObject({ count, used_share: z.number().min(0).max(1) }),
    load_average: z.strictObject({ '1m': delay, '5m': delay, '15m': delay }),
    memory: z.strictObject({ total_bytes: count, available_bytes: count, limit_bytes: count.nullable() }),
    disk: z.strictObject({ total_bytes: count, available_bytes: count }).nullable(),
  }),
  database_pool: z.strictObject({ size: count, busy: count, waiting: count }),
  workers: z.strictObject({
    status: z.enum(['healthy', 'degraded', 'stopped']),
    ...{ active: count, idle: count },
  }),
  queues: z.array(queueAnswer).nullable(),
});

type Stats = z.output<typeof statsAnswer>;

export const operationsAnswer = z.strictObject({
  since: z.iso.datetime(),
  status: z.enum(['healthy', 'degraded', 'idle']),
  totals: z.strictObject({ succeeded: count, failed: count, refused: count }),
  operations: z.array(
    z.strictObject({
      kind: z.string(),
      outcome: z.enum(['succeeded', 'failed', 'refused']),
      count,
      latency_ms: z.strictObject({ p50: delay, p95: delay, p99: delay }),
    }),
  ),
});

/** A target that is tried last because its provider limits its rate or rejects its key. */
export const coolingTarget = z.strictObject({
  alias: z.string(),
  service: z.string(),
  model: z.string(),
  status: z.int(),
  until: z.iso.datetime(),
});

export const aiServicesAnswer = z.strictObject({
  services: z.array(
    z.strictObject({
      service: z.string(),
      state: z.enum(['closed', 'open', 'half-open']),
      failures_in_a_row: count,
      aliases: z.array(z.string()),
      last_error: z.strictObject({ reason: z.string(), at: z.iso.datetime() }).nullable(),
      next_try_at: z.iso.datetime().nullable(),
      cooling: z.array(coolingTarget),
    }),
  ),
});

export const logEntries = z.strictObject({
  entries: z.array(
    z.strictObject({
      timestamp: z.iso.datetime(),
      level: z.enum(['debug', 'info', 'warn', 'error']),
      message: z.string(),
      context: z.record(z.string(), z.unknown()),
    }),
  ),
  next_cursor: z.string().nullable(),
});
