import { z } from 'zod';
import type { Breakers } from '../domain/breakers/breakers.ts';
import { serviceOf } from '../domain/breakers/target-service.ts';
import type { ModelDirectory } from '../domain/models/model-directory.ts';
import { countOperations } from '../domain/operations/count-operations.ts';
import { lastFailures } from '../domain/operations/last-failures.ts';
import { envelopeResponse, errorEnvelope } from '../http/error-envelope.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { QueueDepth } from '../ports/job-queue.ts';
import type { ProcessFigures } from '../ports/process-figures.ts';
import type { aiServicesAnswer, operationsAnswer, statsAnswer } from './monitoring-answers.ts';
import type { WorkerBoard } from './worker-board.ts';

export interface MonitoringStatsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly breakers: Pick<Breakers, 'states' | 'failuresInARow' | 'troubleOf'>;
  readonly models: Pick<ModelDirectory, 'all'>;
  readonly workers: WorkerBoard;
  readonly processFigures: () => ProcessFigures;
  readonly queueDepths: () => Promise<readonly QueueDepth[]>;
}

export const HOUR_MS = 3_600_000;
/** As the answers tell the outcome of a call. */
export const LOWERCASE = { SUCCEEDED: 'succeeded', FAILED: 'failed', REFUSED: 'refused' } as const;
const FAILURES_OF_MS = 24 * HOUR_MS;
/** One failing call in so many is worth a look. */
const DEGRADED_SHARE = 0.1;

/** How far back the counts go: past a week a month's invoice knows more. */
export const operationsQuery = z.strictObject({ hours: z.coerce.number().int().min(1).max(168).default(1) });

/** A-8, besides the log. All of it is internal: the caller has put the guard in front. */
export function addMonitoringStats(app: ServiceApp, parts: MonitoringStatsParts): void {
  app.get('/monitoring/stats', async (context) => context.json(await statsOf(parts)));
  app.get('/monitoring/operations', async (context) => {
    const read = operationsQuery.safeParse(context.req.query());
    if (!read.success) {
      const message = 'The query is wrong: hours is a whole number from 1 to 168, and there is nothing else.';
      return envelopeResponse(400, errorEnvelope('invalid_request_error', message, null, 'hours'));
    }
    return context.json(await operationsOf(parts, read.data.hours));
  });
  app.get('/monitoring/ai-services', async (context) => context.json(await servicesOf(parts)));
}

async function statsOf(parts: MonitoringStatsParts): Promise<z.output<typeof statsAnswer>> {
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
    database_pool: { ...parts.database.pool() },
    workers: parts.workers.summary(),
    queues: (await parts.queueDepths()).map(({ oldestWaitingSeconds, ...depth }) => {
      return { ...depth, oldest_waiting_seconds: oldestWaitingSeconds };
    }),
  };
}

async function operationsOf(
  { database, clock }: Pick<MonitoringStatsParts, 'database' | 'clock'>,
  hours: number,
): Promise<z.output<typeof operationsAnswer>> {
  const since = new Date(clock.now() - hours * HOUR_MS);
  const counted = await countOperations(database, since);
  const sum = (wanted: string) =>
    counted.reduce((total, { outcome, count }) => total + (outcome === wanted ? count : 0), 0);
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
  const failures = await lastFailures(database, new Date(clock.now() - FAILURES_OF_MS));
  const services = Object.entries(breakers.states()).map(([service, state]) => {
    const served = models
      .all()
      .flatMap(({ alias, targets }) =>
        targets.filter((target) => serviceOf(target) === service).map(({ id }) => ({ alias, id })),
      );
    const trouble = breakers.troubleOf(service);
    // Processes tell each other of a breaker that opens or closes. What failed elsewhere without that is in the log.
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
    };
  });
  return { services: services.toSorted((a, b) => (a.service < b.service ? -1 : 1)) };
}
