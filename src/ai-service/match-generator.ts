import type { Context } from 'hono';
import { z } from 'zod';
import type { Generator } from '../domain/matching/generator/generator.ts';
import { type DesiredState, readMetrics, readStatus } from '../domain/matching/generator/generator-status.ts';
import type { PlatformModelCalls } from '../domain/matching/generator/model-calls.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';

export interface MatchGeneratorParts {
  readonly database: Database;
  readonly databaseClock: Clock;
  readonly generator: Generator;
  readonly modelCalls: Pick<PlatformModelCalls, 'breakerState'>;
}

const state = z.enum(['running', 'stopped', 'processing']);

/** The answer of A-9, with the documented names; `desired_state` differs from `status` while a batch is still running. */
export const generatorStatus = z.strictObject({
  status: state,
  uptime_seconds: z.number(),
  current_batch: z.number(),
  queue_size: z.number(),
  desired_state: z.enum(['running', 'stopped']),
});

const figures = {
  total_processed: z.int(),
  total_errors: z.int(),
  avg_processing_time_ms: z.number(),
  throughput_per_minute: z.number(),
  last_processed_at: z.iso.datetime().nullable(),
  processing_rate: z.number(),
  error_rate: z.number(),
};

/** The answer of A-11. */
export const generatorMetrics = z.strictObject({
  ...figures,
  queue_depth: z.int(),
  circuit_breaker_state: z.enum(['CLOSED', 'OPEN', 'HALF-OPEN']),
  processes: z.array(z.strictObject({ id: z.string(), status: state, ...figures })),
});

export const GENERATOR_PATH = '/api/v1/background-tasks/match-score-generator';

/** All routes are internal: the caller must have added the guard. */
export function addMatchGenerator(app: ServiceApp, parts: MatchGeneratorParts): void {
  app.get(`${GENERATOR_PATH}/status`, async (context) => context.json(await statusOf(parts)));
  app.post(`${GENERATOR_PATH}/start`, (context) => change(context, parts, 'running'));
  app.post(`${GENERATOR_PATH}/stop`, (context) => change(context, parts, 'stopped'));
  app.get(`${GENERATOR_PATH}/metrics`, async (context) => context.json(await metricsOfGenerator(parts)));
}

/** The metrics of all processes, with the current counts of this one. */
export async function metricsOfGenerator({
  database,
  databaseClock,
  generator,
  modelCalls,
}: MatchGeneratorParts): Promise<z.output<typeof generatorMetrics>> {
  const now = { nowMs: databaseClock.now(), own: generator.own(), breakerState: modelCalls.breakerState() };
  const { processes, ...total } = await readMetrics(database, now);
  return { ...total, processes: [...processes] };
}

async function change(
  context: Context,
  parts: MatchGeneratorParts,
  desired: DesiredState,
): Promise<Response> {
  await parts.generator.setDesiredState(desired);
  return context.json(await statusOf(parts));
}

async function statusOf({
  database,
  databaseClock,
  generator,
}: MatchGeneratorParts): Promise<z.output<typeof generatorStatus>> {
  const now = await readStatus(database, databaseClock.now(), generator.own());
  return {
    status: now.state,
    uptime_seconds: now.uptimeSeconds,
    current_batch: now.currentBatch,
    queue_size: now.queueSize,
    desired_state: now.desiredState,
  };
}
